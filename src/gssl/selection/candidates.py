"""Graph filters as polynomials: which powers of which operator a candidate adds up."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import gammaln

from gssl.methods import GGC, GGCM
from gssl.methods.embedder import GraphEmbedder
from gssl.methods.label_space import lazy_powers

# the depths at which GGC and GGCM are tried; a deeper GGC made hidden labels of citation graphs less likely
GGC_DEPTHS = (4,)
GGCM_DEPTHS = (4, 8, 16)
# the highest power of the operators beside the smoothing one
SHORT = 2
# the most blocks that are put side by side
MOST_BLOCKS = 3

Operator = Literal["smooth", "hop", "high"]


@dataclass(frozen=True, eq=False)
class Block:
    r"""The polynomial :math:`\sum_k p_k T^k` of one operator T.

    ``smooth`` is :math:`\hat A`, ``hop`` is :math:`D^{-1/2} A D^{-1/2}`, in which a node does not see
    itself, and ``high`` is inverse convolution fed with the graph itself.
    """

    operator: Operator
    powers: np.ndarray


@dataclass(frozen=True, eq=False)
class Filter:
    r"""A candidate's way of making features: blocks side by side, or an embedder that is no polynomial.

    To a single block, ``sharpened`` may add :math:`w \sum_{t=1}^K \gamma_t \hat N T^{t-1} X`, given as K and
    w: the part of GGCM that pushes unlinked nodes apart, for γ see :func:`sharpening`.
    """

    model: str
    settings: str
    blocks: tuple[Block, ...] = ()
    embedder: GraphEmbedder | None = None
    sharpened: tuple[int, float] | None = None

    @property
    def uses_graph(self) -> bool:
        """Whether anything comes from neighbours."""
        return self.embedder is not None or any(len(block.powers) > 1 for block in self.blocks)

    @property
    def smooth_depth(self) -> int:
        """The highest power of the smoothing operator in its blocks."""
        return max((len(block.powers) - 1 for block in self.blocks if block.operator == "smooth"), default=0)

    @property
    def is_polynomial(self) -> bool:
        """Whether it is a polynomial of one operator."""
        return len(self.blocks) == 1 and self.sharpened is None


def candidate_filters(depth: int) -> list[Filter]:
    """List the filters that are tried, the plainest first."""
    found = [Filter("no graph", "", (Block("smooth", np.ones(1)),))]
    found += [
        _smooth("SGC", f"depth={k}", np.eye(depth + 1)[k]) for k in _up_to(depth, 1, 2, 3, 4, 6, 8, 12, 16)
    ]
    found += [f for f in _side_by_side() if f.smooth_depth <= depth]
    found += [
        _smooth("SSGC", f"depth={k}, alpha={alpha}", _ssgc(k, alpha))
        for k in _up_to(depth, 4, 8, 16)
        for alpha in (0.05, 0.2)
    ]
    if depth >= 4:
        found += [
            _smooth("PPR", f"depth={depth}, alpha={alpha}", _pagerank(depth, alpha))
            for alpha in (0.05, 0.1, 0.2, 0.3, 0.5)
        ]
        found += [_smooth("heat", f"time={time}", _heat(depth, time)) for time in (1, 2, 4, 8)]
        found += [_smooth("lazy", f"beta=0.5, depth={k}", _lazy(depth, k, 0.5)) for k in _up_to(depth, 8, 16)]
        found += [_smooth("lazy", "beta=0.1, depth=16", _lazy(depth, 16, 0.1))]
    found += [Filter("GGC", f"depth={k}", embedder=GGC(depth=k)) for k in _up_to(depth, *GGC_DEPTHS)]
    found += [_ggcm(k) for k in _up_to(depth, *GGCM_DEPTHS)]
    return found


def sharpening(t: int) -> float:
    """Return γ, the moving probability of the inverse convolution in iteration t = 1, 2, … of GGCM."""
    return float(GGCM().igc_beta * GGCM().igc_decay ** (t - 1))


def _ggcm(depth: int) -> Filter:
    """Write GGCM out: its smooth branch has the powers of Â, and the rest is ``sharpened``."""
    alpha = GGCM().alpha
    weight = (1.0 - alpha) / (2.0 * depth)
    powers = np.zeros(depth + 1)
    powers[0] = alpha
    powers[1:] += weight
    powers[:-1] += [weight * (1.0 - sharpening(t)) for t in range(1, depth + 1)]
    return Filter("GGCM", f"depth={depth}", (Block("smooth", powers),), sharpened=(depth, weight))


def _up_to(depth: int, *depths: int) -> list[int]:
    return [k for k in depths if k <= depth]


def _smooth(model: str, settings: str, powers: np.ndarray) -> Filter:
    return Filter(model, settings, (Block("smooth", np.trim_zeros(powers, "b")),))


def _side_by_side() -> list[Filter]:
    """Return filters for graphs where neighbours differ: high-pass, two hops, and a node's own features."""
    own = Block("smooth", np.ones(1))
    one, two = np.array([0.0, 1.0]), np.array([0.0, 0.0, 1.0])
    return [
        Filter("high-pass", "depth=1", (Block("high", one),)),
        Filter("high-pass", "depth=2", (Block("high", two),)),
        Filter("two-hop", "", (Block("hop", two),)),
        Filter("side by side", "own, one hop", (own, Block("hop", one))),
        Filter("side by side", "own, two-hop", (own, Block("hop", two))),
        Filter("side by side", "own, one hop, two-hop", (own, Block("hop", one), Block("hop", two))),
        Filter("side by side", "low, high", (Block("smooth", two), Block("high", two))),
        Filter("side by side", "own, low, high", (own, Block("smooth", two), Block("high", one))),
    ]


def _ssgc(depth: int, alpha: float) -> np.ndarray:
    powers = np.full(depth + 1, (1.0 - alpha) / depth)
    powers[0] = alpha
    return powers


def _pagerank(depth: int, alpha: float) -> np.ndarray:
    """Return the steps of :class:`gssl.PPR`: U ← (1 − α)ÂU + αX, ``depth`` times from X."""
    powers = alpha * (1.0 - alpha) ** np.arange(depth + 1)
    powers[-1] = (1.0 - alpha) ** depth
    return powers


def _heat(depth: int, time: float) -> np.ndarray:
    """Return the heat kernel e^{−t} Σ tᵏ/k! Âᵏ, cut off at ``depth`` and made to sum to one."""
    k = np.arange(depth + 1)
    powers = np.exp(k * np.log(time) - gammaln(k + 1))
    return np.asarray(powers / powers.sum())


def _lazy(depth: int, steps: int, beta: float) -> np.ndarray:
    """Return [βÂ + (1−β)I]^steps, as OGC smooths."""
    powers = lazy_powers(np.array([steps]), beta)[0][: depth + 1]
    return np.asarray(powers / powers.sum())

"""Candidate graph filters: polynomials of operators on the graph."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import gammaln

# the highest power of the "hop" and "high" operators
SHORT = 2

Operator = Literal["smooth", "hop", "high"]


@dataclass(frozen=True, eq=False)
class Block:
    r"""The polynomial :math:`\sum_k p_k T^k` of one operator T.

    ``smooth`` is :math:`\hat A`, ``hop`` is :math:`D^{-1/2} A D^{-1/2}`, without self-loops, and ``high`` is
    inverse convolution of the graph itself.
    """

    operator: Operator
    powers: np.ndarray


@dataclass(frozen=True, eq=False)
class Filter:
    """A candidate filter: the outputs of its blocks, stacked horizontally.

    ``surprise`` is by how much the total log-likelihood of hidden labels must increase before the filter is
    preferred to a smooth one.
    """

    model: str
    settings: str
    blocks: tuple[Block, ...]
    surprise: float = 0.0

    @property
    def uses_graph(self) -> bool:
        """Whether the filter uses features of neighbours."""
        return any(len(block.powers) > 1 for block in self.blocks)

    @property
    def depth(self) -> int:
        """The highest power of any operator."""
        return max(len(block.powers) - 1 for block in self.blocks)


def candidate_filters(depth: int) -> list[Filter]:
    """List the filters to try, the simplest first."""
    own, one, two = np.ones(1), np.array([0.0, 1.0]), np.array([0.0, 0.0, 1.0])
    found = [Filter("no graph", "", (Block("smooth", own),))]
    found += [_smooth("SGC", f"depth={k}", np.eye(depth + 1)[k]) for k in (1, 2, 4, 8, 16) if k <= depth]
    found += [_smooth("SSGC", f"depth={k}", ssgc_powers(k)) for k in (4, 8, 16) if k <= depth]
    found += [
        _smooth("PPR", f"depth={depth}, alpha={alpha}", _pagerank(depth, alpha))
        for alpha in (0.05, 0.1, 0.2, 0.5)
    ]
    found += [_smooth("heat", f"time={time}", _heat(depth, time)) for time in (2, 8)]
    # for heterophilous graphs: high-pass and two-hop filters, with or without a node's own features
    side_by_side = {
        "own, one hop": (Block("smooth", own), Block("hop", one)),
        "own, two-hop": (Block("smooth", own), Block("hop", two)),
        "own, one hop, two-hop": (Block("smooth", own), Block("hop", one), Block("hop", two)),
        "low, high": (Block("smooth", two), Block("high", two)),
        "own, low, high": (Block("smooth", own), Block("smooth", two), Block("high", one)),
    }
    found += [
        Filter("high-pass", "depth=1", (Block("high", one),), surprise=2.0),
        Filter("two-hop", "", (Block("hop", two),), surprise=1.0),
    ]
    found += [Filter("side by side", name, blocks, surprise=2.0) for name, blocks in side_by_side.items()]
    return [f for f in found if f.depth <= depth]


def default_filters(depth: int) -> list[Filter]:
    """List the smooth filters to average if no label can be hidden."""
    return [
        _smooth("SSGC", f"depth={depth}", ssgc_powers(depth)),
        _smooth("PPR", f"depth={depth}, alpha=0.1", _pagerank(depth, 0.1)),
    ]


def ssgc_powers(depth: int, alpha: float = 0.05) -> np.ndarray:
    """Return the coefficients of :class:`gssl.SSGC`: αX + (1 − α) times the mean of ÂX to Â^depth X."""
    powers = np.full(depth + 1, (1.0 - alpha) / depth)
    powers[0] = alpha
    return powers


def _smooth(model: str, settings: str, powers: np.ndarray) -> Filter:
    return Filter(model, settings, (Block("smooth", np.trim_zeros(powers, "b")),))


def _pagerank(depth: int, alpha: float) -> np.ndarray:
    """Return the coefficients of :class:`gssl.PPR`: U ← (1 − α)ÂU + αX, ``depth`` times from X."""
    powers = alpha * (1.0 - alpha) ** np.arange(depth + 1)
    powers[-1] = (1.0 - alpha) ** depth
    return powers


def _heat(depth: int, time: float) -> np.ndarray:
    """Return the coefficients of the heat kernel e^{−t} Σ tᵏ/k! Âᵏ, truncated and scaled to sum to one."""
    k = np.arange(depth + 1)
    powers = np.exp(k * np.log(time) - gammaln(k + 1))
    return np.asarray(powers / powers.sum())

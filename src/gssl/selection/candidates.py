"""The models that AutoClassifier tries: embedders of the library, alone or side by side, with a ridge head.

To let another method compete, add it to :func:`candidates`, or to :func:`competitors` if it is no
polynomial of an operator that others share.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.methods import GGC, GGCM, PPR, SGC, SSGC, HeatKernel, HopFilter, NoGraph
from gssl.methods.embedder import GraphEmbedder
from gssl.operators import Filters, Program, Step
from gssl.operators.named import HOPS, named_operators

# the highest power of the operators "hop" and "high"
SHORT = 2


@dataclass(frozen=True, eq=False)
class Block:
    r"""The polynomial :math:`\sum_k p_k T^k` of one operator T, by its name in :class:`GraphOperators`."""

    operator: str
    powers: np.ndarray

    @classmethod
    def of(cls, embedder: GraphEmbedder) -> "Block":
        """Return an embedder as a polynomial of a shared operator, or else as an operator of its own."""
        powers = embedder.program().powers()
        if powers is None:
            return cls(repr(embedder), np.array([0.0, 1.0]))
        operator = embedder.operator if isinstance(embedder, HopFilter) else "smooth"
        # T is minus the matrix for "high", so odd powers change their sign
        signs = HOPS[operator].smooth ** np.arange(len(powers))
        return cls(operator, np.trim_zeros(powers / signs, "b"))


@dataclass(frozen=True, eq=False)
class Filter:
    """What a candidate does to features: the outputs of its blocks, stacked horizontally.

    ``surprise`` is by how much the total log-likelihood of hidden labels must increase before the filter is
    preferred to a smooth one. ``centred`` subtracts the mean over all nodes.
    """

    model: str
    settings: str
    blocks: tuple[Block, ...]
    surprise: float = 0.0
    centred: bool = False

    @property
    def uses_graph(self) -> bool:
        """Whether the filter uses features of neighbours."""
        return any(len(block.powers) > 1 for block in self.blocks)

    @property
    def is_own_operator(self) -> bool:
        """Whether the filter is no polynomial of an operator that others share."""
        return any(block.operator not in HOPS for block in self.blocks)

    @property
    def depth(self) -> int:
        """The highest power of any operator."""
        return max(len(block.powers) - 1 for block in self.blocks)


def candidates(depth: int) -> list[Filter]:
    """List the filters to try, the simplest first; none has more than ``depth`` hops."""
    own, one, two = NoGraph(), HopFilter(depth=1), HopFilter(depth=2)
    low, high, higher = SGC(depth=2), HopFilter(1, "high"), HopFilter(2, "high")
    smooth: list[GraphEmbedder] = [
        *(SGC(depth=k) for k in (1, 2, 4, 8, 16)),
        *(SSGC(depth=k) for k in (4, 8, 16)),
        *(PPR(depth=depth, alpha=alpha) for alpha in (0.05, 0.1, 0.2, 0.5)),
        *(HeatKernel(depth=depth, time=time) for time in (2, 8)),
        *competitors(depth).values(),
    ]
    listed = [
        make_filter("no graph", [own]),
        *(make_filter(type(each).__name__, [each]) for each in smooth),
        # for heterophilous graphs: high-pass and two-hop filters, with or without a node's own features
        make_filter("high-pass", [high], surprise=2.0),
        make_filter("two-hop", [two], surprise=1.0),
        make_filter("side by side", [own, one], surprise=2.0),
        make_filter("side by side", [own, two], surprise=2.0),
        make_filter("side by side", [own, one, two], surprise=2.0),
        make_filter("side by side", [low, higher], surprise=2.0),
        make_filter("side by side", [own, low, high], surprise=2.0),
    ]
    return [filter_ for filter_ in listed if filter_.depth <= depth]


def competitors(depth: int) -> dict[str, GraphEmbedder]:
    """Return the embedders that are no polynomial of one operator; each is an operator of its own."""
    return {repr(each): each for each in (GGC(depth=depth), GGCM(depth=depth))}


def default_candidates(depth: int, *, smooth: bool = True) -> list[Filter]:
    """List the filters to average if labels are too few to compare any.

    Smooth filters, plain and centred, if neighbours have similar features; else a node's own features and
    those of its neighbours side by side, centred.
    """
    if smooth:
        plain = [make_filter(type(each).__name__, [each]) for each in (SSGC(depth=depth), PPR(depth=depth))]
        return [*plain, *map(centred, plain)]
    hops = [HopFilter(depth=k) for k in range(1, min(SHORT, depth) + 1)]
    return [
        centred(make_filter("side by side", [NoGraph(), *hops])),
        centred(make_filter("no graph", [NoGraph()])),
    ]


def centred(filter_: Filter) -> Filter:
    """Return a filter that also subtracts the mean over all nodes."""
    settings = ", ".join(part for part in (filter_.settings, "centred") if part)
    return replace(filter_, settings=settings, centred=True)


def make_filter(model: str, embedders: Sequence[GraphEmbedder], surprise: float = 0.0) -> Filter:
    """Return a filter; its settings say how to build it."""
    if len(embedders) == 1 and type(embedders[0]).__name__ == model:
        settings = ", ".join(f"{name}={value}" for name, value in _settings(embedders[0]).items())
    else:
        settings = " + ".join(repr(each) for each in embedders)
    return Filter(model, settings, tuple(Block.of(each) for each in embedders), surprise)


def _settings(embedder: GraphEmbedder) -> dict[str, Any]:
    """Return the depth, and the parameters that differ from their defaults."""
    defaults = type(embedder)().get_params()
    given = embedder.get_params()
    return {name: given[name] for name in given if name == "depth" or given[name] != defaults[name]}


@dataclass(frozen=True, eq=False)
class GraphOperator:
    """An operator T: its matrices, one application as a program, and the highest power in use."""

    filters: Filters
    program: Program
    highest: int

    @property
    def is_hop(self) -> bool:
        """Whether one application is a single pass over the graph, so that terms can be added in between."""
        return len(self.program.steps) == 1

    def power(self, k: int) -> Program:
        """Return Tᵏ."""
        return Program(list(self.program.steps) * k) if k != 1 else self.program


class GraphOperators(Mapping[str, GraphOperator]):
    """The operators that candidates consist of, made on demand."""

    def __init__(self, A: csr_array, dtype: Any, depth: int) -> None:
        self._A, self._dtype, self._depth = A, dtype, depth
        self._highest = operator_powers(depth)
        self._made: dict[str, GraphOperator] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._highest)

    def __len__(self) -> int:
        return len(self._highest)

    def __getitem__(self, name: str) -> GraphOperator:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    @cached_property
    def _named(self) -> dict[str, Filters]:
        return named_operators(self._A, self._dtype)

    def _make(self, name: str) -> GraphOperator:
        if name in HOPS:
            return GraphOperator(self._named[name], Program([Step(HOPS[name])]), self._highest[name])
        embedder = competitors(self._depth)[name]
        # all share one copy of the links
        filters = replace(embedder._matrices(self._A, self._dtype)(1), A_hat=self._named["smooth"].A_hat)
        return GraphOperator(filters, embedder.program(self._A), self._highest[name])


def operator_powers(depth: int) -> dict[str, int]:
    """Return the highest power of every operator."""
    short = min(SHORT, depth)
    return {"smooth": depth, "hop": short, "high": short, **dict.fromkeys(competitors(depth), 1)}


def terms(depth: int) -> list[tuple[str, int]]:
    """List the operators and powers that filters consist of; power 0 is the same for all operators."""
    powers = operator_powers(depth).items()
    return [("smooth", 0), *((name, k) for name, highest in powers for k in range(1, highest + 1))]

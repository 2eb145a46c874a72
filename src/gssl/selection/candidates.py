"""The models that AutoClassifier tries: embedders of the library, alone or stacked, with a ridge head.

To let another method compete, add it to :func:`candidates`, or to :func:`competitors` if it is no
polynomial of an operator that others share.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.graph.adjacency import ONE_KIND, is_directed, relations_of
from gssl.methods import GGC, GGCM, PPR, SGC, SSGC, HeatKernel, HopFilter, NoGraph
from gssl.methods.embedder import GraphEmbedder
from gssl.operators import Filters, Program, Step
from gssl.operators.named import HOPS, TRANSPOSED, directed_operators, named_operators

# the highest power of operators other than "smooth", and of "smooth" of one relation
SHORT, RELATION_DEPTH = 2, 8
# the name of models of several blocks
STACKED = "own and neighbours' features"


@dataclass(frozen=True, eq=False)
class Block:
    r"""The polynomial :math:`\sum_k p_k T^k` of one operator T, by its name in :class:`GraphOperators`."""

    operator: str
    powers: np.ndarray

    @classmethod
    def of(cls, embedder: GraphEmbedder, relation: str | None = None) -> "Block":
        """Return an embedder as a polynomial of a shared operator, or else as an operator of its own.

        That is an operator of the whole graph, or of one relation.
        """
        powers = embedder.program().powers()
        if powers is None:
            return cls(repr(embedder), np.array([0.0, 1.0]))
        kind = embedder.operator if isinstance(embedder, HopFilter) else "smooth"
        # T is minus the matrix for "high", so odd powers change their sign
        signs = HOPS[kind].smooth ** np.arange(len(powers))
        return cls(operator_name(kind, relation), np.trim_zeros(powers / signs, "b"))


def operator_name(kind: str, relation: str | None) -> str:
    """Return the name of an operator of the whole graph, or of one relation."""
    return kind if relation is None else f"{kind}:{relation}"


def split_name(operator: str) -> tuple[str, str | None]:
    """Return the kind of an operator, and its relation: the inverse of :func:`operator_name`."""
    kind, colon, relation = operator.partition(":")
    return (kind, relation if colon else None) if kind in HOPS else (operator, None)


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
    # how to build it from embedders of the library; settings leave out what the name of the model says
    built: str = ""

    @property
    def uses_graph(self) -> bool:
        """Whether the filter uses features of neighbours."""
        return any(len(block.powers) > 1 for block in self.blocks)

    @property
    def is_own_operator(self) -> bool:
        """Whether the filter is no polynomial of an operator that others share."""
        return any(split_name(block.operator)[0] not in HOPS for block in self.blocks)

    @property
    def follows_union(self) -> bool:
        """Whether the filter follows links of all kinds."""
        return any(split_name(b.operator)[1] is None for b in self.blocks if len(b.powers) > 1)

    @property
    def relations(self) -> list[str]:
        """The relations that the filter tells from other links."""
        named = (split_name(block.operator)[1] for block in self.blocks if len(block.powers) > 1)
        return list(dict.fromkeys(relation for relation in named if relation is not None))

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
        make_filter(STACKED, [own, one], surprise=2.0),
        make_filter(STACKED, [own, two], surprise=2.0),
        make_filter(STACKED, [own, one, two], surprise=2.0),
        make_filter(STACKED, [low, higher], surprise=2.0),
        make_filter(STACKED, [own, low, high], surprise=2.0),
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
        centred(make_filter(STACKED, [NoGraph(), *hops])),
        centred(make_filter("no graph", [NoGraph()])),
    ]


def centred(filter_: Filter) -> Filter:
    """Return a filter that also subtracts the mean over all nodes."""
    settings = ", ".join(part for part in (filter_.settings, "centred") if part)
    return replace(filter_, settings=settings, centred=True)


def make_filter(
    model: str, embedders: Sequence[GraphEmbedder], surprise: float = 0.0, relation: str | None = None
) -> Filter:
    """Return a filter, of one relation if one is given; its settings say how to build it."""
    settings = built = " + ".join(repr(each) for each in embedders)
    if relation is not None:
        settings = built = f"{built} of {relation!r}"
    elif len(embedders) == 1 and type(embedders[0]).__name__ == model:
        settings = ", ".join(f"{name}={value}" for name, value in _settings(embedders[0]).items())
    blocks = tuple(Block.of(each, relation) for each in embedders)
    return Filter(model, settings, blocks, surprise, built=built)


def side_by_side(one: Filter, other: Filter, surprise: float) -> Filter:
    """Return the blocks of two filters side by side; those of the second surprise."""
    built, blocks = f"{one.built} + {other.built}", (*one.blocks, *other.blocks)
    both = Filter(STACKED, built, blocks, one.surprise + surprise, built=built)
    return centred(both) if one.centred else both


def _settings(embedder: GraphEmbedder) -> dict[str, Any]:
    """Return the depth, and the parameters that differ from their defaults."""
    defaults = type(embedder)().get_params()
    given = embedder.get_params()
    return {name: given[name] for name in given if name == "depth" or given[name] != defaults[name]}


@dataclass(frozen=True, eq=False)
class GraphOperator:
    """An operator T: its matrices, one application as a program, and the highest power in use.

    ``transposed`` are the matrices of its transpose, if it is not symmetric.
    """

    filters: Filters
    program: Program
    highest: int
    transposed: Filters | None = None

    @property
    def is_hop(self) -> bool:
        """Whether one application is a single pass over the graph, so that terms can be added in between."""
        return len(self.program.steps) == 1

    def power(self, k: int) -> Program:
        """Return Tᵏ."""
        return Program(list(self.program.steps) * k) if k != 1 else self.program

    def apply_transposed(self, V: np.ndarray) -> np.ndarray:
        """Return TᵀV."""
        filters = self.filters if self.transposed is None else self.transposed
        return np.asarray(self.program.transpose().run(V, lambda graph: filters))


class GraphOperators(Mapping[str, GraphOperator]):
    """The operators that candidates consist of, made on demand.

    ``of_relations`` names those of single relations; a relation that the graph lacks has no links.
    """

    def __init__(self, A: csr_array, dtype: Any, depth: int, of_relations: Sequence[str] = ()) -> None:
        self._A, self._dtype, self._depth = A, dtype, depth
        self._highest = operator_powers(depth, of_relations)
        self._made: dict[str, GraphOperator] = {}
        # by relation, and whether its links have directions
        self._matrices: dict[tuple[str | None, bool], dict[str, Filters]] = {}

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
        kind, relation = split_name(name)
        if relation is not None:
            return self._of_relation(name)
        if kind in HOPS:
            return GraphOperator(self._named[name], Program([Step(HOPS[name])]), self._highest[name])
        embedder = competitors(self._depth)[name]
        # all share one copy of the links
        filters = replace(embedder._matrices(self._A, self._dtype)(1), A_hat=self._named["smooth"].A_hat)
        return GraphOperator(filters, embedder.program(self._A), self._highest[name])

    def _of_relation(self, name: str) -> GraphOperator:
        kind, relation = split_name(name)
        directed = kind in ("out", "in")
        key = relation, directed
        if key not in self._matrices:
            named = directed_operators if directed else named_operators
            links = links_of(self._A, operator_name("out" if directed else "hop", relation))
            self._matrices[key] = named(links, self._dtype)
        filters = self._matrices[key]
        transposed = filters[TRANSPOSED[kind]] if directed else None
        return GraphOperator(filters[kind], Program([Step(HOPS[kind])]), self._highest[name], transposed)


def highest_power(operator: str, depth: int) -> int | None:
    """Return the highest power of an operator; None if there is no such operator."""
    kind, relation = split_name(operator)
    if kind not in HOPS:
        return 1 if operator in competitors(depth) else None
    deepest = SHORT if kind != "smooth" else RELATION_DEPTH if relation is not None else depth
    return min(deepest, depth)


def operator_powers(depth: int, of_relations: Sequence[str] = ()) -> dict[str, int]:
    """Return the highest power of every operator."""
    names = ("smooth", "hop", "high", *competitors(depth), *of_relations)
    return {name: highest_power(name, depth) or 0 for name in names}


def terms(depth: int, of_relations: Sequence[str] = ()) -> list[tuple[str, int]]:
    """List the operators and powers that filters consist of; power 0 is the same for all operators."""
    powers = operator_powers(depth, of_relations).items()
    return [("smooth", 0), *((name, k) for name, highest in powers for k in range(1, highest + 1))]


def links_of(A: csr_array, operator: str) -> csr_array:
    """Return the links that an operator of one relation follows; none if the graph lacks the relation."""
    kind, relation = split_name(operator)
    # symmetric links are links in both directions
    links = (relations_of(A) or {ONE_KIND: A}).get(relation or "")
    if links is None:
        return csr_array(A.shape, dtype=A.dtype)
    if kind == "in":
        return csr_array(links.T)
    return csr_array(links.maximum(links.T)) if kind != "out" and is_directed(links) else links


def relation_operators(A: csr_array) -> list[str]:
    """Name the operators of the relations of a graph; without directions, one relation is the whole graph."""
    relations, names = relations_of(A), list[str]()
    for relation, links in relations.items():
        kinds = ["out", "in"] if is_directed(links) else ["hop"]
        if len(relations) > 1:
            kinds.append("smooth")
        names += [operator_name(kind, relation) for kind in kinds if kind != "hop" or len(relations) > 1]
    return names

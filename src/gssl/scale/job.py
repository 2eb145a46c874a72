"""A run on paper: how large its graph is, and what its method holds for each column."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from gssl.scale.plan import MAPPED

# methods that can be planned, by the names of their classes
METHODS = {"sgc": "SGC", "ssgc": "SSGC", "ppr": "PPR", "ggc": "GGC", "ggcm": "GGCM", "ogc": "OGC"}
# node numbers are 32 bits long with a sign
_MOST_NODES = 2**31 - 1
# what any count may be, so that a product of some of them can still be divided
_MOST = 2**63 - 1
_SINGLE, _DOUBLE, _LINE = 4, 8, 64


@dataclass(frozen=True)
class Job:
    """A run on paper, on a graph store, with features in a file of single precision.

    Attributes
    ----------
    nodes, edges : int
        Edges count once, whatever their direction.
    features, depth, classes : int
    method : str
        One of ``METHODS``.
    weighted : bool
        Whether edges have weights.

    Examples
    --------
    >>> Job(nodes=1000, edges=5000, features=10, method="ggcm").buffers
    4
    """

    nodes: int
    edges: int
    features: int
    depth: int = 16
    classes: int = 40
    method: str = "ggcm"
    weighted: bool = False

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"there is no plan for {self.method!r}: choose one of {', '.join(METHODS)}.")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is int and not (type(value) is int and 1 <= value <= _MOST):
                raise ValueError(f"{field.name} is {value!r}: give a whole number from 1 to {_MOST}.")
        if self.nodes > _MOST_NODES:
            raise ValueError(
                f"{self.nodes:,} nodes are too many: a graph holds fewer than 2³¹, for their numbers are 32 "
                "bits long; split the graph."
            )
        pairs = self.nodes * (self.nodes - 1) // 2
        if self.edges > pairs:
            raise ValueError(
                f"{self.nodes:,} nodes have {pairs:,} pairs and cannot have {self.edges:,} edges: count each "
                "edge once, and no self-loops."
            )

    @property
    def guided(self) -> bool:
        """Whether labels guide the embeddings, so that there are scores of all nodes in every iteration."""
        return self.method == "ogc"

    @property
    def negatives(self) -> bool:
        """Whether unlinked nodes are pushed apart, for which there is a second scale."""
        return not self.guided and any(mixture.sharp for mixture in model_of(self.method)._mixtures(1))

    @property
    def buffers(self) -> int:
        """Arrays of a slab's size that are held at once, as the method itself says; of OGC two."""
        return 2 if self.guided else int(model_of(self.method)._buffers())

    @property
    def column_bytes(self) -> int:
        """One number for every node."""
        return self.nodes * _SINGLE

    @property
    def link_bytes(self) -> int:
        """Neighbours, in the files of the store."""
        return 2 * self.edges * _SINGLE

    @property
    def pointer_bytes(self) -> int:
        """Where the neighbours of each node begin."""
        return (self.nodes + 1) * _DOUBLE

    @property
    def store_bytes(self) -> int:
        """The files of the store, its ids aside."""
        weights = 2 * self.edges * _DOUBLE if self.weighted else 0
        return self.link_bytes + self.pointer_bytes + weights

    @property
    def graph_bytes(self) -> int:
        """What a run counts of a store: a block of links, pointers, scales, and any weights."""
        scales = 2 if self.negatives else 1
        weights = self.link_bytes if self.weighted else 0
        return min(self.link_bytes, MAPPED) + self.pointer_bytes + scales * self.column_bytes + weights

    def pass_bytes(self, width: int) -> int:
        r"""Count what a pass over a slab of w columns moves.

        .. math:: 2m \cdot \max(4w, 64) + 8m + 8n + 4nw\,b

        The rows of neighbours come by the cache line; links, pointers and b arrays come in order. OGC then
        reads the slab once more and adds to the scores of c classes: 4nw + 16nc.

        Examples
        --------
        >>> Job(nodes=100, edges=500, features=20, method="sgc").pass_bytes(20)
        108800
        """
        gathered = 2 * self.edges * max(_SINGLE * width, _LINE)
        weights = self.link_bytes if self.weighted else 0
        rows = self.buffers * width * self.column_bytes + self.nodes * _DOUBLE
        if self.guided:
            rows += width * self.column_bytes + 2 * self.nodes * self.classes * _DOUBLE
        return gathered + self.link_bytes + weights + rows


@cache
def model_of(method: str) -> Any:
    """Give a method with its defaults, to ask what it holds.

    Examples
    --------
    >>> model_of("sgc")
    SGC()
    """
    from gssl import methods

    return getattr(methods, METHODS[method])()

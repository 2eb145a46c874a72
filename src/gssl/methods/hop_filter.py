"""HopFilter: the features of nodes a fixed number of links away, for graphs whose neighbours differ."""

from typing import Any

from scipy.sparse import csr_array

from gssl.graph.adjacency import relations_of
from gssl.methods.embedder import GraphEmbedder, GraphFilter
from gssl.operators import Filters, Program, Step
from gssl.operators.named import HOPS, TRANSPOSED, directed_operators, named_operators
from gssl.operators.program import FiltersOf

_OPERATORS = ("hop", "high", "out", "in")


class HopFilter(GraphEmbedder):
    r"""Replace a node's features by those of the nodes K links away, or by the difference to them.

    .. math:: U = T^K X, \qquad T = D^{-1/2} A D^{-1/2} \quad\text{or}\quad
              T = (2I + D)^{-1/2} (2I - A) (2I + D)^{-1/2}

    Without self-loops, a node's own features do not enter (``"hop"``); inverse convolution of the graph
    itself amplifies what differs from the neighbours (``"high"``). Both are for graphs in which linked nodes
    tend to differ, where :class:`gssl.SGC` blurs the classes.

    Links with directions have two operators, to the nodes that links lead to (``"out"``) and to those that
    they come from (``"in"``),

    .. math:: T = D_{out}^{-1/2} A D_{in}^{-1/2} \quad\text{or}\quad T = D_{in}^{-1/2} A^\top D_{out}^{-1/2}.

    Parameters
    ----------
    depth : int, default=2
        K. Two hops without self-loops compare nodes that share neighbours.
    operator : {"hop", "high", "out", "in"}, default="hop"
        Which T. For the last two, entry (u, v) of the adjacency is a link from u to v.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
    n_iter_ : int
    n_features_in_ : int

    Examples
    --------
    Two actors who never met, but each met the same third one:

    >>> import gssl
    >>> A = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> gssl.HopFilter(depth=2).fit_transform([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], adjacency=A).round(2)
    array([[0.5, 0. ],
           [0. , 1. ],
           [0.5, 0. ]])
    """

    def __init__(self, depth: int = 2, operator: str = "hop") -> None:
        self.depth = depth
        self.operator = operator

    def program(self, A: csr_array | None = None) -> Program:
        """Return K hops of the operator."""
        return Program([Step(HOPS[self.operator])] * self.depth)

    @property
    def directed(self) -> bool:
        """Whether the directions of links matter."""
        return self.operator in ("out", "in")

    # of links with directions, the union does not say enough
    tells_relations = directed

    def _filters(self, A: csr_array, dtype: Any) -> GraphFilter:
        program = self.program(A)
        if not self.directed:
            return GraphFilter(program, self._matrices(A, dtype))
        both = self._both_directions(A, dtype)
        forth, back = both[self.operator], both[TRANSPOSED[self.operator]]
        return GraphFilter(program, lambda k: forth, lambda k: back)

    def _matrices(self, A: csr_array, dtype: Any) -> FiltersOf:
        named = self._both_directions if self.directed else named_operators
        filters = named(A, dtype)[self.operator]
        return lambda k: filters

    def _both_directions(self, A: csr_array, dtype: Any) -> dict[str, Filters]:
        relations = relations_of(A)
        if len(relations) > 1:
            raise ValueError(
                f"HopFilter needs the directions of one kind of links, but there are {len(relations)}: give "
                "one matrix as adjacency."
            )
        # symmetric links lead both ways
        (links,) = relations.values() or (A,)
        return directed_operators(links, dtype)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.operator not in _OPERATORS:
            raise ValueError(f"HopFilter: operator must be one of {_OPERATORS}, not {self.operator!r}.")

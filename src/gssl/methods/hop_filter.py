"""HopFilter: the features of nodes a fixed number of links away, for graphs whose neighbours differ."""

from typing import Any

from scipy.sparse import csr_array

from gssl.methods.embedder import GraphEmbedder
from gssl.operators import Program, Step
from gssl.operators.named import HOPS, named_operators
from gssl.operators.program import FiltersOf


class HopFilter(GraphEmbedder):
    r"""Replace a node's features by those of the nodes K links away, or by the difference to them.

    .. math:: U = T^K X, \qquad T = D^{-1/2} A D^{-1/2} \quad\text{or}\quad
              T = (2I + D)^{-1/2} (2I - A) (2I + D)^{-1/2}

    Without self-loops, a node's own features do not enter (``"hop"``); inverse convolution of the graph
    itself amplifies what differs from the neighbours (``"high"``). Both are for graphs in which linked nodes
    tend to differ, where :class:`gssl.SGC` blurs the classes.

    Parameters
    ----------
    depth : int, default=2
        K. Two hops without self-loops compare nodes that share neighbours.
    operator : {"hop", "high"}, default="hop"
        Which T.

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

    def _matrices(self, A: csr_array, dtype: Any) -> FiltersOf:
        filters = named_operators(A, dtype)[self.operator]
        return lambda k: filters

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.operator not in ("hop", "high"):
            raise ValueError(f'HopFilter: operator must be "hop" or "high", not {self.operator!r}.')

"""Node2Vec: skip-gram on second-order random walks (Grover and Leskovec, 2016)."""

from typing import Any

import numpy as np

from gssl.methods.inputs import check_number
from reproduction.deepwalk import DeepWalk


class Node2Vec(DeepWalk):
    r"""Embed nodes that meet on walks which like, or avoid, going back and going far.

    .. math:: P(x \mid v, u) \propto A_{vx} b(u, x), \qquad
              b(u, x) = \begin{cases} 1/p & x = u \\ 1 & A_{ux} > 0 \\ 1/q & \text{otherwise} \end{cases}

    is the chance of a step from v to x in a walk that came from u; :math:`p = q = 1` is DeepWalk. Features
    are used only to build a graph where none is given. Needs gensim (``pip install gssl[reproduction]``).

    Parameters
    ----------
    p : float, default=1.0
        A large p avoids going back at once.
    q : float, default=0.5
        A small q leads walks away, a large one keeps them around where they were.
    dimensions : int, default=128
        Numbers per node.
    walk_length : int, default=40
        Nodes of each walk.
    walks_per_node : int, default=10
    window : int, default=5
        Nodes of a walk are neighbours up to so many steps apart.
    epochs : int, default=1
        How often all walks are read.
    negative : int, default=5
        Nodes that are drawn as non-neighbours for each pair; 0 takes hierarchical softmax.
    workers : int, default=1
        Threads of skip-gram. With more than one, a seed does not make a fit repeatable.
    random_state : int, Generator, RandomState or None, default=None

    Attributes
    ----------
    embedding_ : float32 ndarray of shape (n, dimensions)
    n_iter_ : int
        The epochs.
    n_features_in_ : int
        Only where there were features.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> model = Node2Vec(p=4.0, q=0.5, dimensions=8, random_state=0)
    >>> model.fit_transform(None, adjacency=data.adjacency).shape
    (34, 8)
    """

    def __init__(
        self,
        p: float = 1.0,
        q: float = 0.5,
        dimensions: int = 128,
        walk_length: int = 40,
        walks_per_node: int = 10,
        window: int = 5,
        epochs: int = 1,
        negative: int = 5,
        workers: int = 1,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            dimensions, walk_length, walks_per_node, window, epochs, negative, workers, random_state
        )
        self.p = p
        self.q = q

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("p", "q"):
            check_number(self, name, low=0.0, high=np.inf, open_ends=True)

    def _biases(self) -> dict[str, float]:
        return {"p": float(self.p), "q": float(self.q)}

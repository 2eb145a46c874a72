"""DeepWalk: skip-gram on random walks (Perozzi et al., 2014)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.methods.inputs import check_number, generator
from reproduction.skipgram import SkipGram
from reproduction.transductive import TransductiveEmbedder
from reproduction.walks import random_walks, transitions


class DeepWalk(TransductiveEmbedder):
    r"""Walk over the graph at random, and embed nodes that meet on walks near each other.

    .. math:: P(x \mid v) = A_{vx} / \sum_y A_{vy}

    is the chance of each step; the walks are read as sentences by skip-gram with negative sampling. Features
    are used only to build a graph where none is given. A node without links is on no walk and has zeros.
    Needs gensim (``pip install gssl[reproduction]``).

    Parameters
    ----------
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
        Nodes that are drawn as non-neighbours for each pair; 0 takes hierarchical softmax, as in the
        publication.
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
    >>> U = DeepWalk(dimensions=8, random_state=0).fit_transform(None, adjacency=data.adjacency)
    >>> U.shape
    (34, 8)
    """

    _packages = ("gensim",)

    def __init__(
        self,
        dimensions: int = 128,
        walk_length: int = 40,
        walks_per_node: int = 10,
        window: int = 5,
        epochs: int = 1,
        negative: int = 5,
        workers: int = 1,
        random_state: Any = None,
    ) -> None:
        self.dimensions = dimensions
        self.walk_length = walk_length
        self.walks_per_node = walks_per_node
        self.window = window
        self.epochs = epochs
        self.negative = negative
        self.workers = workers
        self.random_state = random_state

    def _check_parameters(self) -> None:
        for name in ("dimensions", "walks_per_node", "window", "epochs", "workers"):
            check_number(self, name, low=1, whole=True)
        check_number(self, "walk_length", low=2, whole=True)
        check_number(self, "negative", low=0, whole=True)

    def _biases(self) -> dict[str, float]:
        """Give p and q of the walks."""
        return {"p": 1.0, "q": 1.0}

    def _learn(self, A: csr_array, X: Any) -> None:
        rng = generator(self.random_state)
        gram = SkipGram(self.dimensions, self.window, self.negative, self.workers, int(rng.integers(2**31)))
        walks = self._passes(A, rng.integers(2**63, size=self.walks_per_node))
        self.embedding_ = gram.train(walks, A.shape[0], self.walks_per_node, self.epochs)
        self.n_iter_ = self.epochs
        self._remember(A)

    def _passes(self, A: csr_array, seeds: np.ndarray) -> Callable[[int], np.ndarray]:
        """Give a function for the walks of pass k, one from each node that has links, in any order."""
        graph, linked = transitions(A), np.flatnonzero(np.diff(A.indptr))

        def walks(k: int) -> np.ndarray:
            rng = np.random.default_rng(seeds[k])
            return random_walks(graph, rng.permutation(linked), self.walk_length, rng, **self._biases())

        return walks

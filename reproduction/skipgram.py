"""DeepWalk (Perozzi et al., 2014) and Node2Vec (Grover and Leskovec, 2016): skip-gram on random walks."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from typing import Any
from zlib import crc32

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from gssl.methods.embedder import Embedder
from gssl.methods.inputs import check_number, generator
from gssl.methods.iteration import iterate, last
from reproduction.walks import random_walks, transitions

# the first and the last learning rate, as in word2vec
_FIRST_RATE, _LAST_RATE = 0.025, 1e-4


@dataclass(frozen=True)
class SkipGram:
    r"""Vectors that distinguish a node's neighbours on walks from other nodes (Mikolov et al., 2013).

    .. math:: \max_{U, V} \sum_{(i, j)} \log \sigma(U_i^\top V_j)
              + \sum_{m=1}^{\text{negative}} \mathbb E_{k} \log \sigma(-U_i^\top V_k)

    over all pairs (i, j) at most ``window`` steps apart, with k drawn in proportion to
    :math:`\mathrm{count}^{3/4}`.
    """

    dimensions: int
    window: int
    negative: int
    workers: int
    seed: int

    def train(self, walks: Callable[[int], np.ndarray], n_nodes: int, n_passes: int, epochs: int) -> Any:
        """Learn a vector for every node on a walk; other nodes have zeros."""
        counts = np.zeros(n_nodes, dtype=np.int64)
        for k in range(n_passes):
            counts += np.bincount(walks(k).ravel(), minlength=n_nodes)
        visited = np.flatnonzero(counts)
        U = np.zeros((n_nodes, self.dimensions), dtype=np.float32)
        if not visited.size:
            return U
        model = self._untrained()
        names = np.array([str(node) for node in range(n_nodes)], dtype=object)
        model.build_vocab_from_freq({names[node]: int(counts[node]) for node in visited})
        rates = np.linspace(_FIRST_RATE, _LAST_RATE, epochs * n_passes + 1)

        def step(model: Any, k: int) -> Any:
            rows = walks(k % n_passes)
            model.train(
                _Sentences(rows, names),
                total_examples=len(rows),
                epochs=1,
                start_alpha=rates[k],
                end_alpha=rates[k + 1],
            )
            return model

        vectors = last(iterate(step, model, range(epochs * n_passes))).wv
        U[visited] = vectors.vectors[[vectors.key_to_index[names[node]] for node in visited]]
        return U

    def _untrained(self) -> Any:
        return _word2vec()(
            vector_size=self.dimensions,
            window=self.window,
            sg=1,
            negative=self.negative,
            hs=int(self.negative == 0),
            # keep rare nodes, and do not subsample frequent ones
            min_count=1,
            sample=0,
            workers=self.workers,
            seed=self.seed,
            hashfxn=_stable_hash,
        )


@dataclass(frozen=True)
class _Sentences:
    """Walks as lists of words for gensim, converted a block at a time."""

    walks: np.ndarray
    names: np.ndarray

    def __iter__(self) -> Iterator[list[str]]:
        for start in range(0, len(self.walks), 1024):
            yield from self.names[self.walks[start : start + 1024]].tolist()


def _stable_hash(text: str) -> int:
    """Hash text identically in every process, unlike Python's hash()."""
    return crc32(text.encode())


def _word2vec() -> Any:
    try:
        return import_module("gensim.models").Word2Vec
    except ImportError as error:
        raise ImportError("embeddings of walks need gensim: pip install gssl[reproduction].") from error


class TransductiveEmbedder(ClassNamePrefixFeaturesOutMixin, Embedder):
    """A vector for every node of the graph of fit, learnt from its links alone.

    A subclass calls ``_keep`` in ``_learn``. Features are used only to build a graph if none is given.
    """

    uses_features = False
    dimensions: int
    epochs: int

    def embedding_width(self, n_features: int) -> int:
        """Return the number of dimensions."""
        return self.dimensions

    def _keep(self, A: csr_array, U: np.ndarray) -> None:
        """Store embeddings, with zeros for nodes without links, and a fingerprint of the graph of fit."""
        self.embedding_ = np.where(np.diff(A.indptr)[:, None] > 0, U, U.dtype.type(0))
        self.n_iter_ = self.epochs
        self._fingerprint = fingerprint(A)

    def _filters(self, A: csr_array, dtype: Any) -> None:
        """Raise ValueError for any graph other than that of fit."""
        if fingerprint(A) != self._fingerprint:
            name = type(self).__name__
            raise ValueError(
                f"{name} embeds only the graph of its fit, because nodes are learnt from walks on it: fit "
                f"{name} again on the whole new graph."
            )

    def _apply(self, X: Any, filters: None) -> np.ndarray:
        return self.embedding_

    def transform(self, X: Any, *, adjacency: Any = None) -> np.ndarray:
        """Return the embeddings of the graph of fit; raise ValueError for any other graph."""
        return super().transform(X, adjacency=adjacency).copy()

    @property
    def _n_features_out(self) -> int:
        return self.dimensions

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # vectors are float32, whatever the dtype of the features
        tags.transformer_tags.preserves_dtype = []
        return tags


def fingerprint(A: csr_array) -> int:
    """Return a hash of a graph as an integer."""
    digest = blake2b(digest_size=7)
    for part in (A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data.astype(np.float64)):
        digest.update(part.tobytes())
    return int.from_bytes(digest.digest(), "big")


@dataclass(eq=False, repr=False)
class DeepWalk(TransductiveEmbedder):
    r"""Embed nodes that co-occur on random walks near each other.

    .. math:: P(x \mid v) = A_{vx} / \sum_y A_{vy}

    is the probability of each step; skip-gram reads the walks as sentences. With ``negative=0`` it uses
    hierarchical softmax, as published. With several ``workers``, results are not reproducible by a seed.
    """

    _packages = ("gensim",)

    dimensions: int = 128
    walk_length: int = 40
    walks_per_node: int = 10
    window: int = 5
    epochs: int = 1
    negative: int = 5
    workers: int = 1
    random_state: Any = None

    def _check_parameters(self) -> None:
        for name in ("dimensions", "walks_per_node", "window", "epochs", "workers"):
            check_number(self, name, low=1, whole=True)
        check_number(self, "walk_length", low=2, whole=True)
        check_number(self, "negative", low=0, whole=True)

    def _biases(self) -> dict[str, float]:
        """Return p and q of the walks."""
        return {"p": 1.0, "q": 1.0}

    def _learn(self, A: csr_array, X: Any) -> None:
        rng = generator(self.random_state)
        gram = SkipGram(self.dimensions, self.window, self.negative, self.workers, int(rng.integers(2**31)))
        walks = self._passes(A, rng.integers(2**63, size=self.walks_per_node))
        self._keep(A, gram.train(walks, A.shape[0], self.walks_per_node, self.epochs))

    def _passes(self, A: csr_array, seeds: np.ndarray) -> Callable[[int], np.ndarray]:
        """Return a function that draws the walks of pass k: one from each linked node, in random order."""
        graph, linked = transitions(A), np.flatnonzero(np.diff(A.indptr))

        def walks(k: int) -> np.ndarray:
            rng = np.random.default_rng(seeds[k])
            return random_walks(graph, rng.permutation(linked), self.walk_length, rng, **self._biases())

        return walks


@dataclass(eq=False, repr=False)
class Node2Vec(DeepWalk):
    r"""Embed nodes by random walks that are biased to return to, or move away from, the previous node.

    .. math:: P(x \mid v, u) \propto A_{vx} b(u, x), \qquad
              b(u, x) = \begin{cases} 1/p & x = u \\ 1 & A_{ux} > 0 \\ 1/q & \text{otherwise} \end{cases}

    is the probability of a step from v to x in a walk that came from u; :math:`p = q = 1` is DeepWalk.
    Features are used only to build a graph if none is given. Needs gensim
    (``pip install gssl[reproduction]``).
    """

    p: float = 1.0
    q: float = 0.5

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("p", "q"):
            check_number(self, name, low=0.0, high=np.inf, open_ends=True)

    def _biases(self) -> dict[str, float]:
        return {"p": float(self.p), "q": float(self.q)}

"""Skip-gram with negative sampling, by gensim: the one place that knows it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from zlib import crc32

import numpy as np

from gssl.methods.base import iterate, last

# the first and the last learning rate, as in word2vec
_FIRST_RATE, _LAST_RATE = 0.025, 1e-4


@dataclass(frozen=True)
class SkipGram:
    r"""Vectors by which a node's neighbours on walks can be told from other nodes (Mikolov et al., 2013).

    .. math:: \max_{U, V} \sum_{(i, j)} \log \sigma(U_i^\top V_j)
              + \sum_{m=1}^{\text{negative}} \mathbb E_{k} \log \sigma(-U_i^\top V_k)

    over all pairs (i, j) at most ``window`` steps apart, with k drawn in proportion to
    :math:`\mathrm{count}^{3/4}`.

    Attributes
    ----------
    dimensions, window : int
    negative : int
        Nodes drawn per pair; 0 takes hierarchical softmax instead, as the first DeepWalk did.
    workers : int
        Threads; more than one race each other, so a seed does not fix the result any more.
    seed : int
    """

    dimensions: int
    window: int
    negative: int
    workers: int
    seed: int

    def train(self, walks: Callable[[int], np.ndarray], n_nodes: int, n_passes: int, epochs: int) -> Any:
        """Learn a vector for every node that is on a walk; the others have zeros.

        Parameters
        ----------
        walks : callable
            Gives the walks of pass 0, 1, …, ``n_passes`` − 1, the same ones whenever it is asked.
        n_nodes, n_passes, epochs : int

        Returns
        -------
        float32 ndarray of shape (n_nodes, dimensions)
        """
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
            # every node counts, and hubs are as frequent as walks make them
            min_count=1,
            sample=0,
            workers=self.workers,
            seed=self.seed,
            hashfxn=_stable_hash,
        )


@dataclass(frozen=True)
class _Sentences:
    """Walks as the lists of words that gensim reads, made a few at a time."""

    walks: np.ndarray
    names: np.ndarray

    def __iter__(self) -> Iterator[list[str]]:
        for start in range(0, len(self.walks), 1024):
            yield from self.names[self.walks[start : start + 1024]].tolist()


def _stable_hash(text: str) -> int:
    """Hash alike in every process, which Python's own hash of text does not."""
    return crc32(text.encode())


def _word2vec() -> Any:
    try:
        return import_module("gensim.models").Word2Vec
    except ImportError as error:
        raise ImportError("embeddings of walks need gensim: pip install gssl[reproduction].") from error

"""Embedders that know the nodes of one graph, and no other."""

from hashlib import blake2b
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from gssl.methods.embedder import Embedder


class TransductiveEmbedder(ClassNamePrefixFeaturesOutMixin, Embedder):
    """A vector for every node of the graph of fit, learnt from its links alone.

    A subclass sets ``embedding_`` when it learns, and calls ``_remember``. Features serve only to build a
    graph where none is given.
    """

    _uses_features = False
    dimensions: int

    def _width(self, n_features: int) -> int:
        return self.dimensions

    def _remember(self, A: csr_array) -> None:
        """Keep what tells the graph of fit from all others."""
        self._fingerprint = fingerprint(A)

    def _filters(self, A: csr_array, dtype: Any) -> None:
        """Refuse every graph but that of fit, whose nodes are embedded already."""
        if fingerprint(A) != self._fingerprint:
            name = type(self).__name__
            raise ValueError(
                f"{name} embeds only the graph of its fit, for nodes are known from walks over it and no "
                f"walk came by any other: fit {name} again on the whole new graph."
            )

    def _apply(self, X: Any, filters: None) -> np.ndarray:
        return self.embedding_

    def transform(self, X: Any, *, adjacency: Any = None) -> np.ndarray:
        """Give the embeddings of the graph of fit again; any other graph is refused."""
        return super().transform(X, adjacency=adjacency).copy()

    @property
    def _n_features_out(self) -> int:
        return self.dimensions

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # vectors are float32, whatever the features are
        tags.transformer_tags.preserves_dtype = []
        return tags


def fingerprint(A: csr_array) -> int:
    """Give a number that tells one graph from another.

    Examples
    --------
    >>> fingerprint(csr_array([[0.0, 1.0], [1.0, 0.0]])) == fingerprint(csr_array([[0.0, 2.0], [2.0, 0.0]]))
    False
    """
    digest = blake2b(digest_size=7)
    for part in (A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data.astype(np.float64)):
        digest.update(part.tobytes())
    return int.from_bytes(digest.digest(), "big")

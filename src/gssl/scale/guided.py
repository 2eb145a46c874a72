"""OGC's embeddings in slabs: what they share is summed here, what each does is its crew's."""

from typing import Any, Protocol

import numpy as np

from gssl.methods.label_space import Pulls


class Crew(Protocol):
    """Whoever holds the slabs of U and moves them: a disk's worth of them, or a cluster of workers."""

    def start(self, W: np.ndarray) -> np.ndarray:
        """Make the slabs of X ready and give XW in double precision."""

    def gradient(self, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give U_Lᵀ R, and U_L of it in double precision."""

    def advance(self, W: np.ndarray, pull: np.ndarray) -> np.ndarray:
        """Move every slab and give UW in double precision."""

    def rows(self, nodes: np.ndarray) -> np.ndarray:
        """Give rows of U."""

    def resume(self, pulls: Pulls) -> None:
        """Bring every slab to where steps have led that were taken before."""


class SlabEmbedding:
    """U in slabs of columns: a :class:`gssl.methods.label_space.GuidedEmbedding` of any size.

    Parameters
    ----------
    crew : Crew
    dtype : float type
        Of the scores.
    """

    def __init__(self, crew: Crew, dtype: Any) -> None:
        self._crew = crew
        self._dtype = dtype
        self._pulled: tuple[np.ndarray, np.ndarray] | None = None

    def start(self, W: np.ndarray) -> np.ndarray:
        """Give the scores XW of all nodes before the first step."""
        return self._crew.start(W).astype(self._dtype)

    def pull_back(self, R: np.ndarray) -> np.ndarray:
        """Give U_Lᵀ R, and keep U_L of it, which the same rows give."""
        self._pulled = self._crew.gradient(R)
        return self._pulled[0]

    def push(self, G: np.ndarray) -> np.ndarray:
        """Give U_L G for the gradient that was pulled back last."""
        if self._pulled is None or self._pulled[0] is not G:
            raise ValueError("push takes what pull_back gave last: call pull_back before it.")
        return self._pulled[1].astype(self._dtype)

    def advance(self, W: np.ndarray, eta_w: float, pull: np.ndarray) -> np.ndarray:
        """Move U and give the scores UW of all nodes."""
        return self._crew.advance(W, pull).astype(self._dtype)

    def rows(self, nodes: np.ndarray) -> np.ndarray:
        """Give rows of U as it is now."""
        return self._crew.rows(nodes)

    def resume(self, pulls: Pulls, scores: np.ndarray) -> None:
        """Come to where steps have led that were taken before."""
        self._crew.resume(pulls)

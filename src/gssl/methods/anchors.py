"""The labels of OGC: nodes that train W, anchors that move U, and nodes that decide when to stop."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gssl.graph.validate import warn_user
from gssl.methods.inputs import select_labelled
from gssl.methods.labels import UNLABELLED, one_hot

# if every node has a label, this fraction of each class is held out for the stopping rule
_HELD_FRACTION = 0.1
# warn if a smaller fraction of the labels is reproduced, though there are no more labels than features
_LEARNT_FRACTION = 0.8


@dataclass(frozen=True)
class GuidingLabels:
    """The labels of one fit of OGC."""

    # the labelled nodes, on which W is trained, and a one-hot row for each
    nodes: np.ndarray
    Y: np.ndarray
    # the labelled nodes whose embeddings are moved, and their positions in ``nodes``
    anchors: np.ndarray
    anchored: np.ndarray
    # nodes whose predictions decide when to stop
    watched: np.ndarray

    @classmethod
    def choose(
        cls, codes: np.ndarray, n_classes: int, anchors: Any, rng: np.random.Generator, dtype: Any
    ) -> Self:
        """Choose anchors and watched nodes; see ``anchors`` of :meth:`gssl.OGC.fit`."""
        if anchors is None and not (codes == UNLABELLED).any():
            codes = _hold_out(codes, rng)
        chosen = choose_anchors(anchors, codes, rng)
        nodes, watched = np.flatnonzero(codes != UNLABELLED), np.flatnonzero(codes == UNLABELLED)
        if not len(watched):
            watched = np.setdiff1d(nodes, chosen) if 0 < len(chosen) < len(nodes) else nodes
        Y = one_hot(codes[nodes], n_classes, dtype)
        return cls(nodes, Y, chosen, np.searchsorted(nodes, chosen), watched)

    def warn_unless_learnt(self, Z: np.ndarray, n_features: int) -> None:
        """Warn if scores miss many of the labels that they were fitted to; W can fit one per feature."""
        m, right = len(self.Y), int((Z[self.nodes].argmax(axis=1) == self.Y.argmax(axis=1)).sum())
        counts = self.Y.sum(axis=0)
        few = m <= n_features and right < _LEARNT_FRACTION * m
        if np.count_nonzero(counts) > 1 and (right <= counts.max() or few):
            warn_user(
                f"OGC has learnt only {right} of its {m} labels: scale X to rows that sum to one "
                "(data.normalized()), give more labels, or use EmbeddingClassifier(GGCM()).",
                ConvergenceWarning,
            )


def choose_anchors(anchors: Any, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the indices of the labelled nodes that SEB moves ("less is more", Sect. 5.1)."""
    if anchors is None:
        return np.flatnonzero(codes != UNLABELLED)
    if not isinstance(anchors, float | np.floating):
        return select_labelled(anchors, codes, "anchors")
    if not 0.0 < anchors <= 1.0:
        raise ValueError(f"anchors as a fraction must lie in (0, 1], not {anchors}.")
    parts = []
    for code in range(codes.max() + 1):
        members = np.flatnonzero(codes == code)
        parts.append(rng.choice(members, size=max(1, round(anchors * len(members))), replace=False))
    return np.sort(np.concatenate(parts))


def _hold_out(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Hide the labels of a tenth of each class, rounded down."""
    held = codes.copy()
    for code in range(codes.max() + 1):
        members = np.flatnonzero(codes == code)
        held[rng.choice(members, size=int(_HELD_FRACTION * len(members)), replace=False)] = UNLABELLED
    return held

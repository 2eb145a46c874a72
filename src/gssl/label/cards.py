"""Facts about a node that do not depend on the model: its text, strongest features and neighbours."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from gssl.io import Problem

# maximum number of characters of a text, of features and of neighbours to show
TEXT, FEATURES, NEIGHBOURS = 4000, 12, 14


class NodeFacts:
    """The inputs of a problem, by node."""

    def __init__(self, problem: Problem, texts: np.ndarray | None = None) -> None:
        self.problem, self.texts = problem, texts
        X = problem.features
        self._scales = None if X is None or not X.shape[1] else _scales(X)

    def name(self, node: int) -> str:
        """Return the id of a node."""
        return str(self.problem.node_ids[node])

    def text(self, node: int, length: int = TEXT) -> str:
        """Return the beginning of a node's text; empty if there is none."""
        if self.texts is None or self.texts[node] is None:
            return ""
        text = str(self.texts[node])
        return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"

    def features(self, node: int) -> list[dict[str, Any]]:
        """Return the features in which the node differs most from others, the strongest first.

        Values are as in the file, or None if they cannot be recovered from scaled ones.
        """
        X: Any = self.problem.features
        if X is None or self._scales is None:
            return []
        if issparse(X):
            part = slice(X.indptr[node], X.indptr[node + 1])
            columns, values = X.indices[part], X.data[part]
            strength = np.abs(values) * self._scales[columns]
        else:
            values = np.asarray(X[node], dtype=np.float64)
            columns = np.arange(len(values))
            strength = np.abs(values - self._scales[0]) / self._scales[1]
        order = np.argsort(-strength, kind="stable")[:FEATURES]
        top = max(float(strength[order[0]]), 1e-12) if len(order) else 1.0
        return [
            {
                "name": self._feature_name(int(columns[k])),
                "value": self._original(int(columns[k]), float(values[k])),
                "strength": float(strength[k]) / top,
            }
            for k in order
            if strength[k] > 0
        ]

    def _original(self, column: int, value: float) -> float | None:
        """Return a value as in the file; None for categories, words and row-scaled columns."""
        prepared = self.problem.preparation
        if prepared is None:
            return value
        if column >= len(prepared.names) or prepared.kinds[column] != "number" or prepared.row_scaled[column]:
            return None
        return float(f"{value * prepared.scale[column] + prepared.shift[column]:.6g}")

    def _feature_name(self, column: int) -> str:
        names = self.problem.feature_names
        if not names:
            return f"feature {column}"
        # show words of the text without the name of its column
        return str(names[column]).split(":", 1)[-1] if self.texts is not None else str(names[column])

    def neighbours(self, node: int, labelled: Any) -> tuple[np.ndarray, int]:
        """Return some neighbours, labelled ones first, then by link weight, and the number of all."""
        A = self.problem.adjacency
        part = slice(A.indptr[node], A.indptr[node + 1])
        nodes = np.asarray(A.indices[part])
        first = np.array([int(other) not in labelled for other in nodes], dtype=bool)
        order = np.lexsort((nodes, -np.asarray(A.data[part]), first))[:NEIGHBOURS]
        return nodes[order], len(nodes)

    def search(self, query: str, limit: int = 20) -> list[int]:
        """Return nodes whose id or text contains the query: equal ids first, then prefixes, then the rest."""
        wanted = query.casefold().strip()
        if not wanted:
            return []
        ranked: list[tuple[int, int]] = []
        for node, name in enumerate(self.problem.node_ids):
            folded = str(name).casefold()
            if wanted in folded:
                ranked.append((0 if folded == wanted else 1 if folded.startswith(wanted) else 2, node))
        if len(ranked) < limit and self.texts is not None:
            seen = {node for _, node in ranked}
            for node, text in enumerate(self.texts):
                if text is not None and node not in seen and wanted in str(text).casefold():
                    ranked.append((3, node))
                    if len(ranked) >= limit:
                        break
        return [node for _, node in sorted(ranked)[:limit]]


def _scales(X: Any) -> np.ndarray:
    """Return inverse document frequencies of sparse features, or means and deviations of dense ones."""
    n = X.shape[0]
    if issparse(X):
        counts = np.bincount(X.indices, minlength=X.shape[1])
        return np.asarray(np.log((1.0 + n) / (1.0 + counts)))
    part = np.asarray(X[:: max(1, n // 5000)], dtype=np.float64)
    deviations = part.std(axis=0)
    return np.stack([part.mean(axis=0), np.where(deviations > 0, deviations, 1.0)])

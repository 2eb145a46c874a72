"""The order of the rows of features: their own, or that of the nodes of a graph on disk."""

from typing import Any

import numpy as np

from gssl.io.columns import listed
from gssl.io.edge_facts import counted
from gssl.io.graph_store import GraphStore


class Order:
    """The order of the rows: that of a graph on disk, or that in which the features name their nodes.

    Parameters
    ----------
    store : GraphStore, optional

    Examples
    --------
    >>> order = Order()
    >>> order.take(np.array(["b", "a"], dtype=object), "x.npy")
    >>> order.n_nodes, order.places(["b", "a"], "x.npy").tolist(), order.ids([1]).tolist()
    (2, [0, 1], ['a'])
    """

    def __init__(self, store: GraphStore | None = None) -> None:
        self.store = store
        self._ids: np.ndarray | None = None

    @property
    def is_known(self) -> bool:
        """Whether somebody has said which nodes there are."""
        return self.store is not None or self._ids is not None

    @property
    def n_nodes(self) -> int:
        """Rows."""
        return len(self.node_ids) if self.store is None else self.store.n_nodes

    @property
    def node_ids(self) -> np.ndarray:
        """All ids as text, in order."""
        if self.store is not None:
            return self.store.node_ids
        return np.empty(0, dtype=object) if self._ids is None else self._ids

    def take(self, ids: np.ndarray, name: str) -> None:
        """Take the ids of the features for the nodes, in their order."""
        if not len(ids):
            raise ValueError(f"{name} has no rows: give one for each node.")
        if len(set(ids)) < len(ids):
            seen: set[str] = set()
            twice = [node for node in ids if node in seen or seen.add(node)]  # type: ignore[func-returns-value]
            raise ValueError(f"{name} has more than one row for {listed(dict.fromkeys(twice))}; keep one.")
        self._ids = ids

    def ids(self, nodes: Any) -> np.ndarray:
        """Give the ids of some nodes."""
        return np.asarray(self.node_ids[nodes] if self.store is None else self.store.ids(nodes))

    def places(self, ids: Any, name: str) -> np.ndarray:
        """Give the place of every row of the features."""
        if self.store is None:
            return np.arange(self.n_nodes)
        return check_places(self.store.nodes(ids), name, self.store, lambda row: str(ids[row]))


def check_places(places: np.ndarray, name: str, store: GraphStore, row_name: Any) -> np.ndarray:
    """Refuse features of other nodes, of the same node twice, or of too few nodes."""
    strange = np.flatnonzero(places < 0)
    if len(strange):
        raise ValueError(
            f"{name} names {counted(len(strange), 'id')} that {store.directory} does not have: "
            f"{listed(row_name(row) for row in strange[:5])}; remove them, or build the store with them."
        )
    counts = np.bincount(places, minlength=store.n_nodes)
    if counts.max(initial=0) > 1:
        twice = store.ids(np.flatnonzero(counts > 1)[:5])
        raise ValueError(f"{name} has more than one row for {listed(twice)}; keep one.")
    missing = np.flatnonzero(counts == 0)
    if len(missing):
        raise ValueError(
            f"{name} has no features for {counted(len(missing), 'id')} of {store.directory}: "
            f"{listed(store.ids(missing[:5]))}; add them."
        )
    return places

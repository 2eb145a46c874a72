"""What all audits share: a table of known answers, the most doubtful first."""

from abc import abstractmethod
from html import escape
from typing import Any

import numpy as np

from gssl.frames import Tabular


class AuditTable(Tabular):
    """A table of known answers, the most doubtful first, with a summary in words."""

    nodes: np.ndarray
    node_ids: np.ndarray | None

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    @abstractmethod
    def summary(self) -> str:
        """What was found, in words."""

    @abstractmethod
    def columns(self, node_ids: Any = None) -> dict[str, list[Any]]:
        """Return a dict of columns; ids are node numbers if neither these nor the problem are known."""

    def _ids(self, node_ids: Any = None) -> list[str]:
        """Return the ids of the rows, as text."""
        node_ids = self.node_ids if node_ids is None else node_ids
        return [str(node if node_ids is None else node_ids[node]) for node in self.nodes]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a dict of columns, with nodes as ids."""
        return self.columns()

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.summary)}</p>{super()._repr_html_()}"

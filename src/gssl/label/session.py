"""A labelling session: labels, predictions, and the contents of the page, independent of HTTP."""

from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from time import monotonic
from typing import Any

import numpy as np

from gssl.evaluation.node_map import place_all
from gssl.io import Labels, Problem, write_columns
from gssl.io.label_tables import Answers
from gssl.label.cards import NodeFacts
from gssl.label.class_opinion import Careful, ClassOpinion
from gssl.label.interactive import filtered_directions
from gssl.label.journal import Journal
from gssl.label.label_kinds import KINDS
from gssl.label.labelling import Labelling
from gssl.label.number_opinion import NumberOpinion
from gssl.label.opinion import Opinion
from gssl.label.queue import Queue
from gssl.operators import small_algebra
from gssl.selection.suggestion import unit_rows
from gssl.wording import quoted

# maximum number of lines of a journal that are noted one by one
_NOTED = 5
_OPINIONS: dict[str, type[Opinion]] = {"classes": ClassOpinion, "numbers": NumberOpinion}


class StaleError(Exception):
    """An action refers to an outdated state."""


class Session:
    """Label the nodes of a problem; all nodes are predicted again after every label.

    Parameters
    ----------
    problem : Problem
        Its labels are the initial ones.
    journal : Journal, optional
        Actions are written to it before they take effect; existing ones are replayed.
    texts : object ndarray of shape (n,), optional
        A text or None for each node, shown to the user.
    layout : bool, default=True
        Whether to compute a map.
    answers : {"classes", "numbers"}, default="classes"
        What labels are.

    Attributes
    ----------
    labelling : Labelling
        The labels, classes and skipped nodes; its ``version`` counts the actions.
    opinion : Opinion
        What the models say.
    positions : float32 ndarray of shape (n, 2)
        The map.
    notes : list of str
    lock : RLock
        Held by ``act``, ``import_labels``, ``suggest``, ``offer`` and ``write``; hold it for all else
        beside them in another thread.

    Examples
    --------
    >>> import gssl
    >>> from gssl.io import Problem
    >>> data = gssl.datasets.load("karate")
    >>> problem = Problem(data.node_ids.astype(object), data.adjacency, None, np.full(34, None, dtype=object))
    >>> session = Session(problem, layout=False)
    >>> for node, label in [(0, "Hi"), (33, "Officer"), (1, "Hi"), (32, "Officer")]:
    ...     session.act({"do": "label", "nodes": [node], "label": label}, session.version)
    >>> session.state()["labelled"], session.prediction(31)
    (4, 'Officer')
    """

    def __init__(
        self,
        problem: Problem,
        journal: Journal | None = None,
        texts: np.ndarray | None = None,
        layout: bool = True,
        answers: Answers = "classes",
    ) -> None:
        if answers not in KINDS:
            raise ValueError(f"answers must be one of {', '.join(KINDS)}, not {answers!r}.")
        self.problem, self.journal, self.answers = problem, journal, answers
        self.lock = RLock()
        self.facts = NodeFacts(problem, texts)
        self.labelling = Labelling(problem.node_ids, problem.y, KINDS[answers]())
        with small_algebra():
            views = filtered_directions(problem.features, problem.adjacency)
        self.opinion = _OPINIONS[answers](problem, self.facts, self.labelling, views)
        self._queues = [Queue(unit_rows(view)) for view in views]
        positions = place_all(self._queues[0].rows) if layout else np.zeros((self.n_nodes, 2))
        self.positions = positions.astype(np.float32)
        self.notes: list[str] = []
        if journal is not None:
            self._replay(journal)
        if self.labelling.unknown:
            self.notes.append(
                f"the journal names {self.labelling.unknown:,} nodes that are not in the graph; they are "
                "left out."
            )
        self.refits, self.touched = 0, monotonic()
        self._passed: set[int] = set()
        self.opinion.replay()
        self.opinion.update()

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.problem.node_ids)

    @property
    def version(self) -> int:
        """The number of actions so far."""
        return self.labelling.version

    def act(self, action: dict[str, Any], version: int) -> None:
        """Check an action whole, write it to the journal, apply it, and predict all nodes again.

        Nodes are indices here and ids in the journal. Raises ``StaleError`` if ``version`` is not the
        current one, and ValueError for an invalid action.
        """
        with self.lock:
            if version != self.version:
                raise StaleError(
                    f"the page shows version {version}, but the labels are at version {self.version}."
                )
            checked = self.labelling.check(self._by_id(action))
            if checked["do"] == "undo" and not self.labelling.undoable:
                return
            if self.journal is not None:
                self.journal.append({**checked, "at": datetime.now(UTC).isoformat(timespec="seconds")})
            self.labelling.apply(checked)
            self._passed.clear()
            self.touched = monotonic()
            if checked["do"] != "skip":
                self.opinion.update()

    def import_labels(self, labels: Labels, version: int) -> str:
        """Import the labels of a table; return a message with their number."""
        labels = labels if self.problem.kinds is None else self.problem.kinds.resolve(labels)
        pairs = [
            [str(i), self.labelling.kind.parse(label)]
            for i, label in zip(labels.ids, labels.labels, strict=True)
            if label is not None
        ]
        known = [pair for pair in pairs if pair[0] in self.labelling.indices]
        if not known:
            raise ValueError("none of the labels belongs to a node of this graph: check the ids.")
        self.act({"do": "import", "labels": known}, version)
        left = len(pairs) - len(known)
        return f"{len(known):,} labels imported" + (f"; {left:,} of unknown nodes left out." if left else ".")

    def _by_id(self, action: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of an action that the page may set, with ids in place of indices."""
        given: dict[str, Any] = {name: action[name] for name in ("do", "label", "labels") if name in action}
        if "label" in given:
            given["label"] = self.labelling.kind.parse(given["label"])
        if action.get("do") in ("label", "skip"):
            given["nodes"] = [self.facts.name(node) for node in self.check_nodes(action.get("nodes"))]
        return given

    def _replay(self, journal: Journal) -> None:
        """Apply the actions of a journal; lines that are not actions are noted and left out."""
        left_out = dict.fromkeys(journal.damaged, "it is damaged.")
        for line, action in zip(journal.lines, journal.actions, strict=True):
            try:
                self.labelling.apply(self.labelling.check(action))
            except ValueError as error:
                left_out[line] = str(error)
        for line in sorted(left_out)[:_NOTED]:
            self.notes.append(f"{journal.path}, line {line:,}, is left out: {left_out[line]}")
        if len(left_out) > _NOTED:
            self.notes.append(f"{len(left_out) - _NOTED:,} more lines of {journal.path} are left out.")

    def check_nodes(self, nodes: Any) -> list[int]:
        """Return node indices without duplicates; raise if they are invalid."""
        if not isinstance(nodes, list) or not nodes:
            raise ValueError("the nodes of an action must be a list of at least one index.")
        for node in nodes:
            if isinstance(node, bool) or not isinstance(node, int) or not 0 <= node < self.n_nodes:
                raise ValueError(f"there is no node {quoted(node)}: give an index below {self.n_nodes:,}.")
        return list(dict.fromkeys(nodes))

    def offer(self, labels: dict[int, int], careful: Careful, name: str) -> None:
        """Accept the results of a careful model that was fitted to some earlier labels."""
        assert isinstance(self.opinion, ClassOpinion)
        refit = self.opinion.compare(labels, careful, name)
        with self.lock:
            self.opinion.accept(refit)
            self.refits += 1

    def prediction(self, node: int) -> Any:
        """Return the label or the prediction of a node; None if there is no prediction yet."""
        return self.opinion.prediction(node)

    def suggest(self) -> tuple[int, int] | None:
        """Return the node to label next and how many nodes it covers; None if all are labelled or skipped."""
        with self.lock:
            labelled = np.array(sorted(self.labelling.codes), dtype=np.int64)
            done = self.labelling.codes.keys() | self.labelling.skipped
            if len(done) == self.n_nodes:
                return None
            if len(done | self._passed) == self.n_nodes:
                self._passed.clear()  # all have been passed over: start again
            closed = np.zeros(self.n_nodes, dtype=bool)
            closed[list(done | self._passed)] = True
            if self.opinion.guessing:
                # its uncertainty is noise, and nodes chosen by it are not representative
                return int(np.random.default_rng(len(labelled)).choice(np.flatnonzero(~closed))), 0
            with small_algebra():
                return self._queues[self.opinion.view].next(self.opinion.doubt, closed, labelled)

    def pass_over(self, node: int) -> None:
        """Do not suggest a node again until the next action."""
        self._passed.add(node)

    def state(self) -> dict[str, Any]:
        """Return what the page shows apart from the node: counts, accuracy, doubtful labels."""
        labelling = self.labelling
        return {
            "answers": self.answers,
            "version": self.version,
            "refits": self.refits,
            "nodes": self.n_nodes,
            "labelled": len(labelling.codes),
            "skipped": len(labelling.skipped),
            "undo": labelling.undoable,
            **self.opinion.state(),
        }

    def card(self, node: int, speaks_for: int | None = None) -> dict[str, Any]:
        """Return everything that the page shows about a node."""
        neighbours, degree = self.facts.neighbours(node, self.labelling.codes)
        return {
            "index": node,
            "id": self.facts.name(node),
            "label": self.labelling.label(node),
            "code": int(self.opinion.guesses[node]),
            "skipped": node in self.labelling.skipped,
            "text": self.facts.text(node),
            "features": self.facts.features(node),
            "degree": degree,
            "neighbours": [self.mention(int(other)) for other in neighbours],
            "speaks_for": speaks_for,
            **self.opinion.card(node),
        }

    def mention(self, node: int) -> dict[str, Any]:
        """Return a short entry for a node: its id, label or guess, and the beginning of its text."""
        label = self.labelling.label(node)
        return {
            "index": node,
            "id": self.facts.name(node),
            "label": label,
            "guess": self.opinion.prediction(node),
            "code": int(self.opinion.guesses[node]),
            "confidence": int(self.opinion.confidences[node]) / 254 if label is None else 1.0,
            "text": self.facts.text(node, 90),
        }

    def labels(self) -> dict[str, list[Any]]:
        """Return all labels as columns of a table that ``--labels`` reads."""
        nodes = sorted(self.labelling.codes)
        names = [self.facts.name(node) for node in nodes]
        return {"id": names, self.labelling.kind.column: [self.labelling.label(node) for node in nodes]}

    def write(self, path: Path) -> list[str]:
        """Write all labels to a table in the format of the suffix; return notes on changes made."""
        with self.lock:
            ids, labels = self.labels().values()
        kind = self.labelling.kind
        columns = {"id": np.array(ids, dtype=object), kind.column: kind.tabulate(labels)}
        return write_columns(path, columns, decimals=None)

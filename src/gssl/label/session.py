"""A labelling session: labels, predictions, and the contents of the page, independent of HTTP."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from time import monotonic
from typing import Any

import numpy as np

from gssl.evaluation.node_map import place_all
from gssl.io import Labels, Problem, write_columns
from gssl.label.cards import NodeFacts
from gssl.label.interactive import Answer, InteractiveModel, estimate_accuracy, filtered_directions, top_two
from gssl.label.journal import Journal
from gssl.label.labelling import Labelling
from gssl.label.queue import Queue
from gssl.operators import small_algebra
from gssl.selection import Audit, LearningCurve
from gssl.selection.audit import rank_labels
from gssl.selection.picture import Mark, draw_neighbourhood
from gssl.selection.suggestion import unit_rows
from gssl.selection.why import strongest_voices
from gssl.wording import quoted

# for classes with fewer labels, the page shows how many more are needed
FEW = 5
# maximum number of labels in an explanation (for and against), of doubtful labels, and of curve points
_WHY, _DOUBTS, _CURVE = 4, 12, 120
# points of the learning curve that are computed when a journal is replayed
_REPLAYED = 20
# minimum number of labels to detect a model that only guesses
_ENOUGH = 20
# below this skill, suggested nodes were found to be no better than random ones
_WEAK = 0.25
# maximum number of lines of a journal that are noted one by one
_NOTED = 5
# maximum number of recently used classes that have keys on the page
_RECENT = 9
# codes for the page: the guess of a node without one, and the confidence of a labelled node
NO_GUESS, IS_LABELLED = 65_535, 255
# minimum number of labels to estimate the accuracy
_LEAST = 8
# added to probabilities of the fast model before their ratio is taken: small ones are noise
_FLOOR = 0.01


class StaleError(Exception):
    """An action refers to an outdated state."""


@dataclass(frozen=True, eq=False)
class Careful:
    """The careful model's distributions for all nodes, and for each label while it was hidden.

    ``audit`` ranks doubtful labels, and ``curve`` is the learning curve.
    """

    P: np.ndarray
    hidden: np.ndarray
    audit: Audit | None = None
    curve: LearningCurve | None = None


@dataclass(frozen=True, eq=False)
class Refit:
    """The results of the careful and the fast model for the same labels, and these labels."""

    labels: dict[int, int]
    present: tuple[int, ...]
    careful: Careful
    fast: np.ndarray
    accuracy: tuple[float, float] | None
    name: str


class Session:
    """Label the nodes of a problem; all nodes are classified again after every label.

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

    Attributes
    ----------
    labelling : Labelling
        The labels, classes and skipped nodes; its ``version`` counts the actions.
    positions : float32 ndarray of shape (n, 2)
        The map.
    notes : list of str

    Examples
    --------
    >>> import gssl
    >>> from gssl.io import Problem
    >>> data = gssl.datasets.load("karate")
    >>> problem = Problem(data.node_ids.astype(object), data.adjacency, None, np.full(34, None, dtype=object))
    >>> session = Session(problem, layout=False)
    >>> for node, label in [(0, "Hi"), (33, "Officer"), (1, "Hi"), (32, "Officer")]:
    ...     session.act({"do": "label", "nodes": [node], "label": label}, session.version)
    >>> session.state()["labelled"], session.predicted_class(31)
    (4, 'Officer')
    """

    def __init__(
        self,
        problem: Problem,
        journal: Journal | None = None,
        texts: np.ndarray | None = None,
        layout: bool = True,
    ) -> None:
        self.problem, self.journal = problem, journal
        self.lock = RLock()
        self.facts = NodeFacts(problem, texts)
        self.labelling = Labelling(problem.node_ids, problem.y)
        with small_algebra():
            views = filtered_directions(problem.features, problem.adjacency)
        self._model, self._queues = InteractiveModel(views), [Queue(unit_rows(view)) for view in views]
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
        self._refit: Refit | None = None
        self._passed: set[int] = set()
        self._curve: dict[int, tuple[float, float]] = {}
        self._replay_curve()
        self._answer()

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.problem.node_ids)

    @property
    def version(self) -> int:
        """The number of actions so far."""
        return self.labelling.version

    def act(self, action: dict[str, Any], version: int) -> None:
        """Check an action whole, write it to the journal, apply it, and classify all nodes again.

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
                self._answer()

    def import_labels(self, labels: Labels, version: int) -> str:
        """Import the labels of a table; return a message with their number."""
        labels = labels if self.problem.kinds is None else self.problem.kinds.resolve(labels)
        pairs = [
            [str(i), str(label)]
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

    def _fit(self, labels: dict[int, int]) -> tuple[Answer | None, tuple[int, ...]]:
        """Fit the fast model; return its answer, or None with fewer than two classes, and the classes."""
        nodes = np.array(sorted(labels), dtype=np.int64)
        present, codes = np.unique([labels[node] for node in nodes.tolist()], return_inverse=True)
        classes = tuple(present.astype(int).tolist())
        if len(classes) < 2:
            return None, classes
        with small_algebra():
            return self._model.fit(nodes, codes, len(classes)), classes

    def _answer(self) -> None:
        """Classify all nodes from the current labels."""
        self.answer, self._present = self._fit(self.labelling.codes)
        self._note_accuracy(self.answer)
        self._combine()

    def _note_accuracy(self, answer: Answer | None) -> None:
        if answer is not None and answer.judged:
            accuracy = _estimate(answer, answer.hidden, answer.distributions)
            if accuracy is not None:
                self._curve[len(answer.labelled)] = accuracy

    def _replay_curve(self) -> None:
        """Estimate the accuracy for growing numbers of labels, so that a resumed session has its curve."""
        codes = dict(self.labelling.codes)
        given = [node for node in codes if node in self.labelling.given]
        rest = [node for node in codes if node not in self.labelling.given]
        order = np.array([*np.random.default_rng(0).permutation(np.array(given, dtype=np.int64)), *rest], int)
        sizes = np.unique(np.geomspace(_LEAST, max(_LEAST, len(order) - 1), _REPLAYED).astype(int))
        for size in sizes[sizes < len(order)].tolist():
            self._note_accuracy(self._fit({node: codes[node] for node in order[:size].tolist()})[0])

    def offer(self, labels: dict[int, int], careful: Careful, name: str) -> None:
        """Accept the results of a careful model that was fitted to some earlier labels.

        Until the next refit, the fast model accounts for later changes:
        P ∝ P_careful · (P_fast now + ε) / (P_fast then + ε).
        """
        fast, classes = self._fit(labels)
        assert fast is not None
        P = careful.P.astype(np.float32, order="F")
        accuracy = _estimate(fast, careful.hidden, P)
        with self.lock:
            careful = replace(careful, P=P)
            self._refit = Refit(labels, classes, careful, fast.distributions, accuracy, name)
            self.refits += 1
            self._combine()

    def _combine(self) -> None:
        """Combine both models, and encode guesses for the page."""
        answer, refit = self.answer, self._refit
        n = self.n_nodes
        self._speaks = "none" if answer is None else "fast"
        self.P = np.zeros((n, 0), dtype=np.float32) if answer is None else answer.distributions
        if answer is not None and refit is not None and refit.present == self._present:
            if refit.labels == self.labelling.codes:
                self._speaks, self.P = "careful", refit.careful.P
            else:
                self._speaks = "both"
                P = refit.careful.P * ((answer.distributions + _FLOOR) / (refit.fast + _FLOOR))
                self.P = P / P.sum(axis=1, keepdims=True)
        self.guesses = np.full(n, NO_GUESS, dtype=np.uint16)
        self.confidences = np.zeros(n, dtype=np.uint8)
        self.doubt = np.ones(n, dtype=np.float32)
        if answer is not None:
            best, top, second = top_two(self.P)
            self.doubt = 1.0 - (top - second)
            self.guesses = np.array(self._present, dtype=np.uint16)[best]
            self.confidences = np.clip(254.0 * top, 0, 254).astype(np.uint8)
        self._counts = np.bincount(
            self.guesses[self.guesses != NO_GUESS], minlength=len(self.labelling.classes)
        )
        for node, code in self.labelling.codes.items():
            self.guesses[node], self.confidences[node] = code, IS_LABELLED

    def predicted_class(self, node: int) -> str | None:
        """Return the label or predicted class of a node; None if there is no prediction yet."""
        code = int(self.guesses[node])
        return None if code == NO_GUESS else self.labelling.classes[code]

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
            if self.guessing:
                # its uncertainty is noise, and nodes chosen by it are not representative
                return int(np.random.default_rng(len(labelled)).choice(np.flatnonzero(~closed))), 0
            with small_algebra():
                return self._queue.next(self.doubt, closed, labelled)

    @property
    def _queue(self) -> Queue:
        """The queue of the view that predicts hidden labels best; the first one while labels are few."""
        answer = self.answer
        if answer is None or len(answer.codes) < _ENOUGH:
            return self._queues[0]
        return self._queues[next(k for k, view in enumerate(self._model.views) if view is answer.rows)]

    @property
    def guessing(self) -> bool:
        """Whether hidden labels are predicted no better than by always choosing the largest class."""
        return self._skill <= 0.0

    @property
    def _skill(self) -> float:
        """Rescaled accuracy: 0 is always choosing the largest class, 1 is no errors or too few labels."""
        answer = self.answer
        if answer is None or not answer.judged or len(answer.codes) < _ENOUGH:
            return 1.0
        largest = int(np.bincount(answer.codes).max())
        return float(answer.hits.sum() - largest) / max(len(answer.codes) - largest, 1)

    def pass_over(self, node: int) -> None:
        """Do not suggest a node again until the next action."""
        self._passed.add(node)

    def state(self) -> dict[str, Any]:
        """Return what the page shows apart from the node: counts, accuracy, doubtful labels."""
        labelling = self.labelling
        counts = np.bincount(list(labelling.codes.values()), minlength=len(labelling.classes))
        curve = sorted(self._curve.items())
        curve = [point for point in curve if point[0] <= len(labelling.codes)]
        step = max(1, -(-len(curve) // _CURVE))
        return {
            "version": self.version,
            "refits": self.refits,
            "nodes": self.n_nodes,
            "labelled": len(labelling.codes),
            "skipped": len(labelling.skipped),
            "classes": [
                {"name": name, "labels": int(counts[code]), "predicted": int(self._counts[code])}
                for code, name in enumerate(labelling.classes)
            ],
            "recent": labelling.recent(_RECENT),
            "few": FEW,
            "speaks": self._speaks,
            "accuracy": self._accuracy(),
            "guessing": self.guessing,
            "weak": self._skill < _WEAK,
            "refit": self._refit_state(),
            "curve": [[m, share, error] for m, (share, error) in curve[::-1][::step][::-1]],
            "doubts": self.doubts(),
            "wrong": self._expected_wrong(),
            "outlook": self._outlook(),
            "undo": labelling.undoable,
        }

    def _accuracy(self) -> dict[str, float] | None:
        m = len(self.labelling.codes)
        if self.answer is None or m not in self._curve:
            return None
        share, error = self._curve[m]
        return {"share": share, "error": error}

    def _refit_state(self) -> dict[str, Any] | None:
        refit = self._refit
        if refit is None:
            return None
        state: dict[str, Any] = {"name": refit.name, "labels": len(refit.labels)}
        if refit.accuracy is not None:
            state["share"], state["error"] = refit.accuracy
        return state

    def _outlook(self) -> str:
        """Describe how many more labels reach the next target accuracy."""
        refit = self._refit
        if refit is None or refit.careful.curve is None or refit.accuracy is None:
            return ""
        # use the accuracy that corrects for suggested nodes being harder than most
        curve = refit.careful.curve.moved_to(refit.accuracy[0])
        return curve.text(curve.next_target)

    def _expected_wrong(self) -> str:
        """Describe how many labels are wrong, if all of them have been audited."""
        refit = self._refit
        if refit is None or refit.careful.audit is None or refit.labels != self.labelling.codes:
            return ""
        return refit.careful.audit.summary

    def doubts(self) -> list[dict[str, Any]]:
        """Return the most doubtful labels, each judged by a model without it.

        AutoClassifier judges the labels that it was fitted to, the fast model judges the others.
        """
        doubts: list[tuple[float, int, int, float]] = []
        refit, audit = self._refit, None if self._refit is None else self._refit.careful.audit
        known: set[int] = set()
        codes = self.labelling.codes
        if refit is not None and audit is not None:
            known = {node for node, code in refit.labels.items() if codes.get(node) == code}
            columns = audit.nodes, audit.given, audit.says, audit.p_wrong, audit.probability
            for node, given, says, wrong, share in zip(*(c.tolist() for c in columns), strict=True):
                if node in known and says != given:
                    doubts.append((wrong, node, says, share))
        answer = self.answer
        if answer is not None and answer.judged and len(known) < len(codes):
            doubts += [each for each in self._fast_doubts(answer) if each[1] not in known]
        return [
            {
                "index": node,
                "id": self.facts.name(node),
                "label": self.labelling.classes[codes[node]],
                "says": self.labelling.classes[says],
                "share": share,
                "wrong": wrong,
            }
            for wrong, node, says, share in sorted(doubts, reverse=True)[:_DOUBTS]
        ]

    def _fast_doubts(self, answer: Answer) -> list[tuple[float, int, int, float]]:
        """Judge labels by the fast model, except those of classes with a single label."""
        judged = np.flatnonzero(np.bincount(answer.codes)[answer.codes] > 1)
        P, codes = answer.hidden[judged], answer.codes[judged]
        order, wrong = rank_labels(P, codes)
        says = P.argmax(axis=1)
        return [
            (float(wrong[k]), int(answer.labelled[judged[k]]), self._present[says[k]], float(P[k, says[k]]))
            for k in order
            if says[k] != codes[k]
        ]

    def _name(self, compact: int) -> str:
        return self.labelling.classes[self._present[compact]]

    def card(self, node: int, speaks_for: int | None = None) -> dict[str, Any]:
        """Return everything that the page shows about a node."""
        neighbours, degree = self.facts.neighbours(node, self.labelling.codes)
        return {
            "index": node,
            "id": self.facts.name(node),
            "label": self.labelling.label(node),
            "skipped": node in self.labelling.skipped,
            "text": self.facts.text(node),
            "features": self.facts.features(node),
            "degree": degree,
            "neighbours": [self.mention(int(other)) for other in neighbours],
            "speaks_for": speaks_for,
            **self._opinion(node),
        }

    def mention(self, node: int) -> dict[str, Any]:
        """Return a short entry for a node: its id, label or guess, and the beginning of its text."""
        label = self.labelling.label(node)
        return {
            "index": node,
            "id": self.facts.name(node),
            "label": label,
            "guess": self.predicted_class(node),
            "confidence": int(self.confidences[node]) / 254 if label is None else 1.0,
            "text": self.facts.text(node, 90),
        }

    def _opinion(self, node: int) -> dict[str, Any]:
        """Return the distribution of a node, and the strongest labels for and against it with a picture.

        For a labelled node, the fast model predicts without its label. Shares are the fast model's
        contributions of labels to the lead of the first class over the second.
        """
        answer = self.answer
        if answer is None:
            return {"thinks": [], "why": [], "picture": ""}
        position = int(np.searchsorted(answer.labelled, node))
        own = position < len(answer.labelled) and answer.labelled[position] == node
        p = answer.hidden[position] if own and answer.judged else self.P[node]
        order = np.argsort(-p, kind="stable")
        best, second = (int(code) for code in order[:2])
        shares = answer.shares(node) * (1.0 * (answer.codes == best) - (answer.codes == second))
        if own:
            shares[position] = 0.0
        voices = strongest_voices(self.problem.adjacency, node, answer.labelled, answer.codes, shares, _WHY)
        names = self._name(best), self._name(second)
        return {
            "thinks": [{"name": self._name(int(k)), "share": float(p[k])} for k in order[:9]],
            "why": [{"index": voice.node, "share": voice.share} for voice in voices],
            "picture": draw_neighbourhood(node, *names, voices, self._mark),
        }

    def _mark(self, node: int) -> Mark:
        code = int(self.guesses[node])
        return Mark(self.facts.name(node), self.labelling.classes[code], code, node in self.labelling.codes)

    def labels(self) -> dict[str, list[str]]:
        """Return all labels as columns of a table that ``gssl classify --labels`` reads."""
        codes, classes = self.labelling.codes, self.labelling.classes
        return {
            "id": [self.facts.name(node) for node in sorted(codes)],
            "label": [classes[codes[node]] for node in sorted(codes)],
        }

    def write(self, path: Path) -> list[str]:
        """Write all labels to a table in the format of the suffix; return notes on changes made."""
        with self.lock:
            columns = self.labels()
        objects = {name: np.array(values, dtype=object) for name, values in columns.items()}
        return write_columns(path, objects)


def _estimate(answer: Answer, hidden: np.ndarray, P: np.ndarray) -> tuple[float, float] | None:
    """Estimate the accuracy of P from predictions for hidden labels; None if there are too few."""
    if len(answer.codes) < _LEAST:
        return None
    hits = hidden.argmax(axis=1) == answer.codes
    return estimate_accuracy(hidden.max(axis=1), hits, np.delete(P.max(axis=1), answer.labelled))

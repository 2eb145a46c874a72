"""What models say about the classes of nodes: the fast model, moved to AutoClassifier when there is one."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gssl.label.interactive import Answer, InteractiveModel, estimate_accuracy, top_two
from gssl.label.opinion import DOUBTS, ENOUGH, IS_LABELLED, LEAST, NO_GUESS, WHY, Opinion
from gssl.operators import small_algebra
from gssl.selection import Audit, LearningCurve
from gssl.selection.audit import rank_labels
from gssl.selection.picture import Mark, draw_neighbourhood
from gssl.selection.why import strongest_voices

# for classes with fewer labels, the page shows how many more are needed
FEW = 5
# maximum number of recently used classes that have keys on the page
_RECENT = 9
# added to probabilities of the fast model before their ratio is taken: small ones are noise
_FLOOR = 0.01


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


class ClassOpinion(Opinion):
    """Distributions ``P`` of the classes of all nodes."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._model = InteractiveModel(self.views)
        self._refit: Refit | None = None
        self.P = np.zeros((len(self.guesses), 0), dtype=np.float32)

    def fit(self, labels: dict[int, int]) -> Answer | None:
        nodes = np.array(sorted(labels), dtype=np.int64)
        present, codes = np.unique([labels[node] for node in nodes.tolist()], return_inverse=True)
        if len(present) < 2:
            return None
        with small_algebra():
            return self._model.fit(nodes, codes, len(present))

    def estimate(self, answer: Answer) -> tuple[float, float] | None:
        return _estimate(answer, answer.hidden, answer.distributions) if answer.judged else None

    def compare(self, labels: dict[int, int], careful: Careful, name: str) -> Refit:
        """Judge a careful model that was fitted to some earlier labels, beside the fast one."""
        fast = self.fit(labels)
        assert fast is not None
        P = careful.P.astype(np.float32, order="F")
        accuracy = _estimate(fast, careful.hidden, P)
        return Refit(labels, _present(labels), replace(careful, P=P), fast.distributions, accuracy, name)

    def accept(self, refit: Refit) -> None:
        """Take the results of a careful model.

        Until the next refit, the fast model accounts for later changes:
        P ∝ P_careful · (P_fast now + ε) / (P_fast then + ε).
        """
        self._refit = refit
        self.combine()

    def combine(self) -> None:
        """Combine both models, and encode guesses for the page."""
        answer, refit = self.answer, self._refit
        self.forget()
        self._present = _present(self.labelling.codes)
        self._speaks = "none" if answer is None else "fast"
        self.P = np.zeros((len(self.guesses), 0), np.float32) if answer is None else answer.distributions
        if answer is not None and refit is not None and refit.present == self._present:
            if refit.labels == self.labelling.codes:
                self._speaks, self.P = "careful", refit.careful.P
            else:
                self._speaks = "both"
                P = refit.careful.P * ((answer.distributions + _FLOOR) / (refit.fast + _FLOOR))
                self.P = P / P.sum(axis=1, keepdims=True)
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

    def prediction(self, node: int) -> str | None:
        code = int(self.guesses[node])
        return None if code == NO_GUESS else self.labelling.classes[code]

    @property
    def skill(self) -> float:
        """Rescaled accuracy: 0 is always choosing the largest class, 1 is no errors or too few labels."""
        answer = self.answer
        if answer is None or not answer.judged or len(answer.codes) < ENOUGH:
            return 1.0
        largest = int(np.bincount(answer.codes).max())
        return float(answer.hits.sum() - largest) / max(len(answer.codes) - largest, 1)

    def state(self) -> dict[str, Any]:
        labelling = self.labelling
        counts = np.bincount(list(labelling.codes.values()), minlength=len(labelling.classes))
        return super().state() | {
            "classes": [
                {"name": name, "labels": int(counts[code]), "predicted": int(self._counts[code])}
                for code, name in enumerate(labelling.classes)
            ],
            "recent": labelling.recent(_RECENT),
            "few": FEW,
            "speaks": self._speaks,
            "refit": self._refit_state(),
            "wrong": self._expected_wrong(),
            "outlook": self._outlook(),
        }

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
            for wrong, node, says, share in sorted(doubts, reverse=True)[:DOUBTS]
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

    def card(self, node: int) -> dict[str, Any]:
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
        voices = strongest_voices(self.problem.adjacency, node, answer.labelled, answer.codes, shares, WHY)
        names = self._name(best), self._name(second)
        return {
            "thinks": [{"name": self._name(int(k)), "share": float(p[k])} for k in order[:9]],
            "why": [{"index": voice.node, "share": voice.share} for voice in voices],
            "picture": draw_neighbourhood(node, *names, voices, self._mark),
        }

    def _mark(self, node: int) -> Mark:
        code = int(self.guesses[node])
        return Mark(self.facts.name(node), self.labelling.classes[code], code, node in self.labelling.codes)


def _present(labels: dict[int, int]) -> tuple[int, ...]:
    """Return the classes that have labels."""
    return tuple(sorted(set(labels.values())))


def _estimate(answer: Answer, hidden: np.ndarray, P: np.ndarray) -> tuple[float, float] | None:
    """Estimate the accuracy of P from predictions for hidden labels; None if there are too few."""
    if len(answer.codes) < LEAST:
        return None
    hits = hidden.argmax(axis=1) == answer.codes
    return estimate_accuracy(hidden.max(axis=1), hits, np.delete(P.max(axis=1), answer.labelled))

"""Trials of filters with their heads: scores, the near-best, the leaderboard and its explanation."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from scipy.special import softmax

from gssl.evaluation.graph_gain import compare_hits
from gssl.evaluation.holdout import fold_numbers
from gssl.methods.labels import nearest_distribution
from gssl.selection.candidates import Filter
from gssl.selection.leave_one_out import Spectrum, keep_class_mass

# ridges count a penalty in units of a row's square, logistic heads in units of the mean over all rows
PENALTIES = 10.0 ** np.arange(-2.0, 1.1, 0.5)
# the first of them is tried first
LOGISTIC_PENALTIES = np.array([1e-3, 1e-4, 1e-2])
# what is averaged: at most so many, within so many standard errors of the best
AVERAGED = 30
NEAR = 1.0
# where labels, and features of the widest filter, are half as many again, so many teach what is compared
TAUGHT = 1000

Head = Literal["ridge", "logistic"]


@dataclass(frozen=True, eq=False)
class Labels:
    """One-hot labels of the labelled nodes, and how much each counts."""

    Y: np.ndarray
    weights: np.ndarray

    def part(self, rows: np.ndarray) -> "Labels":
        """Keep some of them."""
        return Labels(self.Y[rows], self.weights[rows])


@dataclass(frozen=True, eq=False)
class Trial:
    """One filter, one head, all penalties: what it says about each label without having seen it."""

    filter: Filter
    predicted: np.ndarray
    scores: np.ndarray
    errors: np.ndarray
    seconds: float
    penalties: np.ndarray
    head: Head = "ridge"
    gram: np.ndarray | None = None
    spectrum: Spectrum | None = None

    @property
    def name(self) -> str:
        """The model, its metric and its head, where they are not the usual ones."""
        head = ", logistic" if self.head == "logistic" else ""
        return self.filter.model + (", clustered" if self.gram is not None else "") + head

    @property
    def best(self) -> int:
        """The penalty with the best score; ties go to the smaller squared error."""
        return int(np.lexsort((self.errors, -self.scores))[0])

    @property
    def rank(self) -> tuple[float, float]:
        """What trials are ordered by: first the smallest."""
        return -float(self.scores[self.best]), float(self.errors[self.best])


Chosen: TypeAlias = Sequence[tuple[Trial, int]]


def compared(predicted: np.ndarray, head: Head, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which predictions are right, and their squared errors."""
    Z = softmax(predicted, axis=-1) if head == "logistic" else keep_class_mass(predicted, Y)
    return Z.argmax(axis=-1) == Y.argmax(axis=-1), np.square(Z - Y).sum(axis=-1)


def average_distributions(parts: Sequence[tuple[Head, np.ndarray]]) -> np.ndarray:
    """Average what models say: scores among ridges, logarithms among logistic heads, then distributions."""
    total = np.zeros(parts[0][1].shape)
    for head in ("ridge", "logistic"):
        said = [Z for kind, Z in parts if kind == head]
        if said:
            Z = np.mean(said, axis=0)
            P = nearest_distribution(Z) if head == "ridge" else softmax(Z, axis=1)
            total += len(said) / len(parts) * P
    return total


def best_of_models(trials: Sequence[Trial]) -> list[Trial]:
    """Return the best trial of each model, best first: settings of one model say much the same."""
    best: dict[str, Trial] = {}
    for trial in sorted(trials, key=lambda trial: trial.rank):
        best.setdefault(trial.filter.model, trial)
    return list(best.values())


def near_best(trials: Sequence[Trial], labels: Labels) -> Chosen:
    """Choose the trials and penalties whose score is within one standard error of the best.

    Betting on the one that happens to be best would be steered by a handful of labels; the average of all
    that are about as good is steadier.
    """
    scores = np.concatenate([trial.scores for trial in trials])
    errors = np.concatenate([trial.errors for trial in trials])
    pairs = [(trial, k) for trial in trials for k in range(len(trial.scores))]
    return [pairs[place] for place in rank_pairs(scores, errors, labels)]


def rank_pairs(scores: np.ndarray, errors: np.ndarray, labels: Labels) -> np.ndarray:
    """Return the places of the near-best: at most ``AVERAGED``, best first, ties to the smaller error."""
    order = np.lexsort((errors, -scores))[:AVERAGED]
    limit = scores[order[0]] - NEAR * score_error(scores[order[0]], labels)
    return np.asarray(order[scores[order] >= limit])


def score_error(score: float, labels: Labels) -> float:
    r"""Return the standard error of a score, with one success and one failure added.

    .. math:: \sqrt{\tilde p (1 - \tilde p) / (n + 2)}, \quad \tilde p = (n p + 1) / (n + 2)
    """
    n = float(labels.weights.sum() ** 2 / np.square(labels.weights).sum())
    p = (n * score + 1.0) / (n + 2.0)
    return float(np.sqrt(p * (1.0 - p) / (n + 2.0)))


def stratified_part(Y: np.ndarray, size: int) -> np.ndarray:
    """Choose about ``size`` rows, evenly spaced in each class, so that every class keeps its share."""
    codes = Y.argmax(axis=1)
    chosen = []
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        kept = max(1, round(size * len(members) / len(codes)))
        chosen.append(members[np.arange(kept) * len(members) // kept])
    return np.sort(np.concatenate(chosen))


def teachers(Y: np.ndarray, n_features: int) -> np.ndarray | None:
    """Choose the labels that teach what is compared, where a decomposition of all of them would be dear."""
    return stratified_part(Y, TAUGHT) if min(len(Y), n_features) > 1.5 * TAUGHT else None


@dataclass(frozen=True)
class Entry:
    """One model: its settings, what it is estimated to score on unseen nodes, and what trying it took.

    ``chosen`` tells whether it is part of the average that predicts.
    """

    model: str
    settings: str
    score: float
    standard_error: float
    squared_error: float
    seconds: float
    chosen: bool


COLUMNS = tuple(field.name for field in fields(Entry))


class Leaderboard(Sequence[Entry]):
    """Entries in order; prints as a table and converts to any data frame.

    Parameters
    ----------
    entries : iterable of Entry

    Examples
    --------
    >>> board = Leaderboard([Entry("SGC", "depth=2", 0.8, 0.04, 0.3, 0.01, True)])
    >>> board
    model  settings       score  seconds  chosen
    SGC    depth=2   80.0 ± 4.0     0.01  *
    >>> board.to_pandas()["score"].tolist()
    [0.8]
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = tuple(entries)

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> "Leaderboard": ...

    def __getitem__(self, index: int | slice) -> "Entry | Leaderboard":
        if isinstance(index, slice):
            return Leaderboard(self._entries[index])
        return self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Leaderboard) and self._entries == other._entries

    def __hash__(self) -> int:
        return hash(self._entries)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns by name.

        Returns
        -------
        dict of list
        """
        return {name: [getattr(entry, name) for entry in self] for name in COLUMNS}

    def to_records(self) -> list[dict[str, Any]]:
        """Return one dict per entry.

        Returns
        -------
        list of dict
        """
        return [asdict(entry) for entry in self]

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """Return a data frame of a library that is installed.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"

        Returns
        -------
        data frame
        """
        import narwhals as nw

        try:
            return nw.from_dict(self.to_dict(), backend=backend).to_native()
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"{backend} is not installed: pip install {backend}.") from error

    def to_pandas(self) -> Any:
        """Return a pandas data frame: see :meth:`to_frame`."""
        return self.to_frame("pandas")

    def __repr__(self) -> str:
        rows = [("model", "settings", "score", "seconds", "chosen")]
        rows += [
            (
                entry.model,
                entry.settings,
                f"{100 * entry.score:.1f} ± {100 * entry.standard_error:.1f}",
                f"{entry.seconds:.2f}",
                "*" if entry.chosen else "",
            )
            for entry in self
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        numbers = (2, 3)
        lines = [
            "  ".join(
                cell.rjust(width) if i in numbers else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join(lines)


def ordered(entries: Iterable[Entry]) -> Leaderboard:
    """Put entries in order: the best score first, ties by squared error."""
    return Leaderboard(sorted(entries, key=lambda entry: (-entry.score, entry.squared_error)))


def tabulate_trials(trials: Sequence[Trial], chosen: Chosen, labels: Labels) -> Leaderboard:
    """List each trial with its best penalty, by estimated score."""
    averaged = {trial for trial, _ in chosen}
    entries = [
        Entry(
            model=trial.name,
            settings=", ".join(
                part for part in (trial.filter.settings, f"penalty={trial.penalties[trial.best]:.2g}") if part
            ),
            score=float(trial.scores[trial.best]),
            standard_error=score_error(trial.scores[trial.best], labels),
            squared_error=float(trial.errors[trial.best]),
            seconds=trial.seconds,
            chosen=trial in averaged,
        )
        for trial in trials
    ]
    return ordered(entries)


def explain(trials: Sequence[Trial], chosen: Chosen, predicted: np.ndarray, labels: Labels) -> str:
    """Say in words what the graph is worth and what predicts."""
    truth = labels.Y.argmax(axis=1)
    hits = predicted.argmax(axis=1) == truth
    plain = [trial for trial in trials if not trial.filter.uses_graph]
    said = []
    if plain:
        best = min(plain, key=lambda trial: trial.rank)
        without = best.predicted[best.best].argmax(axis=1) == truth
        gain = compare_hits(hits, without)
        points = f"{100 * abs(gain.difference):.1f} ± {100 * gain.standard_error:.1f} points"
        if abs(gain.difference) < 2 * gain.standard_error:
            said.append(f"the graph makes no clear difference over features alone ({points})")
        else:
            does = "adds" if gain.difference > 0 else "costs"
            said.append(f"the graph {does} {points} over features alone")
        said.append(
            f"of {len(hits):,} labels, each hidden when it was asked for, {100 * hits.mean():.1f} % are "
            f"right with it and {100 * without.mean():.1f} % without"
        )
    names = dict.fromkeys(trial.name for trial, _ in chosen)
    models = (
        "1 model predicts" if len(chosen) == 1 else f"the average of {len(chosen)} near-best models predicts"
    )
    said.append(f"{models} ({'; '.join(names)})")
    return " ".join(sentence[0].upper() + sentence[1:] + "." for sentence in said)


FOLDS = 5


def nested_average(trials: Sequence[Trial], labels: Labels, n_folds: int = FOLDS) -> np.ndarray:
    """Choose near-best models on some labels, and ask them about the others."""
    codes = labels.Y.argmax(axis=1)
    pairs = [(trial.head, said) for trial in trials for said in trial.predicted]
    judged = [compared(trial.predicted, trial.head, labels.Y) for trial in trials]
    hits, errors = (np.concatenate(parts) for parts in zip(*judged, strict=True))
    fold = fold_numbers(codes, n_folds)
    P = np.empty(labels.Y.shape)
    for k in range(n_folds):
        inside, outside = fold == k, fold != k
        judges = labels.part(np.flatnonzero(outside)) if outside.any() else labels
        rows = outside if outside.any() else inside
        scores = np.average(hits[:, rows], axis=1, weights=judges.weights)
        mean_errors = np.average(errors[:, rows], axis=1, weights=judges.weights)
        chosen = [pairs[place] for place in rank_pairs(scores, mean_errors, judges)]
        P[inside] = average_distributions([(head, said[inside]) for head, said in chosen])
    return P

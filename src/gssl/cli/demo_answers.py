"""The other answers of ``gssl demo``: numbers with intervals, and several labels per node."""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import load_diabetes
from sklearn.metrics import f1_score, r2_score

from gssl.cli.console import Terminal
from gssl.io import list_numbers, list_sets, write_numbers, write_sets
from gssl.selection import AutoClassifier, AutoRegressor

_PATIENTS = 100
_PEOPLE, _KNOWN = 600, 150
_CLUBS = ("chess", "choir", "climbing", "cooking", "cycling")


def show_numbers(out: Path, seed: int, terminal: Terminal) -> None:
    """Predict a number for each row of scikit-learn's diabetes table, linked to its nearest neighbours."""
    X, progress = load_diabetes(return_X_y=True)
    known = np.zeros(len(X), dtype=bool)
    known[np.random.default_rng(seed).permutation(len(X))[:_PATIENTS]] = True
    with terminal.stage("numbers"), terminal.step("", notes=False):
        model = AutoRegressor().fit(X, np.where(known, progress, np.nan))
        predictions = list_numbers(model, np.arange(len(X)).astype(str))
        write_numbers(out, predictions)
    truth, (low, high) = progress[~known], model.intervals_[~known].T
    inside = ((low <= truth) & (truth <= high)).mean()
    terminal.out.print()
    terminal.say(
        f"Numbers: the progress of diabetes in {len(X)} patients, {_PATIENTS} of them known, linked to their "
        f"nearest neighbours. R² is {r2_score(truth, predictions.value[~known]):.2f} on the others, and "
        f"{100 * inside:.0f} % of these lie in their 90 % intervals: {out}"
    )
    terminal.say(model.explain_)


def show_sets(out: Path, seed: int, terminal: Terminal) -> None:
    """Predict the clubs of drawn people from their friends; links and clubs are drawn, without features."""
    Y, A = draw_clubs(seed)
    known = np.arange(_PEOPLE) < _KNOWN
    with terminal.stage("labels"), terminal.step("", notes=False):
        y = [{name for name, member in zip(_CLUBS, row, strict=True) if member} for row in Y]
        given = [clubs if k else None for clubs, k in zip(y, known, strict=True)]
        model = AutoClassifier().fit(None, given, adjacency=A)
        write_sets(out, list_sets(model, np.arange(_PEOPLE).astype(str)))
    score = f1_score(Y[~known], np.asarray(model.transduction_)[~known], average="micro")
    terminal.out.print()
    terminal.say(
        f"Several labels: the clubs of {_PEOPLE} drawn people, {_KNOWN} of them known, from their friends "
        f"alone. F1 is {score:.2f} on the others: {out}"
    )
    terminal.say(model.explain_)


def draw_clubs(seed: int) -> tuple[np.ndarray, csr_array]:
    """Draw the clubs of people, and friends, who mostly share a club."""
    rng = np.random.default_rng(seed)
    Y = rng.random((_PEOPLE, len(_CLUBS))) < 0.25
    Y[np.arange(_PEOPLE), rng.integers(len(_CLUBS), size=_PEOPLE)] = True
    shared = (Y.astype(float) @ Y.T) / np.sqrt(np.outer(Y.sum(axis=1), Y.sum(axis=1)))
    friends = np.triu(rng.random(shared.shape) < 0.002 + 0.05 * shared**2, 1)
    return Y.astype(int), csr_array((friends | friends.T).astype(float))

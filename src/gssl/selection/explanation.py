"""What a selection found, as a table and in words."""

from collections.abc import Sequence

import numpy as np

from gssl.evaluation.graph_gain import compare_hits
from gssl.selection.leaderboard import Entry, Leaderboard, ordered
from gssl.selection.trial import Chosen, Labels, Trial, score_error


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

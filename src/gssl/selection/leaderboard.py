"""The table of candidate models."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, overload

from gssl.frames import Tabular


@dataclass(frozen=True)
class Entry:
    """A candidate model: its settings, its leave-one-out score, and the time it took in seconds.

    Scores are for ranking. They are optimistic, since settings were chosen on the same labels; expect the
    held-out accuracy instead. ``chosen`` tells whether the model is used for prediction.
    """

    model: str
    settings: str
    score: float
    standard_error: float
    log_loss: float
    seconds: float
    chosen: bool


class Leaderboard(Tabular, Sequence[Entry]):
    """A sequence of entries that prints as a table and converts to a data frame.

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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Leaderboard) and self._entries == other._entries

    def __hash__(self) -> int:
        return hash(self._entries)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a dict of column names to lists."""
        return {field.name: [getattr(entry, field.name) for entry in self] for field in fields(Entry)}

    def to_records(self) -> list[dict[str, Any]]:
        """Return a list of one dict per entry."""
        return [asdict(entry) for entry in self]

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
        a, b, c, d, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = [
            f"{model:<{a}}  {settings:<{b}}  {score:>{c}}  {seconds:>{d}}  {chosen}".rstrip()
            for model, settings, score, seconds, chosen in rows
        ]
        return "\n".join(lines)


def in_order(entries: Iterable[Entry]) -> Leaderboard:
    """Sort entries by score, best first, and ties by log loss."""
    return Leaderboard(sorted(entries, key=lambda entry: (-entry.score, entry.log_loss)))

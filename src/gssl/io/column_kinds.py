"""Decide which columns of a table are numbers, lists, categories or texts, and remember it for new tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gssl.io.notations import DATES, NOTATIONS, comma_notes, convert_commas, convert_dates, date_notes
from gssl.io.table_columns import aggregate_texts, is_number, is_text, number_sql
from gssl.io.table_reading import Column, Table
from gssl.wording import counted, listed, listed_counts, quoted

# kinds of columns that are read as dense numbers
DENSE = ("number", "list")
# a column of numbers may have one other cell, or this share, if at least so many cells are filled
_MOST_OTHERS, _FEWEST_FILLED = 0.01, 20
# most cells of a text column differ and have so many words; fewer cells may differ by chance
_SEVERAL_WORDS, _FEWEST_TEXTS = 3, 5
# a word of at least two letters, which TF-IDF keeps; of an address on the web only the whole is a word
_WORD = r"(?:^|\s)\S*\pL\pL\S*"
# rows sampled before whole columns are read
_SAMPLE_ROWS = 10_000


@dataclass(frozen=True)
class Encoding:
    """How columns became features, to be repeated on new tables.

    Attributes
    ----------
    categories : tuple of str
        The columns read as categories, one feature each.
    words : dict of dict of float
        The weight (inverse document frequency) of every word of each text column. A column without weights
        is weighted by its own texts.
    numbers : dict of str
        The notation of every column of numbers: "number", "decimal comma", "thousands comma", "date" or, for
        dates in text, their order, such as "day/month/year".

    Examples
    --------
    >>> from gssl.io import read_features
    >>> texts = "SELECT unnest(['a', 'b']) AS id, unnest(['cats purr', 'cats bark']) AS says"
    >>> encoding = read_features(texts, text="says").encoding
    >>> {word: round(weight, 2) for word, weight in encoding.words["says"].items()}
    {'bark': 1.41, 'cats': 1.0, 'purr': 1.41}
    >>> read_features("SELECT 'c' AS id, 'cats miaow' AS says", encoding=encoding).matrix.tolist()
    [[0.0, 1.0, 0.0]]
    """

    categories: tuple[str, ...] = ()
    words: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    numbers: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it knows."""
        return frozenset((*self.categories, *self.words, *self.numbers))


class ColumnKinds:
    """The kinds of the feature columns of a table: "number", "list", "category" or "words".

    Blocks of columns are added one after another. Dates and numbers with commas are converted in the table.
    """

    def __init__(self, encoding: Encoding, texts: Sequence[str], *, strict: bool) -> None:
        self.kinds = dict[str, str]()
        # cells of columns of numbers that are not numbers and count as missing: how many, and one of them
        self.unreadable = dict[str, tuple[int, str]]()
        self._known = dict.fromkeys(texts, "words") | dict.fromkeys(encoding.categories, "category")
        self._known |= dict.fromkeys(encoding.words, "words")
        self._numbers = {name: form for name, form in encoding.numbers.items() if name not in self._known}
        self._strict, self._texts = strict, list[str]()
        # notations of columns with commas and of dates, and cells among dates that are none
        self._commas, self._dates, self._no_dates = dict[str, str](), dict[str, str](), 0

    @property
    def notations(self) -> dict[str, str]:
        """The notation of every column of numbers."""
        special = self._commas | self._dates
        return {
            name: special.get(name, NOTATIONS[0]) for name, kind in self.kinds.items() if kind == "number"
        }

    def add(self, table: Table) -> None:
        """Find the kinds of the columns of a table."""
        unknown = [name for name in table.columns if name not in self._known]
        # dates in text columns are read by _add_texts
        self._read_dates(table, [name for name in unknown if not is_text(table.columns[name])])
        texts = list[str]()
        for name, column in table.columns.items():
            if name in self._known:
                self.kinds[name] = self._known[name]
            elif is_number(column):
                self.kinds[name] = "number"
            elif column.type.endswith("]"):
                self.kinds[name] = "list"
            elif is_text(column):
                texts.append(name)
            else:
                raise ValueError(
                    f"{table.name}: column {quoted(name)} is of type {column.type}, neither number nor text; "
                    "convert it or leave it out."
                )
        self._add_texts(table, texts)

    def _add_texts(self, table: Table, names: list[str]) -> None:
        self.kinds |= dict.fromkeys(names, "number")
        counts = aggregate_texts(
            table,
            names,
            "count(nullif(raw, '')), count(TRY_CAST(raw AS DOUBLE)), bool_or(contains(raw, ','))",
        )
        rest = [name for name, (filled, numeric, _) in counts.items() if numeric < filled]
        self._commas |= convert_commas(table, [name for name in rest if counts[name][2]], self._numbers)
        number = number_sql(Column("t", "VARCHAR"))
        asked = (
            f"count(t), count({number}), count(*) FILTER (t LIKE '[%]'), "
            f"min(t) FILTER (t IS NOT NULL AND {number} IS NULL)"
        )
        categories = list[str]()
        for name, (filled, numeric, lists, other) in aggregate_texts(table, rest, asked).items():
            known = self._numbers.get(name)
            if filled and 2 * numeric <= filled and known in (None, *DATES):
                self.kinds[name] = "list" if lists == filled else "category"
                categories += [name] if lists < filled else []
            elif numeric < filled and filled - numeric <= most_others(filled, self._strict, known):
                # if there are more, reading the column raises
                self.unreadable[name] = filled - numeric, other
        self.kinds |= dict.fromkeys(self._read_dates(table, categories), "number")
        texts = find_texts(table, [name for name in categories if self.kinds[name] == "category"])
        self.kinds |= dict.fromkeys(texts, "words")
        self._texts += texts

    def _read_dates(self, table: Table, names: Sequence[str]) -> dict[str, str]:
        notations, others = convert_dates(table, names, self._numbers)
        self._dates |= notations
        self._no_dates += others
        return notations

    def notes(self, name: str) -> list[str]:
        """Return notes about commas, dates, columns recognised as text, and cells that are not numbers."""
        notes = [*comma_notes(name, self._commas), *date_notes(name, self._dates, self._no_dates)]
        if self._texts:
            columns = "column" if len(self._texts) == 1 else "columns"
            notes.append(f"{name}: taken word by word, as texts: {columns} {listed(self._texts)}.")
        if self.unreadable:
            notes.append(note_others(name, self.unreadable))
        return notes


def most_others(filled: int, strict: bool, known: str | None = None) -> int:
    """Return how many of the filled cells of a column of numbers may be something else, and count as missing.

    In a column of a ``known`` notation all may be so, because a new table may have few rows.
    """
    if strict:
        return 0
    if known is not None:
        return filled
    return 0 if filled < _FEWEST_FILLED else max(1, int(_MOST_OTHERS * filled))


def note_others(name: str, others: Mapping[str, tuple[int, str]]) -> str:
    """Return the note about cells that are not numbers: how many in each column, and one of them."""
    counts = {column: count for column, (count, _) in others.items()}
    cells, example = counted(sum(counts.values()), "cell"), next(iter(others.values()))[1]
    return (
        f"{name}: {cells} among numbers taken as missing, such as {quoted(example)}: {listed_counts(counts)}."
    )


def find_texts(table: Table, names: Sequence[str]) -> list[str]:
    """Return the columns that hold texts: most cells differ and have several words."""
    wordy = f"count(*) FILTER (len(regexp_extract_all(t, '{_WORD}')) >= {_SEVERAL_WORDS})"
    sample = aggregate_texts(table, names, f"count(t), {wordy}", _SAMPLE_ROWS)
    likely = [name for name, (filled, several) in sample.items() if not filled or 2 * several > filled]
    counts = aggregate_texts(table, likely, f"count(t), {wordy}, count(DISTINCT t)")
    return [
        name
        for name, (filled, several, different) in counts.items()
        if filled >= _FEWEST_TEXTS and 2 * several > filled and 2 * different > filled
    ]

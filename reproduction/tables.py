"""Tables and figures of the paper, for a terminal and in Markdown; misses are marked."""

from rich.table import Table
from rich.text import Text

from reproduction import Line, Result, grids

MARKS = {"miss": " ✗", "above": " ↑"}
LEGEND = (
    "ours (published); ✗ differs from the published number by more than the tolerance, "
    "↑ is better by more than that; [number] was published and is not computed here."
)
# a terminal is narrow
_SHORT = {"train+validation": "train+val"}
_STYLES = {"miss": "bold red", "above": "green", "published only": "dim"}


def number(value: float, digits: int) -> str:
    """Write a number; small ones in powers of ten.

    Examples
    --------
    >>> number(81.04, 1), number(0.0037, -1), number(-0.5, 1)
    ('81.0', '3.7e-03', '−0.5')
    """
    text = f"{value:.1e}" if digits < 0 else f"{value:.{digits}f}"
    return f"−{text[1:]}" if text.startswith("-") else text


def line_text(line: Line | None, *, long: bool = False) -> str:
    """Write a line of an artefact into one field of a table.

    Parameters
    ----------
    line : Line or None
        None: the paper has nothing at this place.
    long : bool, default=False
        Also the spread over seeds and the difference.

    Returns
    -------
    str

    Examples
    --------
    >>> from reproduction import Entry
    >>> entry = Entry("OGC", "Cora", published=86.9, tolerance=1.0)
    >>> line_text(Line(entry, 79.1, 0.2, 2, -7.8, "miss"), long=True)
    '79.1 ± 0.2 (86.9, −7.8) ✗'
    >>> line_text(Line(entry, None, 0.0, 0, None, "published only"))
    '[86.9]'
    """
    if line is None:
        return ""
    entry = line.entry
    published = None if entry.published is None else number(entry.published, entry.digits)
    if line.ours is None:
        if line.verdict == "published only":
            return "" if published is None else f"[{published}]"
        return "not run" if published is None else f"not run ({published})"
    text = number(line.ours, entry.digits)
    if long and line.n_seeds > 1:
        text += f" ± {number(line.spread, entry.digits)}"
    if published is not None:
        known = published
        if long and line.difference is not None:
            sign = "+" if line.difference > 0 else ""
            known += f", {sign}{number(line.difference, entry.digits)}"
        text += f" ({known})"
    return text + MARKS.get(line.verdict, "")


def paper_tables(result: Result) -> list[Table]:
    """Draw an artefact for a terminal, one table for each group.

    Parameters
    ----------
    result : Result

    Returns
    -------
    list of rich.table.Table

    Examples
    --------
    >>> from reproduction import Artefact, Entry, Store, summarize
    >>> entry = Entry("GCN", "Cora", published=81.5)
    >>> result = summarize(Artefact("tiny", "Table 0", "Tiny", (entry,)), Store("nowhere.jsonl"))
    >>> [table.row_count for table in paper_tables(result)]
    [1]
    """
    artefact = result.artefact
    tables = []
    for grid in grids(result):
        title = f"{artefact.source}: {artefact.title}" + (f" — {grid.group}" if grid.group else "")
        table = Table(title=Text(f"{title} ({artefact.unit})"), title_justify="left")
        budgets = any(budget for _, budget, _ in grid.rows)
        table.add_column("method", overflow="fold")
        if budgets:
            table.add_column("labels", no_wrap=True)
        for column in grid.columns:
            table.add_column(column, justify="right", overflow="fold")
        for row, budget, lines in grid.rows:
            fields = [_styled(lines.get(column)) for column in grid.columns]
            if any(field.plain for field in fields):
                table.add_row(Text(row), *([Text(_SHORT.get(budget, budget))] if budgets else []), *fields)
        tables.append(table)
    return tables


def _styled(line: Line | None) -> Text:
    style = _STYLES.get(line.verdict, "") if line is not None else ""
    return Text(line_text(line), style=style)


def claim_texts(result: Result) -> list[str]:
    """Say of each claim of the paper whether it holds here.

    Examples
    --------
    >>> from reproduction import Artefact, Claim, Store, summarize
    >>> artefact = Artefact("tiny", "", "", (), claims=(Claim("All is well", lambda means: True),))
    >>> claim_texts(summarize(artefact, Store("nowhere.jsonl")))
    ['All is well — holds.']
    """
    words = {True: "holds", False: "does not hold ✗", None: "not measured"}
    return [f"{text} — {words[holds]}." for text, holds in result.claims]


def paper_markdown(result: Result) -> str:
    """Write an artefact as Markdown tables.

    Parameters
    ----------
    result : Result

    Returns
    -------
    str

    Examples
    --------
    >>> from reproduction import Artefact, Entry, Store, summarize
    >>> entry = Entry("GCN", "Cora", published=81.5)
    >>> result = summarize(Artefact("tiny", "Table 0", "Tiny", (entry,)), Store("nowhere.jsonl"))
    >>> print(paper_markdown(result))
    | method | Cora |
    |---|---:|
    | GCN | [81.5] |
    """
    parts = []
    for grid in grids(result):
        budgets = any(budget for _, budget, _ in grid.rows)
        heads = ["method", *(["labels"] if budgets else []), *grid.columns]
        rows = [heads]
        for row, budget, lines in grid.rows:
            fields = [_markdown_field(lines.get(column)) for column in grid.columns]
            if any(fields):
                rows.append([row, *([budget] if budgets else []), *fields])
        ruler = ["---"] * (len(heads) - len(grid.columns)) + ["---:"] * len(grid.columns)
        text = "\n".join("| " + " | ".join(_escaped(field) for field in row) + " |" for row in rows)
        head, _, body = text.partition("\n")
        table = f"{head}\n|{'|'.join(ruler)}|\n{body}"
        parts.append(f"**{grid.group}**\n\n{table}" if grid.group else table)
    return "\n\n".join(parts)


def _markdown_field(line: Line | None) -> str:
    text = line_text(line, long=True)
    return f"**{text}**" if line is not None and line.verdict == "miss" else text


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")

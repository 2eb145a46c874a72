"""Artefacts as text, for a terminal and in Markdown, with misses marked and the command to repeat them."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from gssl.cli.console import Terminal
from reproduction.summary import Line, Result, grids

MARKS = {"miss": " ✗", "above": " ↑"}
LEGEND = (
    "ours (published). ✗: differs from the published number by more than the tolerance; ↑: better by more "
    "than the tolerance; [number]: published, not computed here."
)
# columns of output that is not a terminal
_WIDE = 240
# abbreviations for narrow terminals
_SHORT = {"train+validation": "train+val"}
_STYLES = {"miss": "bold red", "above": "green", "published only": "dim"}


def number(value: float, digits: int) -> str:
    """Format a number; with negative ``digits`` in scientific notation."""
    text = f"{value:.1e}" if digits < 0 else f"{value:.{digits}f}"
    return f"−{text[1:]}" if text.startswith("-") else text


def line_text(line: Line | None, *, long: bool = False) -> str:
    """Format a line as one field of a table."""
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
    """Return an artefact as tables for a terminal, one for each group."""
    artefact = result.artefact
    tables = []
    for grid in grids(result):
        title = f"{artefact.source}: {artefact.title}" + (f" — {grid.group}" if grid.group else "")
        table = Table(title=Text(f"{title} ({artefact.unit})"), title_justify="left")
        table.add_column("method", overflow="fold")
        if grid.has_budgets:
            table.add_column("labels", no_wrap=True)
        for column in grid.columns:
            table.add_column(column, justify="right", overflow="fold")
        for row, budget, lines in grid.rows:
            fields = [_styled(lines.get(column)) for column in grid.columns]
            if any(field.plain for field in fields):
                table.add_row(
                    Text(row), *([Text(_SHORT.get(budget, budget))] if grid.has_budgets else []), *fields
                )
        tables.append(table)
    return tables


def _styled(line: Line | None) -> Text:
    style = _STYLES.get(line.verdict, "") if line is not None else ""
    return Text(line_text(line), style=style)


def claim_texts(result: Result) -> list[str]:
    """Return a sentence for each claim: whether it holds here, and the evidence."""
    words = {True: "holds: ", False: "does not hold ✗: ", None: ""}
    return [f"{claim.text} — {words[claim.holds]}{claim.evidence}." for claim in result.claims]


def paper_markdown(result: Result) -> str:
    """Return an artefact as Markdown tables."""
    parts = []
    for grid in grids(result):
        heads = ["method", *(["labels"] if grid.has_budgets else []), *grid.columns]
        rows = [heads]
        for row, budget, lines in grid.rows:
            fields = [_markdown_field(lines.get(column)) for column in grid.columns]
            if any(fields):
                rows.append([row, *([budget] if grid.has_budgets else []), *fields])
        table = markdown_table(rows, len(heads) - len(grid.columns))
        parts.append(f"**{grid.group}**\n\n{table}" if grid.group else table)
    return "\n\n".join(parts)


def _markdown_field(line: Line | None) -> str:
    text = line_text(line, long=True)
    return f"**{text}**" if line is not None and line.verdict == "miss" else text


def markdown_table(rows: Sequence[Sequence[str]], n_left: int) -> str:
    """Return a Markdown table of rows, headings first; all but the first columns are aligned right."""
    head, *body = ("| " + " | ".join(field.replace("|", "\\|") for field in row) + " |" for row in rows)
    ruler = "|".join("---" if k < n_left else "---:" for k in range(len(rows[0])))
    return "\n".join([head, f"|{ruler}|", *body])


def print_wide(terminal: Terminal, *tables: Table) -> None:
    """Print tables; output to a file is not limited in width, because numbers must not be truncated."""
    if not terminal.out.is_terminal:
        terminal.out.width = max(terminal.out.width, _WIDE)
    for table in tables:
        terminal.out.print(table)


def command(result: Result) -> str:
    """Return the command that repeats an artefact with the same seeds."""
    counts = _seed_counts(result, random=True)
    return f"python -m reproduction run {result.artefact.name}" + (
        f" --seeds {max(counts)}" if counts else ""
    )


def seeds_text(result: Result) -> str:
    """Describe the number of seeds; deterministic methods need one run."""
    counts, fixed = _seed_counts(result, random=True), _seed_counts(result, random=False)
    if not counts:
        return "one run, no seeds" if fixed else "not run yet"
    fewest, most = min(counts), max(counts)
    same = f"seeds 0–{most - 1}" if most > 1 else "seed 0"
    text = same if fewest == most else f"{fewest}–{most} seeds"
    return text + (", deterministic methods once" if fixed else "")


def tolerance_text(result: Result) -> str:
    """Describe the tolerance within which a difference is a hit."""
    judged = [entry for entry in result.artefact.entries if entry.published is not None]
    given = {(entry.tolerance, entry.digits) for entry in judged if entry.tolerance is not None}
    # formatted with the digits in which differences are judged
    texts = [f"±{number(tolerance, digits)}" for tolerance, digits in sorted(given)]
    if not texts:
        return "no tolerance"
    return f"{'tolerance' if len(texts) == 1 else 'tolerances'} {', '.join(texts)}"


def _seed_counts(result: Result, *, random: bool) -> set[int]:
    """Return the numbers of seeds of the lines that were run, for random or for deterministic cells."""
    cells = ((line.n_seeds, line.entry.cell) for line in result.lines if line.n_seeds)
    return {n_seeds for n_seeds, cell in cells if cell is not None and cell.random is random}

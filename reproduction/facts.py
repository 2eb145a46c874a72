"""How an artefact was measured: the command, its seeds, and what is still called a hit."""

from reproduction import Result
from reproduction.tables import number


def command(result: Result) -> str:
    """Give the command that repeats an artefact with the seeds it was run with.

    Parameters
    ----------
    result : Result

    Returns
    -------
    str

    Examples
    --------
    >>> from reproduction import Artefact, Cell, Entry, Line
    >>> entry = Entry("OGC", "Cora", cell=Cell("classifier", "planetoid/cora", {"method": "OGC"}))
    >>> lines = (Line(entry, 79.1, 0.2, 3, None, "unjudged"),)
    >>> command(Result(Artefact("tiny", "", "", (entry,)), lines, (), 0.0))
    'python -m reproduction run tiny --seeds 3'
    """
    counts = _seed_counts(result, random=True)
    return f"python -m reproduction run {result.artefact.name}" + (
        f" --seeds {max(counts)}" if counts else ""
    )


def seeds_text(result: Result) -> str:
    """Say how many seeds the means are over; methods without randomness need one.

    Examples
    --------
    >>> from reproduction import Artefact, Cell, Entry, Line
    >>> entry = Entry("OGC", "Cora", cell=Cell("classifier", "planetoid/cora", {"method": "OGC"}))
    >>> lines = tuple(Line(entry, 79.1, 0.2, n_seeds, None, "unjudged") for n_seeds in (2, 10))
    >>> seeds_text(Result(Artefact("tiny", "", "", (entry,)), lines, (), 0.0))
    '2–10 seeds'
    """
    counts, fixed = _seed_counts(result, random=True), _seed_counts(result, random=False)
    if not counts:
        return "one run, for nothing is random" if fixed else "not run yet"
    fewest, most = min(counts), max(counts)
    same = f"seeds 0–{most - 1}" if most > 1 else "seed 0"
    text = same if fewest == most else f"{fewest}–{most} seeds"
    return text + (", one run where nothing is random" if fixed else "")


def tolerance_text(result: Result) -> str:
    """Say how far from the published number is still a hit.

    Examples
    --------
    >>> from reproduction import Artefact, Entry, Store, summarize
    >>> entries = (Entry("OGC", "Cora", published=86.9, tolerance=1.0), Entry("GCN", "Cora", published=81.5))
    >>> tolerance_text(summarize(Artefact("tiny", "", "", entries), Store("nowhere.jsonl")))
    'tolerance ±1.0'
    """
    judged = [entry for entry in result.artefact.entries if entry.published is not None]
    given = {(entry.tolerance, entry.digits) for entry in judged if entry.tolerance is not None}
    # with the digits in which differences are judged
    texts = [f"±{number(tolerance, digits)}" for tolerance, digits in sorted(given)]
    if not texts:
        return "nothing is judged"
    return f"{'tolerance' if len(texts) == 1 else 'tolerances'} {', '.join(texts)}"


def _seed_counts(result: Result, *, random: bool) -> set[int]:
    """Give the numbers of seeds of the lines that were run and whose cell is random, or is not."""
    cells = ((line.n_seeds, line.entry.cell) for line in result.lines if line.n_seeds)
    return {n_seeds for n_seeds, cell in cells if cell is not None and cell.random is random}

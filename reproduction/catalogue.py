"""All artefacts by name, and the functions behind the commands."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from gssl.cli.console import Terminal
from reproduction.ablation import ABLATION, NEGATIVES
from reproduction.budget import BUDGET, LIM
from reproduction.causes import CAUSES
from reproduction.check import Repeat, draw_jobs, repeat
from reproduction.dataset_summary import DATASETS
from reproduction.depth import DEPTH
from reproduction.filters import FILTERS
from reproduction.objective import OBJECTIVE
from reproduction.oversmoothing import KARATE
from reproduction.page import write_reproduction, write_result
from reproduction.plugins import PLUGINS
from reproduction.provenance import code_commit
from reproduction.reconstruction import RECONSTRUCTION
from reproduction.reddit import REDDIT
from reproduction.runner import QUICK_SEEDS, SEEDS, Failure, kept_runs, missing_jobs, run_watched
from reproduction.running_time import TIME
from reproduction.spec import Artefact
from reproduction.splits import SPLITS
from reproduction.store import Store
from reproduction.summary import Result, summarize
from reproduction.table1 import TABLE_1
from reproduction.tables import LEGEND, claim_texts, paper_tables, print_wide

_ALL = (
    TABLE_1,
    DEPTH,
    REDDIT,
    RECONSTRUCTION,
    DATASETS,
    BUDGET,
    LIM,
    SPLITS,
    ABLATION,
    NEGATIVES,
    PLUGINS,
    FILTERS,
    KARATE,
    OBJECTIVE,
    TIME,
    CAUSES,
)
ARTEFACTS: dict[str, Artefact] = {artefact.name: artefact for artefact in _ALL}
RECORDS = "records.jsonl"


def find_artefacts(names: Iterable[str]) -> list[Artefact]:
    """Return artefacts by name, each once."""
    artefacts = []
    for name in dict.fromkeys(names):
        if name not in ARTEFACTS:
            close = get_close_matches(name, ARTEFACTS, n=1)
            suggestion = f" (did you mean {close[0]!r}?)" if close else ""
            known = ", ".join(ARTEFACTS)
            raise ValueError(f"there is no artefact {name!r}{suggestion}: choose from {known}.")
        artefacts.append(ARTEFACTS[name])
    return artefacts


def list_artefacts(terminal: Terminal) -> None:
    """Print the name, source and title of each artefact."""
    width = max(map(len, ARTEFACTS))
    for name, artefact in ARTEFACTS.items():
        terminal.say(f"{name:<{width}}  {artefact.source}: {artefact.title}")


@dataclass(frozen=True)
class Selection:
    """The runs to do: seeds, rows and columns, time limit, and whether to repeat runs by earlier code."""

    seeds: int | None = None
    quick: bool = False
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    limit: float | None = None
    renew: bool = False


def run_artefacts(
    names: Iterable[str], records: Path, out: Path, chosen: Selection, terminal: Terminal
) -> list[Failure]:
    """Run the missing cells of some artefacts, print and write the results, and return the failures."""
    artefacts = find_artefacts(names)
    _check_places(artefacts, chosen)
    store = _opened(records, terminal)
    count = chosen.seeds if chosen.seeds is not None else QUICK_SEEDS if chosen.quick else SEEDS
    jobs = missing_jobs(
        artefacts,
        store,
        seeds=count,
        quick=chosen.quick,
        rows=chosen.rows,
        columns=chosen.columns,
        limit=chosen.limit,
        renew=chosen.renew,
    )
    if chosen.rows:
        terminal.note(*_obstacles(artefacts, chosen.rows))
    kept = kept_runs(artefacts, store, seeds=count)
    terminal.err.print(f"runs to do: {len(jobs)}; kept in {store.path}: {kept}", soft_wrap=True)
    failures = run_watched(jobs, store, terminal, chosen.limit)
    for result in (summarize(artefact, store) for artefact in artefacts):
        _show(result, terminal)
        for file in write_result(out, result):
            terminal.say(f"written: {file}")
    return failures


def _check_places(artefacts: list[Artefact], chosen: Selection) -> None:
    """Raise ValueError for rows and columns that no artefact has."""
    entries = [entry for artefact in artefacts for entry in artefact.entries]
    known = {
        "row": dict.fromkeys(entry.row for entry in entries),
        "column": dict.fromkeys(name for entry in entries for name in (entry.group, entry.column) if name),
    }
    for kind, names in (("row", chosen.rows), ("column", chosen.columns)):
        for name in names:
            if name not in known[kind]:
                raise ValueError(f"there is no {kind} {name!r}: choose from {', '.join(known[kind])}.")


def _obstacles(artefacts: list[Artefact], rows: tuple[str, ...]) -> list[str]:
    """Explain why requested rows cannot be run here."""
    sentences: dict[str, None] = {}
    for artefact in artefacts:
        for entry in artefact.entries:
            reason = entry.absent if entry.cell is None else entry.cell.obstacle
            if entry.row in rows and reason:
                sentences[f"{entry.row} is not run here: {reason}."] = None
    return list(sentences)


def write_all(records: Path, out: Path, terminal: Terminal) -> None:
    """Write the page about all artefacts from the stored runs."""
    store = _opened(records, terminal)
    results = [summarize(artefact, store) for artefact in ARTEFACTS.values()]
    if not any(line.n_seeds for result in results for line in result.lines):
        # do not overwrite a useful page with one that only says "not run"
        raise ValueError(f"{store.path} holds no results: run python -m reproduction all first.")
    path = out / "reproduction.md"
    write_reproduction(path, results)
    terminal.say(f"written: {path}")


def check_records(records: Path, sample: int, longest: float, terminal: Terminal) -> list[Repeat]:
    """Compute a random sample of the stored runs again, say how each compares, and return them."""
    store = _opened(records, terminal)
    repeats = []
    for job in draw_jobs(ARTEFACTS.values(), store, sample, longest):
        repeats.append(repeat(job, store))
        verdict = repeats[-1].difference or "the same"
        terminal.say(f"{job.cell.title}, seed {job.seed}, by {store.commit(job.cell, job.seed)}: {verdict}")
    if not repeats:
        raise ValueError(f"{store.path} holds no run of at most {longest:g} s: allow longer ones.")
    same = sum(not one.difference for one in repeats)
    terminal.say(f"{same} of {len(repeats)} runs give the same numbers with the code of {code_commit()}")
    return repeats


def _opened(folder: Path, terminal: Terminal) -> Store:
    """Open the records of a folder; print a note for each damaged line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        store = Store(folder / RECORDS)
    for warning in caught:
        terminal.note(str(warning.message))
    return store


def _show(result: Result, terminal: Terminal) -> None:
    print_wide(terminal, *paper_tables(result))
    terminal.say(LEGEND)
    terminal.say_lines(result.artefact.note)
    for text in claim_texts(result):
        terminal.say(text)
    terminal.say("")

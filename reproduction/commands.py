"""The commands: tables and figures of the paper, computed and put beside the published numbers."""

import sys
from pathlib import Path

from gssl.cli.console import Talk
from gssl.methods.base import watching
from reproduction import (
    ARTEFACTS,
    QUICK_SEEDS,
    SEEDS,
    Artefact,
    Failure,
    Job,
    Result,
    Store,
    find_artefacts,
    kept_runs,
    missing_jobs,
    run,
    summarize,
)
from reproduction.page import write_reproduction, write_result
from reproduction.tables import LEGEND, claim_texts, paper_tables

RECORDS = "records.jsonl"
_WIDE = 160


def list_paper(talk: Talk) -> None:
    """Say what there is to run."""
    width = max(map(len, ARTEFACTS))
    for name, artefact in ARTEFACTS.items():
        talk.say(f"{name:<{width}}  {artefact.source}: {artefact.title}")


def run_paper(
    names: tuple[str, ...], records: Path, out: Path, seeds: int | None, quick: bool, talk: Talk
) -> list[Failure]:
    """Compute what is missing of some artefacts, show them, write them as files, and give what failed."""
    artefacts = find_artefacts(names)
    store = _opened(records, talk)
    count = seeds if seeds is not None else QUICK_SEEDS if quick else SEEDS
    jobs = missing_jobs(artefacts, store, seeds=count, quick=quick)
    kept = kept_runs(artefacts, store, seeds=count)
    talk.err.print(f"runs to do: {len(jobs)}; kept in {store.path}: {kept}", soft_wrap=True)
    done = 0
    with talk.step("running", notes=False) as move:

        def on_job(job: Job, seconds: float) -> None:
            nonlocal done
            done += 1
            move(done, len(jobs))

        # the bar counts runs; iterations inside of one would pull it back and forth
        with watching(lambda *_: None):
            failures = run(jobs, store, on_job)
    for result in (summarize(artefact, store) for artefact in artefacts):
        _show(result, talk)
        for file in write_result(out, result):
            talk.say(f"written: {file}")
    return failures


def failure_texts(failures: list[Failure]) -> list[str]:
    """Say in a sentence for each cell what failed, and with which seeds."""
    seeds: dict[tuple[str, str], list[str]] = {}
    for failure in failures:
        seeds.setdefault((failure.job.cell.title, failure.reason), []).append(str(failure.job.seed))
    return [
        f"failed: {title}, seed{'s' if len(found) > 1 else ''} {', '.join(found)}: {reason}"
        for (title, reason), found in seeds.items()
    ]


def write_paper_page(records: Path, out: Path, talk: Talk) -> None:
    """Write the page about all artefacts from what has been run."""
    store = _opened(records, talk)
    results = [summarize(artefact, store) for artefact in ARTEFACTS.values()]
    if not any(line.n_seeds for result in results for line in result.lines):
        # a page of "not run" would take the place of one that says something
        found, wanted = ", ".join(store.versions()), sys.modules["gssl"].__version__
        held = f"results of gssl {found} that do not count for gssl {wanted}" if found else "no results"
        raise ValueError(f"{store.path} holds {held}: run python -m reproduction all first.")
    place = out / "reproduction.md"
    write_reproduction(place, results)
    talk.say(f"written: {place}")


def _opened(folder: Path, talk: Talk) -> Store:
    """Open the records of a folder; damaged lines are told as notes."""
    with talk.step("reading records"):
        return Store(folder / RECORDS)


def _show(result: Result, talk: Talk) -> None:
    artefact: Artefact = result.artefact
    if not talk.out.is_terminal:
        # a file has no edge, and half a number is none
        talk.out.width = max(talk.out.width, _WIDE)
    for table in paper_tables(result):
        talk.out.print(table)
    talk.say(LEGEND)
    if artefact.note:
        talk.say(artefact.note)
    for text in claim_texts(result):
        talk.say(text)
    talk.say("")

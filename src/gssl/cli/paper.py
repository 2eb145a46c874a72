"""``gssl paper``: tables and figures of the paper, computed and put beside the published numbers."""

from pathlib import Path

from gssl.cli.console import Talk
from gssl.methods._base import watching
from gssl.paper import (
    ARTEFACTS,
    QUICK_SEEDS,
    SEEDS,
    Artefact,
    Job,
    Result,
    Store,
    find_artefacts,
    missing_jobs,
    run,
    summarize,
)
from gssl.report import LEGEND, claim_texts, paper_tables, write_reproduction, write_result

RECORDS = "records.jsonl"
_WIDE = 160


def list_paper(talk: Talk) -> None:
    """Say what there is to run."""
    width = max(map(len, ARTEFACTS))
    for name, artefact in ARTEFACTS.items():
        talk.say(f"{name:<{width}}  {artefact.source}: {artefact.title}")


def run_paper(names: tuple[str, ...], out: Path, seeds: int | None, quick: bool, talk: Talk) -> None:
    """Compute what is missing of some artefacts, show them, and write them as files."""
    artefacts = find_artefacts(names)
    store = Store(out / RECORDS)
    count = seeds if seeds is not None else QUICK_SEEDS if quick else SEEDS
    jobs = missing_jobs(artefacts, store, seeds=count, quick=quick)
    talk.err.print(f"runs to do: {len(jobs)}; kept in {store.path}: {len(store)}", soft_wrap=True)
    done = 0
    with talk.step("running", notes=False) as move:

        def on_job(job: Job, seconds: float) -> None:
            nonlocal done
            done += 1
            move(done, len(jobs))

        # the bar counts runs; iterations inside of one would pull it back and forth
        with watching(lambda *_: None):
            run(jobs, store, on_job)
    for result in (summarize(artefact, store) for artefact in artefacts):
        _show(result, talk)
        for file in write_result(out, result):
            talk.say(f"written: {file}")


def write_paper_page(records: Path, out: Path, talk: Talk) -> None:
    """Write the page about all artefacts from what has been run."""
    store = Store(records / RECORDS)
    if not len(store):
        raise ValueError(f"{store.path} holds no results: run gssl paper all --out {records} first.")
    place = out / "reproduction.md"
    write_reproduction(place, [summarize(artefact, store) for artefact in ARTEFACTS.values()])
    talk.say(f"written: {place}")


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

"""What every bench has: graphs, draws, a file of finished runs, tables at the end."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from reproduction.commands import failure_texts
from reproduction.sources import dataset_of

from benchmarks.accuracy.tables import Grid
from gssl.cli.console import Talk
from gssl.datasets import Dataset
from gssl.io import whole_file
from gssl.methods.base import watching
from reproduction import Job, Store, run

_WIDE = 240


@dataclass(frozen=True)
class Bench:
    """On which graphs, how often, from which seed; where the page and the finished runs go."""

    graphs: tuple[str, ...]
    draws: int
    seed: int = 0
    out: Path | None = None
    records: Path | None = None
    methods: tuple[str, ...] = ()

    def data(self, talk: Talk) -> Iterator[tuple[str, Dataset]]:
        """Load one graph after the other, with rows that sum to one; say which are not here."""
        for graph in self.graphs:
            try:
                yield graph, dataset_of(graph)
            except FileNotFoundError as error:
                talk.say(f"skipped: {error}")

    def seeds(self) -> range:
        """Give the seed of each draw."""
        return range(self.seed, self.seed + self.draws)

    def said_seeds(self) -> str:
        """Say which seeds, for a title."""
        last = self.seed + self.draws - 1
        return f"seed {self.seed}" if self.draws == 1 else f"seeds {self.seed}–{last}"

    @contextmanager
    def store(self) -> Iterator[Store]:
        """Open the finished runs; without a file to keep them in they are gone at the end."""
        if self.records is not None:
            yield Store(self.records)
            return
        with TemporaryDirectory() as folder:
            yield Store(Path(folder) / "records.jsonl")

    def finish(self, name: str, grids: Iterable[Grid], notes: Iterable[str], talk: Talk) -> None:
        """Show tables, and write them where a place was given."""
        grids, notes = list(grids), list(notes)
        if not talk.out.is_terminal:
            # a file has no edge, and half a number is none
            talk.out.width = max(talk.out.width, _WIDE)
        for grid in grids:
            talk.out.print(grid.terminal())
        for note in notes:
            talk.say(note)
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            path = self.out / f"{name}.md"
            with whole_file(path) as part:
                text = "\n".join([*(grid.markdown() for grid in grids), *notes, ""])
                Path(part).write_text(text, encoding="utf-8")
            talk.say(f"written: {path}")


def run_missing(jobs: Iterable[Job], store: Store, talk: Talk) -> None:
    """Do the jobs that are not in the store yet, with a bar that counts them, and say which failed."""
    missing = [job for job in jobs if job.cell.key(job.seed) not in store]
    done = 0
    with talk.step("running", notes=False) as move:

        def on_job(job: Job, seconds: float) -> None:
            nonlocal done
            done += 1
            move(done, len(missing))

        # the bar counts runs; iterations inside of one would pull it back and forth
        with watching(lambda *_: None):
            failures = run(missing, store, on_job)
    for text in failure_texts(failures):
        talk.note(text)

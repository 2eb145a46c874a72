"""``gssl label``: serve a local page for labelling nodes."""

import os
import signal
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import numpy as np

from gssl.cli.console import Terminal
from gssl.cli.reading import Inputs, check_outputs
from gssl.cli.run import Run
from gssl.io import Problem, open_table
from gssl.io.feature_reading import text_columns
from gssl.io.label_tables import Nodes
from gssl.io.table_columns import IDS, pick_column, text_sql
from gssl.label.background import BackgroundFit
from gssl.label.journal import Journal, journal_path
from gssl.label.server import LabelServer
from gssl.label.session import Session
from gssl.wording import counted

# seconds between checks whether --out is up to date
_SAVE = 3.0


def run_label(run: Run, out: Path, port: int, browser: bool) -> None:
    """Read the tables, replay the journal, serve the page until Ctrl-C, and write the labels."""
    terminal = run.terminal
    journal_file = journal_path(out)
    check_outputs(out, run.inputs.sources(), journal_file)
    if out.exists() and not journal_file.exists():
        raise ValueError(
            f"{out} already exists and is not from gssl label: give it as --labels, and a new --out."
        )
    problem = run.read()
    texts = problem.preparation.encoding.words if problem.preparation is not None else ()
    shown = read_texts(replace(run.inputs, text=tuple(texts)), problem)
    journal = Journal(journal_file)
    try:
        with terminal.stage("preparing"), terminal.step("the page"):
            session = Session(problem, journal, shown)
        terminal.note(*session.notes)
        if journal.actions:
            terminal.note(
                f"{journal_file} holds {counted(len(journal.actions), 'action')}: going on from there."
            )
        with LabelServer(session, port) as server:
            _serve(server, out, browser, terminal, journal_file)
    finally:
        journal.close()


def _serve(server: LabelServer, out: Path, browser: bool, terminal: Terminal, journal_file: Path) -> None:
    """Serve until SIGINT or SIGTERM, and keep the output up to date."""
    session = server.session
    background = BackgroundFit(session)
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    server.start()
    background.start()
    # print, because the terminal shows nothing with --quiet
    print(f"Label at {server.new_url()}", flush=True)
    asks = sys.stdin is not None and sys.stdin.isatty()
    terminal.say(
        "The address opens the page once, and reloading works; for another browser, "
        + ("press Enter here." if asks else "start the command again.")
    )
    terminal.say(
        f"Labels are written to {out}, and every action to {journal_file}, so that the next run continues "
        "from there. Stop with Ctrl-C."
    )
    if asks:
        # in the background, reading then fails instead of stopping the process
        if hasattr(signal, "SIGTTIN"):
            signal.signal(signal.SIGTTIN, signal.SIG_IGN)
        Thread(target=print_addresses, args=(server, sys.stdin.fileno()), daemon=True).start()
    written = -1
    with _open_browser(server.new_url()) if browser else nullcontext():
        while not stop.wait(_SAVE):
            written = _save(session, out, written, terminal)
    server.shutdown()
    background.stop()
    if background.error:
        terminal.note(background.error)
    _save(session, out, written, terminal)
    n_labels, n_classes = len(session.labelling.codes), len(set(session.labelling.codes.values()))
    summary = f"{counted(n_labels, 'label')} in {n_classes} classes: {out}"
    terminal.say(summary if out.exists() else "No label was given, so nothing was written.")


@contextmanager
def _open_browser(url: str) -> Iterator[None]:
    """Open an address in a browser by a private file: other users can see the command line of a browser."""
    with tempfile.TemporaryDirectory(prefix="gssl-label-") as folder:
        address = write_redirect(Path(folder), url).as_uri()
        Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        yield


def write_redirect(folder: Path, url: str) -> Path:
    """Write a page that only the user can read and that leads to an address."""
    page = folder / "label.html"
    page.touch(mode=0o600, exist_ok=False)
    page.write_text(
        f'<!doctype html><title>gssl label</title><meta http-equiv="refresh" content="0;url={url}">'
    )
    return page


def print_addresses(server: LabelServer, handle: int) -> None:
    """Print a new address for each line of a terminal."""
    # by the handle, because a thread that waits in sys.stdin would hold its lock when Python ends
    with suppress(OSError):
        while os.read(handle, 1024):
            print(f"Label at {server.new_url()}", flush=True)


def _save(session: Session, out: Path, written: int, terminal: Terminal) -> int:
    """Write the labels if they have changed; return their version."""
    version = session.version
    if version != written and (session.labelling.codes or out.exists()):
        terminal.note(*session.write(out))
    return version


def read_texts(inputs: Inputs, problem: Problem) -> np.ndarray | None:
    """Read the text columns of the features, to show them on the page."""
    names = text_columns(inputs.text)
    if not names or inputs.features is None:
        return None
    table = open_table(inputs.features, header=inputs.header, graph_part="nodes")
    column = pick_column(table, inputs.id_column, IDS, 0)
    # missing texts are skipped, and NULL if all are
    texts = ", ".join(text_sql(table, name) for name in names)
    text = f"nullif(concat_ws(chr(10) || chr(10), {texts}), '')"
    rows = table.fetch_columns(
        f"SELECT {text_sql(table, column)} AS id, {text} AS text FROM {table.relation}"
    )
    by_id = dict(zip(rows["id"], rows["text"], strict=True))
    if problem.kinds is not None:
        nodes = problem.kinds.resolve(Nodes(np.array(list(by_id), dtype=object), id_column=column))
        by_id = dict(zip(nodes.ids, by_id.values(), strict=True))
    return np.array([by_id.get(node) for node in problem.node_ids], dtype=object)

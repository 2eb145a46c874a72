"""``gssl label``: serve a local page for labelling nodes."""

import os
import signal
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from threading import Event, Thread

from gssl.cli.console import Terminal
from gssl.cli.run import Run
from gssl.io.table_writing import check_outputs
from gssl.label.background import BackgroundFit
from gssl.label.browser import open_browser
from gssl.label.journal import Journal, journal_path
from gssl.label.server import LabelServer
from gssl.label.session import Session
from gssl.label.texts import read_texts
from gssl.wording import counted


def run_label(run: Run, out: Path, port: int, browser: bool, *, save_every: float = 3.0) -> None:
    """Read the tables, replay the journal, serve the page until Ctrl-C, and write the labels.

    Every ``save_every`` seconds it checks whether the file of labels is up to date.
    """
    terminal = run.terminal
    journal_file = journal_path(out)
    check_outputs(out, run.inputs.sources(), journal_file)
    if out.exists() and not journal_file.exists():
        raise ValueError(
            f"{out} already exists and is not from gssl label: give it as --labels, and a new --out."
        )
    problem = run.read()
    inputs = run.inputs
    texts = read_texts(inputs.features, problem, id_column=inputs.id_column, header=inputs.header)
    journal = Journal(journal_file, inputs.answers)
    try:
        with terminal.stage("preparing"), terminal.step("the page"):
            session = Session(problem, journal, texts, answers=inputs.answers)
        terminal.note(*session.notes)
        if journal.actions:
            terminal.note(
                f"{journal_file} holds {counted(len(journal.actions), 'action')}: going on from there."
            )
        with LabelServer(session, port) as server:
            _serve(server, out, browser, terminal, journal_file, save_every)
    finally:
        journal.close()


def _serve(
    server: LabelServer, out: Path, browser: bool, terminal: Terminal, journal_file: Path, save_every: float
) -> None:
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
    with open_browser(server.new_url()) if browser else nullcontext():
        while not stop.wait(save_every):
            written = _save(session, out, written, terminal)
    server.shutdown()
    background.stop()
    if background.error:
        terminal.note(background.error)
    _save(session, out, written, terminal)
    terminal.say(
        f"{session.labelling.summary}: {out}"
        if out.exists()
        else "No label was given, so nothing was written."
    )


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

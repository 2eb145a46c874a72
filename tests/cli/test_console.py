"""The installed command as a process: pipes, terminals, Ctrl-C, full disks."""

import logging
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gssl.cli.console import Terminal

GSSL = str(Path(sys.executable).parent / "gssl")

CLASSIFY = ["classify", "--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv"]
CLASSIFY += ["--method", "sgc", "--out", "p.csv"]


def call(*arguments, **settings):
    return subprocess.run(
        [GSSL, *arguments], capture_output=True, text=True, timeout=120, check=False, **settings
    )


def on_a_terminal(*arguments, until=None, environment=None):
    """Run on a terminal, send SIGINT once ``until`` appears, and return exit code and text."""
    master, slave = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"} | (environment or {})
    process = subprocess.Popen(
        [GSSL, *arguments],
        stdout=slave,
        stderr=slave,
        env=environment,
        # background jobs of a shell may ignore SIGINT
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(slave)
    seen, sent, deadline = b"", False, time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
        if until is not None and not sent and until in seen:
            process.send_signal(signal.SIGINT)
            sent = True
    os.close(master)
    return process.wait(timeout=60), seen.decode()


def wherever_it_runs(text):
    """Return the lines that do not depend on the speed of the machine."""
    return [line for line in text.splitlines() if " s  so far " not in line]


def test_a_pipe_gets_plain_text_and_no_bar(graph):
    done = call(*CLASSIFY)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "\r" not in done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "30 predictions: p.csv"
    lines = [line for line in wherever_it_runs(done.stderr) if not line.startswith("note: compiled ")]
    stages = [re.sub(r"\d+\.\d( [MG]B)?", "#", line) for line in lines]
    assert [" ".join(line.split()) for line in stages] == [
        "reading e.csv, l.csv, f.csv",
        "note: f.csv: 3 columns of measurements are standardised (mean 0, deviation 1).",
        "reading # s 30 nodes, 60 edges, 3 features, 9 labels",
        "fitting # s EmbeddingClassifier",
        "predicting # s",
        "writing # s p.csv",
        "total # s at most # of memory",
    ]


def test_a_long_stage_in_a_pipe_says_so_now_and_then(capsys):
    terminal = Terminal(every=0.05)
    with terminal.stage("fitting"), terminal.step("OGC") as move:
        move(3, 64)
        time.sleep(0.3)
    *meanwhile, last = capsys.readouterr().err.splitlines()
    # a busy machine may take longer than told
    assert len(meanwhile) >= 2
    assert all(line.startswith("fitting") and line.endswith("so far OGC 3 of 64") for line in meanwhile)
    assert "so far" not in last


def test_messages_of_one_kind_are_printed_once_unless_all_are_asked_for(capsys):
    for verbose, count in ((False, 1), (True, 3)):
        Terminal(verbose=verbose)
        for loop in ("mix", "mix", "add"):
            logging.getLogger("gssl").info("compiled %s", loop)
        assert capsys.readouterr().err.count("note: compiled") == count


@pytest.mark.parametrize("command", ["audit", "embed", "suggest", "check"])
def test_every_stage_has_one_line_with_seconds(graph, run, command):
    labels = [] if command == "embed" else ["--labels", "l.csv"]
    out = [] if command == "check" else ["--out", "o.csv"]
    done = run(command, "--edges", "e.csv", "--features", "f.csv", *labels, *out)
    first, *lines = [line for line in wherever_it_runs(done.stderr) if not line.startswith("note: ")]
    assert first.startswith("reading e.csv, ")
    names = [re.fullmatch(r"(\w+) +\d+\.\d s\b.*", line).group(1) for line in lines]
    assert len(set(names)) == len(names)
    assert names[0] == "reading"
    assert names[-2:] == ["writing" if out else "choosing", "total"]


def test_predictions_are_announced_before_the_report_is_made(graph, run, monkeypatch):
    """The table can be used before the report is finished."""
    pytest.importorskip("vl_convert")

    def fail(*arguments, **settings):
        assert len(graph.read("p.csv")) == 30
        raise ValueError("the page fails.")

    monkeypatch.setattr("gssl.report.write_report", fail)
    done = run(*CLASSIFY, "--report", "r.html", ok=False)
    assert "30 predictions: p.csv" in done.stdout
    assert done.stderr.splitlines()[-1] == "gssl: the page fails."


def test_quiet_tells_nothing_but_errors(graph, run):
    assert run(*CLASSIFY, "-q", "--save", "m.gssl").output == ""
    assert len(graph.read("p.csv")) == 30
    Path("e.csv").unlink()
    done = run(*CLASSIFY, "-q", ok=False)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "gssl: e.csv does not exist: check its name and folder.\n"


def test_a_terminal_gets_a_bar(graph):
    code, text = on_a_terminal(*CLASSIFY)
    assert code == 0
    assert all(stage in text for stage in ("reading", "fitting", "predicting", "writing", "total"))
    assert "━" in text


def test_a_closed_pipe_is_no_error():
    shell = subprocess.run(
        f"{GSSL} datasets list | head -n 1", shell=True, capture_output=True, text=True, check=False
    )
    assert shell.stderr == ""
    assert len(shell.stdout.splitlines()) == 1


def limited():
    """Limit files to half a kilobyte, to simulate a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))


@pytest.mark.parametrize(
    "arguments",
    [CLASSIFY, ["embed", "--edges", "e.csv", "--features", "f.csv", "--out", "u.npz"]],
    ids=["csv", "npz"],
)
def test_a_full_disk_leaves_nothing(graph, arguments):
    before = sorted(graph.folder.iterdir())
    done = call(*arguments, preexec_fn=limited)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert f"gssl: {arguments[-1]} cannot be written" in done.stderr.splitlines()[-1]
    assert sorted(graph.folder.iterdir()) == before


def test_ctrl_c_while_fitting_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    n = 20_000
    generator = np.random.default_rng(0)
    ids = np.array([f"n{i}" for i in range(n)])
    np.savez("x.npz", ids=ids, features=generator.random((n, 300), dtype=np.float32))
    pairs = generator.integers(0, n, (200_000, 2))
    Path("e.csv").write_text("source,target\n" + "".join(f"n{a},n{b}\n" for a, b in pairs.tolist()))
    before = sorted(tmp_path.iterdir())
    arguments = ["embed", "--edges", "e.csv", "--features", "x.npz", "--depth", "400", "--out", "u.npz"]
    code, text = on_a_terminal(*arguments, until=b"fitting")
    assert code == 130
    assert "Traceback" not in text
    assert text.splitlines()[-1].endswith("gssl: interrupted; nothing was left half-written.")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(("terminal", "lines"), [("1", 3), ("0", 1)])
def test_sentences_are_broken_between_words_on_a_terminal_only(monkeypatch, capsys, terminal, lines):
    monkeypatch.setenv("TTY_COMPATIBLE", terminal)
    monkeypatch.setenv("COLUMNS", "30")
    path = "/a/long/path-with-hyphens/that/nobody/wants/broken.csv"
    Terminal().say(f"All the predictions are here: {path} (30 rows)")
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == lines
    assert path in (shown[1] if lines == 3 else shown[0])

"""Run pages of the manual as sessions: Python after ``>>>`` and commands after ``$``, in order."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

_OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
# a prompt, continuation lines after a backslash, and output up to the next prompt or blank line
_COMMAND = re.compile(
    r"^(?P<indent> +)\$ (?P<source>(?:.*\\\n)*.*)\n(?P<want>(?:(?P=indent)(?!\$ ).*\n)*)", re.MULTILINE
)
# times and memory differ between runs
_COST = re.compile(r" +\d+\.\d s\b|\d+\.\d [MG]B of memory")
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
# processors round differently, which may change the class of a few nodes; 0 shows the exact output for a page
_TOLERANCE = float(os.environ.get("PAGE_TOLERANCE", "0.01"))
_BIN = Path(sys.executable).parent


def run_command(command: str) -> None:
    """Run a command in a shell and print its output."""
    # wide enough that no table is wrapped; no colours
    settings = {"COLUMNS": "88", "NO_COLOR": "1", "PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}"}
    environment = {**os.environ, **settings}
    done = subprocess.run(
        ["bash", "-c", command], text=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    lines = done.stdout.splitlines(keepends=True)
    # drop lines that only the first run on a machine, or a slow machine, prints
    sys.stdout.writelines(
        line for line in lines if not line.startswith("note: compiled ") and " s  so far" not in line
    )


class _About(doctest.OutputChecker):
    """Compare numbers with a tolerance, and other text exactly."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        want, got = (_COST.sub(" #", text) for text in (want, got))
        if super().check_output(want, got, optionflags):
            return True
        ours, theirs = ([_read(number) for number in _NUMBER.findall(text)] for text in (want, got))
        if len(ours) != len(theirs) or not all(_close(a, b) for a, b in zip(ours, theirs, strict=True)):
            return False
        return super().check_output(_NUMBER.sub("#", want), _NUMBER.sub("#", got), optionflags)


def _read(number: str) -> float:
    return float(number.replace(",", ""))


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= _TOLERANCE * max(abs(a), abs(b), 0.2)


class _Sessions(doctest.DocTestParser):
    """Treat commands as examples too, in the order of the page."""

    def get_examples(self, string: str, name: str = "<string>") -> list[doctest.Example]:
        examples = super().get_examples(string, name)
        for match in _COMMAND.finditer(string):
            want = re.sub(rf"^{match['indent']}", "", match["want"], flags=re.MULTILINE)
            source = f"run_command({match['source']!r})\n"
            examples.append(doctest.Example(source, want, lineno=string.count("\n", 0, match.start())))
        return sorted(examples, key=lambda example: example.lineno)


def run_page(path: Path) -> tuple[doctest.TestResults, str]:
    """Run a page in the current folder; return the counts of examples and failures, and the messages."""
    text = path.read_text(encoding="utf-8")
    given = {"run_command": run_command, "__name__": "__main__"}
    test = _Sessions().get_doctest(text, given, path.name, str(path), 0)
    output: list[str] = []
    runner = doctest.DocTestRunner(_About(), optionflags=_OPTIONS)
    results = runner.run(test, out=output.append)
    return results, "".join(output)

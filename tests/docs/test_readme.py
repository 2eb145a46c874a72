"""The README's code runs, and its commands, options, files and make targets exist."""

import re
from pathlib import Path

import pytest

import gssl
from gssl.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
README = PAGES[0].read_text(encoding="utf-8")


def test_the_python_code_runs():
    first, scale = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(first, names)
    data, model = names["data"], names["model"]
    assert len(model.transduction_) == data.n_nodes
    compile(scale, "README.md", "exec")
    comment = re.search(r"explain_\)  # (.*)", first)[1]
    for part in comment.split("…"):
        assert part.strip() in model.explain_
    assert {"memory", "resume", "client"} <= set(gssl.execution.__wrapped__.__kwdefaults__)


def test_the_readme_is_short():
    assert README.count("\n") <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_and_options_exist(page):
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    code = [*re.findall(r"`(gssl [^`]+)`", text), *re.findall(r"^\s*(?:\$ )?(gssl .*)$", text, re.MULTILINE)]
    for line in code:
        command = app
        words = line.split("#")[0].split()[1:]
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        known = {
            option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
        }
        assert {word for word in words if word.startswith("--")} <= known | {"--help", "--version"}, line


@pytest.mark.parametrize("page", PAGES[:2], ids=lambda page: page.stem)
def test_links_and_make_targets_exist(page):
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE)) <= targets

"""The README's code runs, and its commands, options, files and make targets exist."""

import importlib.util
import re
from pathlib import Path

import pandas as pd
import pytest

import gssl
from gssl.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
README = PAGES[0].read_text(encoding="utf-8")


def test_the_python_code_runs(tmp_path, monkeypatch):
    first, tables, scale = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(first, names)
    data, model = names["data"], names["model"]
    assert len(model.transduction_) == data.n_nodes
    compile(scale, "README.md", "exec")
    _run_on_tables(tables, tmp_path, monkeypatch)
    comment = re.search(r"explain_\)  # (.*)", first)[1]
    for part in comment.split("…"):
        assert part.strip() in model.explain_
    assert {"memory", "resume", "client"} <= set(gssl.execution.__wrapped__.__kwdefaults__)


def _run_on_tables(code, tmp_path, monkeypatch):
    """Run the README's lines about tables on small ones of these names."""
    monkeypatch.chdir(tmp_path)
    ids = [f"n{k}" for k in range(24)]
    links = "".join(f"{ids[k]},{ids[(k + 3) % 24]}\n" for k in range(24))
    (tmp_path / "links.csv").write_text(f"a,b\n{links}")
    (tmp_path / "known.csv").write_text("id,label\n" + "".join(f"{ids[k]},c{k % 3}\n" for k in range(9)))
    pd.DataFrame({"id": ids, "age": [20.0 * (k % 3) + k for k in range(24)]}).to_parquet("people.parquet")
    names: dict[str, object] = {"gssl": gssl}
    lines = code if importlib.util.find_spec("vl_convert") else code.rpartition("gssl.write_report")[0]
    exec(lines, names)
    assert len(names["model"].predictions(names["problem"])) == 24


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

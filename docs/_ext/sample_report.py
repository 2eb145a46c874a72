"""The report that the manual shows: made by `gssl classify` at each build, as any reader would make it."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from altair_charts import INK, draw

import browser
import gssl
from browser import Shot

# what the page about reports shows of it, and how wide
CHARTS = {"map": 700, "confidences": 330, "reliability": 330}
SHOTS = {"report": Shot(1100, 900), "report-narrow": Shot(420, 900, "dark")}


def write_tables(folder: Path) -> None:
    """Write embedded Cora as three CSV files, with the 20 labels per class of its default split."""
    data = gssl.datasets.load("cora")
    train = set(data.splits["default"]["train"].tolist())
    links = data.adjacency.tocoo()
    ids = data.node_ids
    pairs = [(ids[i], ids[j]) for i, j in zip(*links.coords, strict=True) if i < j]
    _write(folder / "citations.csv", ["source", "target"], pairs)
    words = data.features.tocoo()
    triples = [(ids[i], f"word{j}", 1) for i, j in zip(*words.coords, strict=True)]
    _write(folder / "words.csv", ["id", "feature", "value"], triples)
    subjects = [(ids[i], data.class_names[data.labels[i]]) for i in sorted(train)]
    _write(folder / "subjects.csv", ["id", "label"], subjects)


def _write(path: Path, header: list[str], rows: list[Any]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def make_report(folder: Path) -> Path:
    """Run the command whose report is shown."""
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "report.html"
    if not report.exists():
        write_tables(folder)
        tables = ["--edges", "citations.csv", "--labels", "subjects.csv", "--features", "words.csv"]
        outputs = ["--out", "predictions.csv", "--report", report.name]
        command = [sys.executable, "-c", "from gssl.cli import main; main()", "classify", *tables, *outputs]
        subprocess.run([*command, "--quiet"], cwd=folder, check=True)
    return report


def draw_charts(report: Path, folder: Path) -> None:
    """Draw charts of a report as pictures, by the specifications that it carries."""
    html = report.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="charts">(.*?)</script>', html, re.DOTALL)
    assert found is not None, f"{report} carries no charts"
    specs = json.loads(found[1])
    for name, width in CHARTS.items():
        text = json.dumps(specs[name]).replace("currentColor", INK)
        spec = json.loads(text) | {"width": width}
        if name == "map":
            spec["height"] = round(0.56 * width)
        draw(spec, folder / f"{name}.svg")


def take_pictures(report: Path, folder: Path) -> None:
    """Take pictures of the report itself, or say in their place why there are none."""
    program = browser.chromium()
    if program is None:
        browser.say_why_not(folder, SHOTS)
    elif not all((folder / f"{name}.png").exists() for name in SHOTS):
        browser.take(report.resolve().as_uri(), folder, SHOTS, program)


def make_samples(app: Any) -> None:
    """Make the report and its pictures before pages that show them are read."""
    shown = Path(app.srcdir) / "_static" / "sample"
    report = make_report(Path(app.srcdir) / "_build" / "sample")
    draw_charts(report, shown)
    take_pictures(report, shown)
    (shown / report.name).write_bytes(report.read_bytes())


def setup(app: Any) -> dict[str, bool]:
    """Make the samples when a build begins."""
    app.connect("builder-inited", make_samples)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

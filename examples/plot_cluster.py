"""
Less memory, two workers, and a crash
=====================================

A graph that does not fit is cut into slabs of columns. They pass one after the other through the memory that
there is, or go to the workers of a cluster. This example gives one command in four ways, kills it once, and
compares what was written. It needs ``pip install '.[distributed,report]'``.
"""

# %%
# The tables are a drawn graph of 10,000 pages with 50,000 links and 64 words. Of each of five kinds, 20
# pages have a label. It is small, so that this page is built quickly. The commands do not depend on the size.
import csv
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import altair as alt
import numpy as np

import gssl

folder = Path(tempfile.mkdtemp())
pages = gssl.datasets.make_block_graph(10_000, 50_000, homophily=0.7, random_state=0)
train = pages.splits["default"]["train"]
for name, header, columns in (
    ("links.csv", "source,target", pages.adjacency.nonzero()),
    ("kinds.csv", "id,label", (train, pages.labels[train])),
):
    np.savetxt(folder / name, np.column_stack(columns), "%d", ",", header=header, comments="")
np.save(folder / "words.npy", pages.features.toarray())
np.save(folder / "words.ids.npy", np.arange(10_000).astype(str))

# %%
# Before a large run, ask what it takes. ``gssl plan`` reads and computes nothing; the speed of a worker is
# given here, and measured if it is not.


def gssl_command(line, **settings):
    """Start a command in the folder of the tables."""
    words = [sys.executable, "-c", "from gssl.cli import main; main()", *line.split()]
    return subprocess.Popen(words, cwd=folder, text=True, **settings)


size = "--nodes 111e6 --edges 1.6e9 --features 128 --workers 8 --bandwidth 10GB"
memory = (8, 16, 64)
asked = [gssl_command(f"plan {size} --memory {gb}GB", stdout=subprocess.PIPE) for gb in memory]
plans = [child.communicate()[0] for child in asked]
print(plans[-1])

# %%
# Less memory means narrower slabs, and more passes over the graph.
rows = [
    {"memory": f"{gb} GB", "passes": int(re.search(r"passes +(\d+)", plan)[1])}
    for gb, plan in zip(memory, plans, strict=True)
]
chart = (
    alt.Chart(alt.InlineData(values=rows), width=480, height=140)
    .mark_bar()
    .encode(
        x=alt.X("passes:Q", title="passes of each worker over the graph"),
        y=alt.Y("memory:N", title="memory of a worker", sort=None),
    )
)

# %%
# Now the run: as it is, then in 3 MB for slabs, graph and scores, then on two workers. ``--workers 2`` starts
# two processes here; ``--dask tcp://scheduler:8786`` takes a cluster that is there already. The rest of the
# line stays.
tables = "--edges links.csv --features words.npy --labels kinds.csv"
run = f"classify {tables} --method ggcm --no-calibrate --quiet"
for options in ("--out plain.csv", "--out lean.csv --memory 3MB", "--out spread.csv --workers 2"):
    print(options, "| exit code:", gssl_command(f"{run} {options}").wait())

# %%
# A power cut. With ``--resume`` finished columns stay in a folder, and a note there says which: we kill the
# run as soon as there are some. No predictions were written, for outputs appear whole or not at all.
keep = "--out resumed.csv --memory 3MB --resume kept"


def finished():
    """Count the columns that a run has finished."""
    notes = [json.loads(path.read_text()) for path in folder.glob("kept/*/done.json")]
    return sum(stop - start for note in notes for start, stop in note["columns"])


victim = gssl_command(f"{run} {keep}")
while victim.poll() is None and finished() == 0:
    time.sleep(0.001)
victim.kill()
assert victim.wait() != 0, "the run was faster than the power cut"
assert 0 < finished() < pages.features.shape[1]
print("exit code:", victim.returncode, "| predictions:", (folder / "resumed.csv").exists())
print("finished columns:", finished(), "of", pages.features.shape[1])

# %%
# The same command again goes on from there. Everybody says the same about all 10,000 pages:
print("exit code:", gssl_command(f"{run} {keep}").wait())


def read(name):
    """Give the labels and the confidences of a table of predictions."""
    with (folder / name).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row["label"] for row in rows], np.array([float(row["confidence"]) for row in rows])


labels, confidence = read("plain.csv")
for name in ("lean.csv", "spread.csv", "resumed.csv"):
    others, sure = read(name)
    apart = abs(sure - confidence).max()
    print(f"{name}: the same labels: {others == labels}; confidence within {apart:.4f}")
lean, resumed = ((folder / name).read_bytes() for name in ("lean.csv", "resumed.csv"))
print("a run that was killed writes the same bytes as one that was not:", lean == resumed)

# %%
# From Python the same is
#
# .. code-block:: python
#
#    model.fit(X, y, adjacency=A, memory_budget="4GB", resume="kept/")
#    model.fit(X, y, adjacency=A, client=distributed.Client("tcp://scheduler:8786"))
#
# and :doc:`/scale` says what fits where, who may reach a scheduler, and what happens when a worker dies.

"""
Less memory, two workers, and a crash
=====================================

A problem that does not fit in memory is cut into slabs of columns, which are processed one after the other
or on the workers of a cluster. This example runs one command in four ways, kills it once, and compares the
outputs. It needs ``pip install '.[distributed,report]'``.
"""

# %%
# The tables are a synthetic graph of 10,000 pages with 50,000 links and 64 words; 20 pages of each of five
# kinds have a label. It is small so that this page builds quickly. The commands do not depend on the size.
import csv
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
# Before a large run, estimate what it takes. Given numbers, ``gssl plan`` reads no data; given a graph store,
# it also measures the time.


def gssl_command(line, **settings):
    """Start a command in the folder of the tables."""
    words = [sys.executable, "-c", "from gssl.cli import main; main()", *line.split()]
    return subprocess.Popen(words, cwd=folder, text=True, **settings)


size = "--nodes 111e6 --edges 1.6e9 --features 128 --workers 8"
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
# Now the run: in memory, then with 3 MB for slabs, graph and scores, then on two workers. ``--workers 2``
# starts two processes on this machine; ``--dask tcp://scheduler:8786`` uses an existing cluster.
tables = "--edges links.csv --features words.npy --labels kinds.csv"
run = f"classify {tables} --method ggcm --no-calibrate --quiet"
for options in ("--out plain.csv", "--out lean.csv --memory 3MB", "--out spread.csv --workers 2"):
    print(options, "| exit code:", gssl_command(f"{run} {options}").wait())

# %%
# Now a crash. With ``--resume``, finished columns are kept in a folder. We kill the run as soon as there are
# some. No predictions are written, because outputs appear whole or not at all.
keep = "--out resumed.csv --memory 3MB --resume kept"


def finished():
    """Count the columns that a run has finished."""
    return sum(int(np.load(mask).sum()) for mask in folder.glob("kept/*/finished.npy"))


victim = gssl_command(f"{run} {keep}")
while victim.poll() is None and finished() == 0:
    time.sleep(0.001)
victim.kill()
assert victim.wait() != 0, "the run was faster than the power cut"
assert finished() > 0
print("exit code:", victim.returncode, "| predictions:", (folder / "resumed.csv").exists())
print("finished columns:", finished(), "of", pages.features.shape[1])

# %%
# The same command resumes from there. All runs predict the same labels for all 10,000 pages:
print("exit code:", gssl_command(f"{run} {keep}").wait())


def read(name):
    """Return the labels and confidences of a table of predictions."""
    with (folder / name).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row["label"] for row in rows], np.array([float(row["confidence"]) for row in rows])


labels, confidence = read("plain.csv")
for name in ("lean.csv", "spread.csv", "resumed.csv"):
    others, sure = read(name)
    apart = abs(sure - confidence).max()
    print(f"{name}: the same labels: {others == labels}; confidence within {apart:.4f}")
lean, resumed = ((folder / name).read_bytes() for name in ("lean.csv", "resumed.csv"))
print("the resumed run wrote the same bytes as the uninterrupted one:", lean == resumed)

# %%
# The same in Python:
#
# .. code-block:: python
#
#    with gssl.execution(memory="4GB", resume="kept/"):
#        model.fit(X, y, adjacency=A)
#    with gssl.execution(client=distributed.Client("tcp://scheduler:8786")):
#        model.fit(X, y, adjacency=A)
#
# :doc:`/scale` explains memory, clusters, lost workers, and access to a scheduler.

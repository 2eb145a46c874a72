"""
Less memory, two workers, and a crash
=====================================

A graph that does not fit is cut into slabs of columns. They pass one after the other through the memory that
there is, or go to the workers of a cluster. This example gives one command in four ways, kills it once, and
compares what was written, byte by byte. It needs ``pip install '.[distributed,report]'``.
"""

# %%
# The tables are a drawn graph of 4,000 pages with 20,000 links and 64 words. Of each of five kinds, 20 pages
# have a label. It is small, so that this page is built quickly. The commands do not depend on the size.
import hashlib
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
pages = gssl.datasets.make_block_graph(4000, 20_000, homophily=0.7, random_state=0)
train = pages.splits["default"]["train"]
for name, header, columns in (
    ("links.csv", "source,target", pages.adjacency.nonzero()),
    ("kinds.csv", "id,label", (train, pages.labels[train])),
):
    np.savetxt(folder / name, np.column_stack(columns), "%d", ",", header=header, comments="")
np.save(folder / "words.npy", pages.features.toarray())
np.save(folder / "words.ids.npy", np.arange(4000).astype(str))

# %%
# Before a large run, ask what it takes. ``gssl plan`` reads and computes nothing; the speed of a worker is
# given here, and measured if it is not.


def gssl_command(line, **settings):
    """Start a command in the folder of the tables."""
    words = [sys.executable, "-c", "from gssl.cli import main; main()", *line.split()]
    return subprocess.Popen(words, cwd=folder, text=True, **settings)


size = "--nodes 111e6 --edges 1.6e9 --features 128 --workers 8 --bandwidth 10GB"
memory = (8, 16, 32, 64)
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
# Now the run, as it is, then in 2 MB for slabs, graph and scores, then on two workers. ``--workers 2`` starts
# two processes here; ``--dask tcp://scheduler:8786`` takes a cluster that is there already. The rest of the
# line stays.
run = "classify --edges links.csv --features words.npy --labels kinds.csv --method ogc --quiet"
for options in ("--out plain.csv", "--out lean.csv --memory 2MB", "--out spread.csv --workers 2"):
    print(options, "| exit code:", gssl_command(f"{run} {options}").wait())

# %%
# A power cut. With ``--resume`` finished work stays in a folder: we wait until some of it is there, and kill
# the run. No predictions were written, for outputs appear whole or not at all.
keep = "--out resumed.csv --memory 2MB --resume kept"
victim = gssl_command(f"{run} {keep}")
while victim.poll() is None and len(list(folder.glob("kept/**/*.npy"))) < 6:
    time.sleep(0.002)
victim.kill()
print("exit code:", victim.wait())
print("predictions:", (folder / "resumed.csv").exists())
print("files of finished work:", len(list(folder.glob("kept/**/*.npy"))))

# %%
# The same command again goes on from there.
print("exit code:", gssl_command(f"{run} {keep}").wait())
for name in ("plain.csv", "lean.csv", "spread.csv", "resumed.csv"):
    print(f"{name:12s} SHA-256 {hashlib.sha256((folder / name).read_bytes()).hexdigest()[:16]}…")

# %%
# All four files are one. From Python the same is
#
# .. code-block:: python
#
#    model.fit(X, y, adjacency=A, memory_budget="4GB", resume="kept/")
#    model.fit(X, y, adjacency=A, client=distributed.Client("tcp://scheduler:8786"))
#
# and :doc:`/scale` says what fits where, who may reach a scheduler, and what happens when a worker dies.

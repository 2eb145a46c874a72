"""
New nodes every day
===================

A model is fitted today, and tomorrow there are new nodes with links to old ones. Save the model, predict what
is new, keep it, and fit again when there are new labels.
"""

# %%
# Day 0
# -----
#
# The graph is Cora without 300 test papers, which are published 100 a day. 20 papers of each subject are
# labelled.
import tempfile
from pathlib import Path

import altair as alt
import numpy as np

import gssl
from gssl.io import extend, from_scipy, load_problem, predict_new

data = gssl.datasets.load("cora").normalized()
subjects = np.array(data.class_names)[data.labels]
labels = np.where(data.mask_labels("default", parts=("train",)) != -1, subjects, None)
later = np.random.default_rng(0).permutation(data.splits["default"]["test"])[:300]
old = np.setdiff1d(np.arange(data.n_nodes), later)


def papers(nodes):
    """Return these papers, with the links among them; from files, this is ``gssl.read``."""
    ids = data.node_ids[nodes]
    return from_scipy(data.adjacency[nodes][:, nodes], labels[nodes], data.features[nodes], ids)


today = papers(old)
model = gssl.AutoClassifier().fit(today)

# %%
# With ``problem=``, the file also holds the graph, the features and the known labels, so that tomorrow the
# new papers alone suffice. It never holds code.
folder = Path(tempfile.mkdtemp())
gssl.save(model, folder / "papers.gssl", problem=today)
print(f"{(folder / 'papers.gssl').stat().st_size / 1024:.0f} KiB")

# %%
# Days 1, 2 and 3
# ---------------
#
# Each day brings 100 papers, and their links to papers that are known. ``predict_new`` joins them to the
# saved graph by their ids, and predicts. ``extend`` keeps them for the next day, without their predictions:
# a model that learns from its own guesses believes in them.
saved, known = gssl.load(folder / "papers.gssl"), load_problem(folder / "papers.gssl")
rows = []
for day, arrived in enumerate(np.split(later, 3), start=1):
    here = np.flatnonzero(np.isin(data.node_ids, known.node_ids))
    linked = np.intersect1d(data.adjacency[arrived].indices, here)
    new = papers(np.concatenate([arrived, linked]))
    said = dict(zip(*[predict_new(saved, new, known).to_dict()[k] for k in ("id", "label")], strict=True))
    right = np.mean([said[data.node_ids[i]] == subjects[i] for i in arrived])
    known, _ = extend(known, new)
    rows.append({"day": str(day), "paper": "predicted on arrival", "right": 100 * right})
    print(f"day {day}: {known}; {100 * right:.0f} % right")

# %%
# What does it cost that the model has not seen them? Compare with a fit on day 3, which knows all papers and
# links, but no more labels; and with words alone:
again = gssl.AutoClassifier().fit(known)
at = {node: k for k, node in enumerate(known.node_ids)}
alone = gssl.EmbeddingClassifier(gssl.NoGraph()).fit(today.features, today.y)
guess = alone.predict(data.features[later])
for day, arrived in enumerate(np.split(np.arange(300), 3), start=1):
    nodes = later[arrived]
    whole = again.transduction_[[at[data.node_ids[i]] for i in nodes]]
    rows.append({"day": str(day), "paper": "fitted again", "right": 100 * np.mean(whole == subjects[nodes])})
    rows.append(
        {"day": str(day), "paper": "words alone", "right": 100 * np.mean(guess[arrived] == subjects[nodes])}
    )
for row in rows[3:]:
    print(f"day {row['day']}, {row['paper']}: {row['right']:.0f} %")

chart = (
    alt.Chart(alt.InlineData(values=rows), width=480, height=220)
    .mark_bar()
    .encode(
        x=alt.X("day:N", axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("paper:N", sort=None),
        y=alt.Y("right:Q", title="right, % of 100 papers"),
        color=alt.Color("paper:N", title=None, sort=None),
    )
)

# %%
# Fit again when labels arrive, or when there are many new nodes. If you need answers in milliseconds on a
# graph of millions, use :class:`gssl.EmbeddingClassifier` with :class:`gssl.SGC`, :class:`gssl.SSGC` or
# :class:`gssl.PPR`: ``predict(X, adjacency=A, nodes=new)`` then computes only on the neighbourhood of the new
# nodes.
#
# From the shell
# --------------
#
# Tables of the new papers and their citations suffice; the whole tables give the same.
#
# .. code-block:: sh
#
#    gssl classify --edges links.csv --features words.csv --labels subjects.csv --out p.csv --save papers.gssl
#    gssl predict  --model papers.gssl --edges new-links.csv --features new-words.csv --out new.csv

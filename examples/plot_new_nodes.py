"""
Nodes that arrive later
=======================

A model is fitted today, and tomorrow there are new nodes. ``predict`` takes the larger graph. For a filter
of a few hops it computes only on the neighbourhood of the new nodes.
"""

# %%
# Today's graph is Cora without 300 test papers. It has 20 labels per subject.
import tempfile
from pathlib import Path

import altair as alt
import numpy as np

import gssl
from gssl.evaluation import accuracy

data = gssl.datasets.load("cora").normalized()
new = np.sort(data.splits["default"]["test"][:300])
old = np.setdiff1d(np.arange(data.n_nodes), new)
y = data.mask_labels("default", parts=("train",))[old]

model = gssl.EmbeddingClassifier(gssl.SGC(depth=2))
model.fit(data.features[old], y, adjacency=data.adjacency[old][:, old])

# %%
# Save the model and load it again. The file holds no features, graph or code.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "papers.gssl"
    gssl.save(model, path)
    print(f"{path.stat().st_size / 1024:.0f} KiB")
    later = gssl.load(path)

# %%
# Tomorrow the graph has all papers. We predict only the new ones.
predicted = later.predict(data.features, adjacency=data.adjacency, nodes=new)
whole = later.predict(data.features, adjacency=data.adjacency)[new]
print("the same as from the whole graph:", bool((predicted == whole).all()))

# %%
# Does it cost accuracy that the model has not seen them? Compare with the same model fitted on the whole
# graph (without the labels of the new papers), and with a model without links:
y_all = data.mask_labels("default", parts=("train",))
there = gssl.EmbeddingClassifier(gssl.SGC(depth=2)).fit(data.features, y_all, adjacency=data.adjacency)
alone = gssl.EmbeddingClassifier(gssl.NoGraph()).fit(data.features[old], y).predict(data.features[new])
bars = [
    {"nodes": name, "accuracy": 100 * accuracy(data.labels[new], labels)}
    for name, labels in {
        "arrived later": predicted,
        "there from the start": there.transduction_[new],
        "without links": alone,
    }.items()
]
for bar in bars:
    print(f"{bar['nodes']}: {bar['accuracy']:.1f} %")

chart = (
    alt.Chart(alt.InlineData(values=bars), width=480, height=120)
    .mark_bar()
    .encode(
        x=alt.X("accuracy:Q", title="accuracy on the 300 papers, %"),
        y=alt.Y("nodes:N", title=None, sort=None),
    )
)

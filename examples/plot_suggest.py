"""
Which node should I label next?
===============================

Labels cost time. :func:`gssl.suggest` returns the nodes whose labels help most: undecided ones that are
similar to many other undecided ones. This example labels Cora in rounds of seven, once as suggested and
three times at random.
"""

# %%
# Start with one label per subject.
import altair as alt
import numpy as np

import gssl
from gssl.evaluation import accuracy

data = gssl.datasets.load("cora").normalized()
rng = np.random.default_rng(0)
first = [rng.choice(np.flatnonzero(data.labels == k)) for k in range(data.n_classes)]


def label_in_rounds(choose, rounds=8):
    """Label seven nodes per round; return the accuracy on all nodes without a label, by round."""
    y = np.full(data.n_nodes, -1)
    y[first] = data.labels[first]
    curve = []
    for _ in range(rounds):
        model = gssl.EmbeddingClassifier(gssl.SSGC(), head="ridge")
        model.fit(data.features, y, adjacency=data.adjacency)
        curve.append(100 * accuracy(data.labels, model.transduction_, nodes=y == -1))
        picks = choose(model, y)
        y[picks] = data.labels[picks]  # in practice, somebody reads seven papers
    return curve


# %%
suggested = label_in_rounds(lambda model, y: gssl.suggest(model, 7))
draw = np.random.default_rng(1)
random = [label_in_rounds(lambda model, y: draw.choice(np.flatnonzero(y == -1), 7)) for _ in range(3)]

# %%
# The true labels of unlabelled papers are used only to draw the curves.
curves = {"suggested": suggested, "at random (mean of 3)": np.mean(random, axis=0).tolist()}
rows = [
    {"labels": 7 * (k + 1), "picked": name, "accuracy": value}
    for name, curve in curves.items()
    for k, value in enumerate(curve)
]
for name, curve in curves.items():
    print(f"{name}: {curve[0]:.1f} % with 7 labels, {curve[-1]:.1f} % with {7 * len(curve)}")

chart = (
    alt.Chart(alt.InlineData(values=rows), width=480, height=280)
    .mark_line(point=True, strokeWidth=2)
    .encode(
        x=alt.X("labels:Q"),
        y=alt.Y("accuracy:Q", title="accuracy on the rest, %", scale=alt.Scale(zero=False)),
        color=alt.Color("picked:N", title=None),
    )
)

# %%
# Each suggestion comes with a reason:
y = np.full(data.n_nodes, -1)
y[first] = data.labels[first]
model = gssl.EmbeddingClassifier(gssl.SSGC(), head="ridge").fit(data.features, y, adjacency=data.adjacency)
for pick in gssl.selection.suggestions(model, 3):
    print(data.node_ids[pick.node], pick.why)

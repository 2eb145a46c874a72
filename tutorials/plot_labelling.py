"""
Labelling from nothing
======================

You have links and features and not a single label. Labels cost time, so give those that help most, look where
the model contradicts you, and stop when more would add little.
"""

# %%
# On a page
# ---------
#
# .. code-block:: sh
#
#    gssl label --edges links.csv --features words.csv --out labels.csv
#
# opens a page in your browser. It suggests the node whose label would help most, classifies all nodes again
# after every label, and says how accurate it is. :doc:`/labelling` explains every part.
#
# .. image:: /_static/sample/labelling.*
#    :alt: A paper with its words, buttons for seven subjects, what the model thinks, and a map of all papers.
#    :width: 100%
#
# Behind the page is a session, which a program can use as well. Here a program that knows the subjects of
# Cora labels 60 papers as suggested, and another one 60 papers in random order.
import altair as alt
import numpy as np

import gssl
from gssl.io import from_scipy
from gssl.label import Session

data = gssl.datasets.load("cora")
truth = [data.class_names[code] for code in data.labels]


test = data.splits["default"]["test"]


def label_sixty(choose):
    """Label 60 papers; return the share of the test papers that is right, after every fifth label, and y."""
    session, curve = Session(from_scipy(data.adjacency, None, data.features), layout=False), []
    y = np.full(data.n_nodes, None, dtype=object)
    for count in range(1, 61):
        node = int(choose(session, count))
        session.act({"do": "label", "nodes": [node], "label": truth[node]}, session.version)
        y[node] = truth[node]
        if count % 5 == 0:
            right = np.mean([session.prediction(int(i)) == truth[i] for i in test])
            curve.append(100 * float(right))
    return curve, y


draws = [np.random.default_rng(seed).permutation(data.n_nodes) for seed in range(3)]
suggested, y = label_sixty(lambda session, count: session.suggest()[0])
drawn = [label_sixty(lambda session, count, order=order: order[count]) for order in draws]
random = [curve for curve, _ in drawn]

# %%
curves = {"suggested": suggested, "at random (mean of 3)": np.mean(random, axis=0).tolist()}
rows = [
    {"labels": 5 * (k + 1), "order": name, "right": value}
    for name, curve in curves.items()
    for k, value in enumerate(curve)
]
for name, curve in curves.items():
    print(f"{name}: {curve[1]:.1f} % right after 10 labels, {curve[-1]:.1f} % after 60")
chart = (
    alt.Chart(alt.InlineData(values=rows), width=480, height=240)
    .mark_line(point=True, strokeWidth=2)
    .encode(
        x=alt.X("labels:Q"),
        y=alt.Y("right:Q", title="right, % of 1,000 test papers", scale=alt.Scale(zero=False)),
        color=alt.Color("order:N", title=None),
    )
)

# %%
# This is one graph, on which linked papers are alike. Where neither links nor features say much, random order
# is better; the page says so, and :doc:`/labelling` has the measurements.
#
# Which next?
# -----------
#
# The labels of a page are a table, from which ``gssl classify`` and :class:`gssl.AutoClassifier` learn. Any
# fitted model suggests what to label next: undecided nodes that are similar to many other undecided ones.
problem = from_scipy(data.adjacency, y, data.features, node_ids=data.node_ids)
model = gssl.AutoClassifier().fit(problem)
print(model.explain_)
for pick in gssl.selection.suggestions(model, 3):
    print(data.node_ids[pick.node], pick.why)

# %%
# The first sentence of ``explain_`` is far too pessimistic here: labels that were suggested because they are
# hard say little about the rest. The page corrects for this in part. For a number to rely on, label a random
# sample: from here on, we use the sixty labels of the first random order.
at_random = drawn[0][1]
model = gssl.AutoClassifier().fit(data.features, at_random, adjacency=data.adjacency)
print(model.explain_)

# %%
# Are the labels right?
# ---------------------
#
# Some of the labels that you gave are wrong. :func:`gssl.audit` hides each in turn and asks the model. To
# test it, five of the sixty are changed to another subject:
rng = np.random.default_rng(1)
given = np.flatnonzero(at_random != np.array(None))
wrong = rng.choice(given, 5, replace=False)
spoilt = at_random.copy()
for node in wrong:
    spoilt[node] = rng.choice([name for name in data.class_names if name != at_random[node]])
doubtful = gssl.audit(gssl.AutoClassifier().fit(data.features, spoilt, adjacency=data.adjacency), changes=0)
print(doubtful.summary)
print("of the five, among the first ten:", len(set(doubtful.nodes[:10].tolist()) & set(wrong.tolist())))

# %%
# With sixty labels the model contradicts many that are right, so read the list, and change nothing unseen.
#
# How many more?
# --------------
#
# The learning curve fits the model to parts of the labels, and says how many reach a goal.
print(gssl.selection.learning_curve(model, target=0.9).text())

# %%
# From the shell
# --------------
#
# .. code-block:: sh
#
#    gssl classify --edges links.csv --features words.csv --labels labels.csv --out p.csv --save papers.gssl
#    gssl suggest  --model papers.gssl --n 20 --out next.csv
#    gssl audit    --model papers.gssl --out doubts.csv
#
# :doc:`/labels` says how these three work and how far to trust them.

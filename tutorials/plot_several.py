"""
Several labels per node
=======================

A page has topics, a protein has functions, a picture shows several things. :class:`gssl.AutoClassifier` also
predicts any number of labels per node, each with a probability and a threshold of its own.
"""

# %%
# 1,797 scanned digits, of which we ask three things at once: is the digit even, does it contain a loop, is it
# five or more? The images have no links, so each is linked to the most similar ones.
import altair as alt
import numpy as np

import gssl

digits = gssl.datasets.load("digits")
z = digits.labels
asked = {"even": z % 2 == 0, "loop": np.isin(z, [0, 6, 8, 9]), "five or more": z >= 5}
names = list(asked)
truth = np.column_stack(list(asked.values())).astype(float)

# %%
# The answers are a matrix of 0 and 1, with a column for each label and NaN where nobody has looked. Rows need
# not be complete: here one person has answered the first two questions about 80 images, and another one the
# last two about 80 others.
Y = np.full(truth.shape, np.nan)
first, second = np.random.default_rng(0).permutation(len(z))[:160].reshape(2, 80)
Y[first, :2] = truth[first, :2]
Y[second, 1:] = truth[second, 1:]
print(int((~np.isnan(Y)).sum()), "of", Y.size, "cells are known")

# %%
# Sets work as well: ``[{"even", "loop"}, {"loop"}, set(), None, ...]``, with None where the labels of a node
# are unknown and an empty set where it has none.
model = gssl.AutoClassifier().fit(digits.features, Y)
print(model.explain_)

# %%
# ``transduction_`` has 0 or 1 for each node and label, and ``label_distributions_`` the probability of each.
# A label is predicted if its probability reaches a threshold, which is the best for F1 on hidden labels and
# is drawn towards a common one where a label is rare.
rest = np.isnan(Y).all(axis=1)
right = (model.transduction_ == truth)[rest].mean(axis=0)
for name, share, threshold in zip(names, right, model.label_sets_.thresholds_, strict=True):
    print(f"{name}: {100 * share:.1f} % of {rest.sum():,} images right, threshold {threshold:.2f}")

# %%
# Which questions are hard, and for which digits? Bars are the share of unseen images of a digit with a wrong
# answer.
rows = [
    {
        "digit": str(digit),
        "question": name,
        "wrong": float(100 * (model.transduction_ != truth)[at, k].mean()),
    }
    for digit in range(10)
    for at in [rest & (z == digit)]
    for k, name in enumerate(names)
]
chart = (
    alt.Chart(alt.InlineData(values=rows), width=480, height=220)
    .mark_bar()
    .encode(
        x=alt.X("digit:N", axis=alt.Axis(labelAngle=0)),
        xOffset="question:N",
        y=alt.Y("wrong:Q", title="wrong, %"),
        color=alt.Color("question:N", title=None, sort=names),
    )
)

# %%
# Wrong and missing labels
# ------------------------
#
# :func:`gssl.audit` lists cells, each a node and a label, that the model contradicts when the labels of the
# node are hidden: given labels that may be wrong, and labels that may be missing. To test it, one loop is
# denied and one is made up:
odd = Y.copy()
with_loop, without = (np.flatnonzero(~rest & (asked["loop"] == value))[0] for value in (True, False))
odd[with_loop, 1], odd[without, 1] = 0, 1
doubtful = gssl.audit(gssl.AutoClassifier().fit(digits.features, odd))
print(doubtful.summary)
print("planted:", with_loop, "and", without, "| most doubtful:", doubtful.nodes[:6].tolist())

# %%
# :func:`gssl.suggest` picks the nodes whose labels are uncertain, by the mean of :math:`4p(1 - p)`.
print("look at next:", gssl.suggest(model, 5).tolist())

# %%
# From the shell
# --------------
#
# Every label has a row in the table of labels. The output has the columns ``id, labels, model_says, given,
# reached`` and ``p_<label>`` for each label.
#
# .. code-block:: sh
#
#    gssl check    --several --edges e.csv --features f.csv --labels topics.csv
#    gssl classify --several --edges e.csv --features f.csv --labels topics.csv --out p.csv
#    gssl audit    --several --edges e.csv --features f.csv --labels topics.csv --out doubts.csv
#    gssl suggest  --several --edges e.csv --features f.csv --labels topics.csv --n 20 --out picks.csv
#
# Explanations, learning curves and reports are for one class, or a number, per node.

"""
One class per node
==================

You have linked things: papers that cite each other, accounts that send each other money. You know some
features of each, and the class of a few. You want a class for all of them, and to know how far to trust it.
"""

# %%
# Cora has 2,708 papers about machine learning. Two papers are linked if one cites the other, the features are
# the words that a paper uses, and each paper has one of seven subjects.
import altair as alt
import numpy as np

import gssl

data = gssl.datasets.load("cora").normalized()
data

# %%
# ``normalized()`` scales the words of each paper to sum to one, so that long abstracts do not count more. Now
# hide most subjects: 20 of each remain, and the others become −1, which means "unknown".
y = data.mask_labels("default", parts=("train",))
print((y != -1).sum(), "known")

# %%
# A class for every node
# ----------------------
#
# :class:`gssl.AutoClassifier` compares some thirty graph filters on known labels that are hidden from them,
# and averages the best. X may be an array, a sparse matrix or a data frame; :func:`gssl.read` reads tables.
model = gssl.AutoClassifier().fit(data.features, y, adjacency=data.adjacency)
print(model.transduction_)
print(model.explain_)

# %%
# If the second sentence says that the graph adds nothing, you may not need one. ``print(model.leaderboard_)``
# lists the models that were tried.
#
# Is it right?
# ------------
#
# On your own data, the first sentence is all you can know. Here the true subjects are available: 1,000 papers
# are a test set, which no method has seen. Compare with words alone, and with links alone:
test = data.splits["default"]["test"]
rivals = {
    "words and links": model,
    "words alone": gssl.EmbeddingClassifier(gssl.NoGraph()).fit(data.features, y),
    "links alone": gssl.LabelSpreading().fit(None, y, adjacency=data.adjacency),
}
bars = [
    {"from": name, "right": 100 * gssl.evaluation.accuracy(data.labels, rival.transduction_, nodes=test)}
    for name, rival in rivals.items()
]
for bar in bars:
    print(f"{bar['from']}: {bar['right']:.1f} %")

chart = (
    alt.Chart(alt.InlineData(values=bars), width=480, height=100)
    .mark_bar()
    .encode(
        x=alt.X("right:Q", title="right, % of 1,000 test papers"), y=alt.Y("from:N", title=None, sort=None)
    )
)

# %%
# How sure is it?
# ---------------
#
# Every node has a distribution over the classes, calibrated on hidden labels: of the papers with a confidence
# of 70 %, about 70 % should be right. So you can refuse to guess. The line shows what that costs.
P = model.label_distributions_
sure, hit = P.max(axis=1)[test], (model.transduction_ == data.labels)[test]
print(f"mean confidence {100 * sure.mean():.1f} %, right {100 * hit.mean():.1f} %")
kept = [
    {"threshold": t, "answered": float(np.mean(sure >= t)), "right": float(hit[sure >= t].mean())}
    for t in np.arange(0.3, 0.96, 0.05).round(2).tolist()
]
trade = (
    alt.Chart(alt.InlineData(values=kept), width=480, height=240)
    .mark_line(point=True, strokeWidth=2)
    .encode(
        x=alt.X("answered:Q", title="share of papers that get an answer", axis=alt.Axis(format="%")),
        y=alt.Y(
            "right:Q",
            title="share of answers that are right",
            scale=alt.Scale(zero=False),
            axis=alt.Axis(format="%"),
        ),
        order="threshold:Q",
    )
)

# %%
# Or ask for a *set* of classes that contains the true one nine times in ten. The sets are conformal: they
# hold this promise on average, however good or bad the model is, for nodes like the labelled ones.
careful = gssl.CalibratedClassifier(model).fit(data.features, y, adjacency=data.adjacency)
sets = careful.predict_sets(miscoverage=0.1)[test]
holds = sets[np.arange(len(test)), data.labels[test]].mean()
print(f"{sets.sum(axis=1).mean():.2f} classes per set; {100 * holds:.1f} % of the sets hold the truth")

# %%
# From the shell
# --------------
#
# The same without Python, from a table of links, a table of features and a table of known classes
# (:doc:`/tutorial`). The report is one HTML page that opens without a network (:doc:`/report`):
#
# .. code-block:: sh
#
#    gssl check    --edges links.csv --features words.csv --labels subjects.csv
#    gssl classify --edges links.csv --features words.csv --labels subjects.csv \
#                  --out predictions.csv --report report.html --save papers.gssl
#
# Next: :doc:`plot_new_nodes` saves the model and predicts papers that come later, :doc:`plot_labelling` says
# what to label next and which labels may be wrong, and :doc:`/how` what happens inside.

"""
Links without features, features without links
==============================================

Often one half is missing: you know who knows whom and nothing else, or you have a table without any links.
gssl works with either, and this page shows what to expect.
"""

# %%
# Links without features
# ----------------------
#
# A karate club of 34 members broke in two after a quarrel between its teacher, Mr. Hi, and its officer. We
# know who met whom, and on which side these two stood. Pass ``None`` for the features.
import altair as alt
import numpy as np

import gssl

club = gssl.datasets.load("karate")
y = np.full(34, -1)
y[[0, 33]] = club.labels[[0, 33]]
model = gssl.LabelSpreading().fit(None, y, adjacency=club.adjacency)
print("right:", int((model.transduction_ == club.labels).sum()), "of 34")

# %%
# With few labels and no features, :class:`gssl.LabelSpreading` is a good start. The picture places members
# by two eigenvectors of the graph; the two rings are the known ones.
degrees = club.adjacency.sum(axis=1)
scaled = club.adjacency.toarray() / np.sqrt(np.outer(degrees, degrees))
x, h = np.linalg.eigh(scaled)[1][:, [-2, -3]].T / np.sqrt(degrees)
sides = [club.class_names[code] for code in model.transduction_]
nodes = [{"x": x[i], "y": h[i], "side": sides[i], "known": i in (0, 33)} for i in range(34)]
edges = [
    {"x": x[i], "y": h[i], "x2": x[j], "y2": h[j]}
    for i, j in zip(*club.adjacency.nonzero(), strict=True)
    if i < j
]
place = {"x": alt.X("x:Q", axis=None), "y": alt.Y("y:Q", axis=None)}
side = alt.Color("side:N", title="predicted")
ends = alt.InlineData(values=edges)
members = alt.InlineData(values=nodes)
given = alt.InlineData(values=[node for node in nodes if node["known"]])
graph = alt.layer(
    alt.Chart(ends).mark_rule(color="#808080", opacity=0.4).encode(**place, x2="x2:Q", y2="y2:Q"),
    alt.Chart(members).mark_circle(size=120, opacity=1).encode(**place, color=side),
    alt.Chart(given).mark_point(size=350, strokeWidth=2).encode(**place, color=side),
).properties(width=480, height=280)

# %%
# A member without any path to a known one could only be guessed: ``reached_`` says where this is so, and such
# nodes get a uniform distribution.
print("reached:", int(model.reached_.sum()), "of 34")

# %%
# With more labels, :class:`gssl.AutoClassifier` also tries links *as* features, so that nodes count as alike
# if they have the same neighbours, and finds out whether linked nodes are alike at all. Here it has the 140
# known papers of Cora and no words:
cora = gssl.datasets.load("cora")
known = cora.mask_labels("default", parts=("train",))
auto = gssl.AutoClassifier().fit(None, known, adjacency=cora.adjacency)
print(auto.explain_)

# %%
# Features without links
# ----------------------
#
# Without ``adjacency=``, every row is linked to its nearest neighbours. Unlabelled rows then help to find the
# boundaries between classes. We label a few per class of 1,797 images of handwritten digits, three times at
# random, and predict all the others.
digits = gssl.datasets.load("digits")
X = digits.features
models = {
    "features alone": gssl.EmbeddingClassifier(gssl.NoGraph()),
    "label spreading": gssl.LabelSpreading(),
    "GGCM": gssl.EmbeddingClassifier(gssl.GGCM()),
}
rows = []
for per_class in (1, 2, 5, 10):
    for name, each in models.items():
        scores = []
        for seed in range(3):
            split = gssl.datasets.draw_split(
                digits.labels, per_class, n_val=0, n_test=None, random_state=seed
            )
            y = np.full(len(X), -1)
            y[split["train"]] = digits.labels[split["train"]]
            labels = each.fit(X, y).transduction_
            scores.append(100 * gssl.evaluation.accuracy(digits.labels, labels, nodes=split["test"]))
        rows.append({"labels per class": per_class, "method": name, "right": float(np.mean(scores))})
        print(f"{per_class:2d} per class, {name}: {np.mean(scores):.1f} %")

curves = (
    alt.Chart(alt.InlineData(values=rows), width=480, height=240)
    .mark_line(point=True, strokeWidth=2)
    .encode(
        x=alt.X("labels per class:Q", axis=alt.Axis(values=[1, 2, 5, 10])),
        y=alt.Y("right:Q", title="right, % of the rest", scale=alt.Scale(zero=False)),
        color=alt.Color("method:N", title=None),
    )
)

# %%
# The fewer labels there are, the more the neighbours help. This holds for images, where similar rows are
# mostly of one class; on other tables they may add nothing, and ``explain_`` then says so
# (:doc:`plot_numbers`).
#
# From the shell
# --------------
#
# ``--knn 10`` links each row to its ten nearest neighbours, and ``--text`` turns a column of text into word
# features.
#
# .. code-block:: sh
#
#    gssl classify --edges links.csv --labels known.csv --out p.csv
#    gssl classify --features notes.csv --text body --knn 10 --labels topics.csv --out p.csv

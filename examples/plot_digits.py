"""
Digits without a graph
======================

gssl also works without a graph: it links every row to its nearest neighbours. Unlabelled rows then help to
find the boundaries between classes.
"""

# %%
# 1,797 images of handwritten digits, 64 grey values each. We label a few per class, drawn with seeds 0 to 4,
# and predict all the others.
import altair as alt
import numpy as np

import gssl
from gssl.datasets import draw_split
from gssl.evaluation import accuracy

digits = gssl.datasets.load("digits")
X = digits.features
models = {
    "features alone": gssl.EmbeddingClassifier(gssl.NoGraph()),
    "label spreading": gssl.LabelSpreading(),
    "GGCM": gssl.EmbeddingClassifier(gssl.GGCM()),
}

# %%
rows = []
for per_class in (1, 2, 5, 10):
    for name, model in models.items():
        scores = []
        for seed in range(5):
            split = draw_split(digits.labels, per_class, n_val=0, n_test=None, random_state=seed)
            y = np.full(len(X), -1)
            y[split["train"]] = digits.labels[split["train"]]
            scores.append(100 * accuracy(digits.labels, model.fit(X, y).transduction_, nodes=split["test"]))
        rows.append({"labels per class": per_class, "method": name, "accuracy": float(np.mean(scores))})
        print(f"{per_class:2d} per class, {name}: {np.mean(scores):.1f} %")

# %%
# The fewer labels there are, the more the neighbours help.
chart = (
    alt.Chart(alt.InlineData(values=rows), width=480, height=280)
    .mark_line(point=True, strokeWidth=2)
    .encode(
        x=alt.X("labels per class:Q", axis=alt.Axis(values=[1, 2, 5, 10])),
        y=alt.Y("accuracy:Q", title="accuracy on the rest, %", scale=alt.Scale(zero=False)),
        color=alt.Color("method:N", title=None),
    )
)

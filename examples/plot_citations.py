"""
How deep should a graph be smoothed?
====================================

Papers cite papers on the same subject. Smoothing their words over the citations helps, up to a point. This
example compares depths on Cora, and shows why depth matters less to methods that average several scales.
"""

# %%
# 140 of the 2,708 papers have a label, 20 for each of seven subjects. Another 1,000 papers are the test set,
# which chooses nothing.
import altair as alt

import gssl
from gssl.evaluation import accuracy

data = gssl.datasets.load("cora").normalized()
y = data.mask_labels("default", parts=("train",))
test = data.splits["default"]["test"]
known = y != -1

# %%
# An embedder yields its embeddings at every depth in one run. A ridge regression on the labelled rows
# evaluates them quickly.
rows = []
for name, embedder in {
    "SGC": gssl.SGC(depth=32),
    "S²GC": gssl.SSGC(depth=32),
    "GGCM": gssl.GGCM(depth=32),
}.items():
    for depth, U in enumerate(embedder.iter_embeddings(data.features, adjacency=data.adjacency)):
        if depth not in (0, 1, 2, 4, 8, 16, 32):
            continue
        head = gssl.RidgeHead().fit(U[known], y[known])
        right = 100 * accuracy(data.labels, head.predict(U), nodes=test)
        rows.append({"method": name, "depth": depth, "accuracy": right})

# %%
# At depth 0 there are only words. SGC improves and then over-smooths: by Theorem 1, only degrees are left in
# the limit. S²GC and GGCM average over all depths so far, and lose less accuracy.
for depth in (0, 2, 8, 32):
    print(depth, {row["method"]: round(row["accuracy"], 1) for row in rows if row["depth"] == depth})

chart = (
    alt.Chart(alt.InlineData(values=rows), width=480, height=280)
    .mark_line(point=True, strokeWidth=2)
    .encode(
        x=alt.X("depth:Q", title="hops"),
        y=alt.Y("accuracy:Q", title="test accuracy, %", scale=alt.Scale(zero=False)),
        color=alt.Color("method:N", title=None),
    )
)

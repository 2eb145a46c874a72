"""
Numbers
=======

Not every answer is a class. :class:`gssl.AutoRegressor` predicts numbers, such as prices, traffic or views,
each with an interval.
"""

# %%
# The diabetes table of scikit-learn has 442 patients with ten measurements each, and a measure of how their
# disease proceeded a year later. Half of these numbers are hidden. NaN means "unknown", as None does.
import altair as alt
import numpy as np
from sklearn.datasets import load_diabetes

import gssl

X, truth = load_diabetes(return_X_y=True)
rng = np.random.default_rng(0)
hidden = rng.permutation(442)[:221]
y = truth.copy()
y[hidden] = np.nan

# %%
# There are no links here, so each patient is linked to the most similar ones. With links of your own, pass
# ``adjacency=A``.
model = gssl.AutoRegressor().fit(X, y)
print(model.explain_)

# %%
# R² is the share of the variance that is explained, on known numbers that were hidden one by one. The
# sentence about the graph is worth reading: similar patients add nothing here that the measurements do not
# say already.
#
# How far off?
# ------------
#
# ``intervals_`` should hold nine of ten numbers (``interval=0.9``). Their widths are conformal: they come
# from the errors on hidden numbers, so they hold for nodes like the known ones.
low, high = model.intervals_[hidden].T
inside = (low <= truth[hidden]) & (truth[hidden] <= high)
print(f"{100 * inside.mean():.0f} % of 221 hidden numbers lie within their intervals")

rows = [
    {"predicted": p, "true": t, "low": a, "high": b, "inside": "yes" if ok else "no"}
    for p, t, a, b, ok in zip(
        model.transduction_[hidden], truth[hidden], low, high, inside.tolist(), strict=True
    )
]
x = alt.X("predicted:Q", scale=alt.Scale(zero=False))
colour = alt.Color(
    "inside:N", title="within", scale=alt.Scale(domain=["yes", "no"], range=["#2f7fb8", "#c2571a"])
)
values = alt.InlineData(values=rows)
chart = alt.layer(
    alt.Chart(values).mark_rule(opacity=0.2).encode(x=x, y=alt.Y("low:Q", title="true number"), y2="high:Q"),
    alt.Chart(values).mark_circle(size=30, opacity=0.9).encode(x=x, y="true:Q", color=colour),
).properties(width=480, height=320)

# %%
# Why, and is a known number wrong?
# ---------------------------------
#
# A prediction is a sum with one term for each known number and each feature, and :func:`gssl.why` writes it.
print(gssl.why(model, int(hidden[0]))[0].text())

# %%
# For a known number, ``transduction_`` is what the model says without it. :func:`gssl.audit` ranks known
# numbers by how far they are from that. To test it, five numbers get a slipped digit, ten times too large:
known = np.setdiff1d(np.arange(442), hidden)
slipped = rng.choice(known, 5, replace=False)
wrong = y.copy()
wrong[slipped] *= 10
doubtful = gssl.audit(gssl.AutoRegressor().fit(X, wrong))
print(doubtful.text(6))
print("found among the first five:", len(set(doubtful.nodes[:5].tolist()) & set(slipped.tolist())))

# %%
# How many more?
# --------------
#
# :func:`gssl.suggest` picks nodes whose number would help most, and :func:`gssl.selection.learning_curve`
# says how many more are needed, from fits to parts of the known numbers.
print("measure next:", gssl.suggest(model, 5).tolist())
print(gssl.selection.learning_curve(model, target=0.5).text())

# %%
# From the shell
# --------------
#
# The output has the columns ``id, value, low, high, model_says, given, reached``. If all numbers are positive
# and very unequal, logarithms are predicted where hidden numbers are clearly more likely this way;
# ``--scale`` decides otherwise.
#
# .. code-block:: sh
#
#    gssl regress --edges roads.csv --features sections.csv --labels flows.csv \
#                 --out predicted.csv --report page.html --save flows.gssl
#    gssl audit   --model flows.gssl --out doubts.csv
#    gssl predict --model flows.gssl --edges new-roads.csv --features new-sections.csv --out new.csv
#
# In Python, ``gssl.read(..., answers="numbers")`` reads such tables. :doc:`/report` shows the page, and
# :doc:`/how` what happens inside.

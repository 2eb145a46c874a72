"""
From data frames to a page
==========================

:func:`gssl.read` takes tables as they are: ids as text, gaps, categories and texts. The same call reads
files, SQL and databases, because the command line makes it, too.
"""

# %%
# People, with an age that is missing here and there, a town and a line about each; who knows whom; and a few
# known jobs.
import numpy as np
import pandas as pd

import gssl

rng = np.random.default_rng(0)
jobs = np.array(["baker", "nurse", "spy"])[np.arange(300) % 3]
people = pd.DataFrame(
    {
        "id": [f"{k:03}" for k in range(300)],
        "age": np.where(rng.random(300) < 0.1, np.nan, rng.normal(40, 12, 300).round()),
        "town": rng.choice(["Ulm", "Bern", "Graz"], 300),
        "about": [
            f"{rng.choice(['likes', 'loves', 'hates'])} {word} and {rng.choice(['rain', 'snow', 'sun'])} {k}"
            for k, word in enumerate(np.array(["bread", "blood", "maps"])[np.arange(300) % 3])
        ],
    }
)
ends = rng.integers(300, size=(900, 2))
same = jobs[ends[:, 0]] == jobs[ends[:, 1]]
links = pd.DataFrame(ends[same | (rng.random(900) < 0.2)], columns=["person", "friend"])
links = links.map("{:03}".format)
known = pd.DataFrame({"id": people["id"][:30], "job": jobs[:30]})

# %%
# The problem says what it is made of, and what was odd.
problem = gssl.read(links, features=people, labels=known)
problem

# %%
# A model is fitted to it. In a notebook, it shows what it found.
model = gssl.AutoClassifier().fit(problem)
model

# %%
# The predictions are a data frame of the same library.
model.predictions(problem).head()

# %%
# So are doubtful labels, the leaderboard and the learning curve; an explanation is a text.
gssl.audit(model, changes=0).to_pandas().head(3)

# %%
print(gssl.why(model, [100])[0].text(problem.node_ids, problem.feature_names))

# %%
# ``gssl.write_report(model, problem, "page.html")`` writes all of it to one page.

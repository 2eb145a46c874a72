"""
Typed and directed links
========================

Papers cite papers and share words; people follow and block each other. Links of different kinds say different
things, and so may the two ends of a link. gssl tells them apart, and says what each kind adds.
"""

# %%
# Take the papers of Cora with three kinds of links: citations; five papers each that use the most similar
# words; and, to see what becomes of links that mean nothing, the citations between shuffled papers.
import altair as alt
import numpy as np
from scipy.sparse import csr_array
from sklearn.neighbors import NearestNeighbors

import gssl

data = gssl.datasets.load("cora").normalized()
y = data.mask_labels("default", parts=("train",))
n = data.n_nodes
cites = data.adjacency
found = NearestNeighbors(n_neighbors=5, metric="cosine").fit(data.features).kneighbors(return_distance=False)
resembles = csr_array((np.ones(5 * n), (np.repeat(np.arange(n), 5), found.ravel())), shape=(n, n))
shuffled = np.random.default_rng(0).permutation(n)
chance = cites[shuffled][:, shuffled]

# %%
# Kinds of links
# --------------
#
# Give a matrix for each kind, all over the same nodes.
links = {"cites": cites, "similar words": resembles + resembles.T, "chance": chance}
typed = gssl.AutoClassifier().fit(data.features, y, adjacency=links)
print(typed.explain_)

# %%
# Each gain is measured on hidden labels, by the features of a node's neighbours beside its own. If all links
# are one kind, the citations are lost among the others. The bars compare both with citations alone, which on
# your own data you would have to know to be the right ones.
union = gssl.AutoClassifier().fit(data.features, y, adjacency=sum(links.values()))
alone = gssl.AutoClassifier().fit(data.features, y, adjacency=cites)
test = data.splits["default"]["test"]
models = {"three kinds": typed, "all as one kind": union, "citations only": alone}
bars = [
    {"links": name, "right": 100 * gssl.evaluation.accuracy(data.labels, model.transduction_, nodes=test)}
    for name, model in models.items()
]
for bar in bars:
    print(f"{bar['links']}: {bar['right']:.1f} %")

chart = (
    alt.Chart(alt.InlineData(values=bars), width=480, height=100)
    .mark_bar()
    .encode(
        x=alt.X("right:Q", title="right, % of 1,000 test papers"), y=alt.Y("links:N", title=None, sort=None)
    )
)

# %%
# New nodes are predicted with the same kinds of links, by name. A kind that a graph lacks has no links there.
#
# Directions
# ----------
#
# The five most similar papers of a paper need not have it among their own five, so this kind of link has a
# direction. ``directed=True`` reads entry (u, v) as a link from u to v, and then two more operators compete,
# which follow links forwards and backwards. ``directed="auto"`` does so only for matrices that are not
# symmetric.
directed = gssl.AutoClassifier(directed=True).fit(data.features, y, adjacency=resembles)
print(directed.explain_)

# %%
# What directions add is measured on hidden labels, too, and models with directions are kept only where they
# gain. Between similar papers they do not. Between the words of sentences they do: see ``ud_ewt`` in
# :doc:`/accuracy`.
#
# Several kinds of nodes
# ----------------------
#
# Links between two kinds of nodes, such as authors and papers, may be matrices of any shape, as in PyTorch
# Geometric's ``HeteroData``. Features and labels then have a table for each kind of node.
wrote = [[1, 1, 0], [0, 1, 1]]  # two authors, three papers
problem = gssl.read(
    {("author", "wrote", "paper"): wrote, ("paper", "cites", "paper"): np.eye(3, k=1)},
    features={"paper": [[1.0], [2.0], [3.0]]},
    labels={"paper": ["a", None, "b"]},
)
print(problem.node_ids.tolist())

# %%
# From the shell
# --------------
#
# A column names the kind of each link, or each kind has a table of its own. ``gssl check`` says how many
# links each kind has, how alike linked nodes are, and how far it reaches.
#
# .. code-block:: sh
#
#    gssl check    --edges links.csv --edge-type kind --labels known.csv
#    gssl classify --edges cites=cites.csv --edges wrote=wrote.csv --labels known.csv --out p.csv
#    gssl classify --edges flights.csv --directed --labels known.csv --out p.csv
#
# Methods that use the union
# --------------------------
#
# All other methods, such as ``OGC`` and label spreading, use the union of all kinds, and say so.
# ``relation_weight`` of :func:`gssl.read` and :func:`gssl.graph.check_adjacency` sets how much a kind counts
# in it:
weighted = gssl.graph.check_adjacency(links, relation_weight={"chance": 0.1})
print(sorted(weighted.relations), "from", weighted.data.min(), "to", weighted.data.max())

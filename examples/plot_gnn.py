"""
Deep networks that over-smooth less
===================================

Deep graph neural networks over-smooth: after many layers all nodes look alike. The two operators of the
paper can be plugged into an existing network, layer by layer. This example does so with a GCN of PyTorch
Geometric with 64 layers, trained by :class:`gssl.torch.NetworkClassifier`. It needs ``pip install
'.[torch,report]'``.
"""

# %%
# 20 papers per subject of Cora are labelled. 500 other papers select the epoch, and 1,000 are the test set.
import altair as alt
from torch_geometric.nn import GCN

import gssl
from gssl.evaluation import accuracy
from gssl.torch import NetworkClassifier, sharpen, start_from_identity, supervise

data = gssl.datasets.load("cora")
y = data.mask_labels("default", parts=("train", "val"))
validation, test = data.splits["default"]["val"], data.splits["default"]["test"]

# %%
# A plug-in is one line. Both leave the last layer unchanged:
#
# - ``sharpen`` (IGC) averages a layer with an inverse convolution: unlinked nodes move apart.
# - ``supervise`` (SEB) moves embeddings of labelled nodes towards their labels after each layer. It sees only
#   the train labels, even when it predicts.
#
# 64 layers of random weights learn nothing, so the other deep networks start as the identity.


def network(depth, identity=False, igc=False, seb=False):
    """Return a function that creates a GCN with the given plug-ins."""

    def make(n_features, n_classes):
        made = GCN(n_features, 16, depth, n_classes, cached=True)
        if identity:
            start_from_identity(made.convs)
        if igc:
            made.convs = sharpen(made.convs, beta=1.0, decay=0.5)
        if seb:
            made.convs = supervise(made.convs, eta_sup=1.0, decay=1.0, loss="cross_entropy")
        return made

    return make


# %%
# Validation nodes are not trained on. They select the epoch with the lowest loss.
bars = []
for name, options in {
    "2 layers": {"depth": 2},
    "64 layers": {"depth": 64},
    "64, from the identity": {"depth": 64, "identity": True},
    "64, with IGC": {"depth": 64, "identity": True, "igc": True},
    "64, with SEB": {"depth": 64, "identity": True, "seb": True},
    "64, with both": {"depth": 64, "identity": True, "igc": True, "seb": True},
}.items():
    rate = 0.01 if options["depth"] < 8 else 0.002  # small steps of many layers add up
    model = NetworkClassifier(network(**options), learning_rate=rate, epochs=40, random_state=0)
    model.fit(data.features, y, adjacency=data.adjacency, validation=validation)
    right = 100 * accuracy(data.labels, model.transduction_, nodes=test)
    bars.append({"network": name, "accuracy": right})
    print(f"{name}: {right:.1f} %")

chart = (
    alt.Chart(alt.InlineData(values=bars), width=480, height=200)
    .mark_bar()
    .encode(x=alt.X("accuracy:Q", title="test accuracy, %"), y=alt.Y("network:N", title=None, sort=None))
)

# %%
# This is one seed and one split, so small differences mean nothing. Five seeds, more depths and other
# networks are in :doc:`/reproduction`. There, too, no deep network is as good as two layers, and up to 16
# layers the plug-ins add nothing. What they do is keep a deep network trainable.

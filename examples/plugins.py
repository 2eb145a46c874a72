"""Plug IGC and SEB into a deep GCN of PyTorch Geometric, and see what over-smoothing does to it.

``python examples/plugins.py`` trains a shallow GCN and a GCN of 64 layers on the public split of Cora: plain,
with IGC, with SEB, and with both. Weights learn from training labels alone, and validation labels choose the
epoch. SEB sees training labels alone, also when it predicts.
"""

import argparse
from functools import partial

import numpy as np
from torch_geometric.nn import GCN

import gssl
from gssl.evaluation import accuracy
from gssl.torch import NetworkClassifier, sharpen, start_from_identity, supervise

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--data", default="planetoid/cora")
parser.add_argument("--depth", type=int, default=64)
parser.add_argument("--epochs", type=int, default=60)
parser.add_argument("--seeds", type=int, default=5)
parser.add_argument("--kinds", nargs="*", default=["shallow", "plain", "identity", "IGC", "SEB", "IGC+SEB"])
arguments = parser.parse_args()

data = gssl.datasets.load(arguments.data)
name, split = next(iter(data.splits.items()))
y = data.mask_labels(name, parts=("train", "val"))


def gcn(n_features: int, n_classes: int, depth: int, kind: str) -> GCN:
    """Return a GCN with the plug-ins named in ``kind``."""
    network = GCN(n_features, 16, depth, n_classes, cached=True)
    if kind not in ("shallow", "plain"):
        start_from_identity(network.convs)  # dozens of random layers learn nothing
    if "IGC" in kind:
        network.convs = sharpen(network.convs, beta=1.0, decay=0.5)
    if "SEB" in kind:
        network.convs = supervise(network.convs, eta_sup=1.0, decay=1.0, loss="cross_entropy")
    return network


def test_accuracy(depth: int, kind: str, seed: int) -> float:
    """Train, and return the test accuracy, in percent, of the epoch selected by validation nodes."""
    model = NetworkClassifier(
        partial(gcn, depth=depth, kind=kind),
        learning_rate=0.01 if depth < 8 else 0.002,  # small steps of many layers add up
        epochs=arguments.epochs,
        random_state=seed,
    )
    model.fit(data.features, y, adjacency=data.adjacency, validation=split["val"])
    return 100 * accuracy(data.labels, model.transduction_, nodes=split["test"])


depth = arguments.depth
titles = {
    "shallow": "GCN of 2 layers",
    "plain": f"GCN of {depth} layers",
    "identity": f"GCN of {depth} layers from identity",
    "IGC": f"GCN of {depth} layers with IGC",
    "SEB": f"GCN of {depth} layers with SEB",
    "IGC+SEB": f"GCN of {depth} layers with both",
}
for kind in arguments.kinds:
    layers = 2 if kind == "shallow" else depth
    results = [test_accuracy(layers, kind, seed) for seed in range(arguments.seeds)]
    print(f"{titles[kind]:32s} {np.mean(results):5.1f} ± {np.std(results):.1f}", flush=True)

"""Plug IGC and SEB into a deep GCN of PyTorch Geometric, and see what over-smoothing does to it.

``python examples/plugins.py`` trains, on the public split of Cora, a shallow GCN and a GCN of 64 layers: as
it is, with IGC, with SEB, and with both. Weights learn from training labels alone; validation labels choose
the epoch; SEB sees training labels alone, also when it predicts.
"""

import argparse

import numpy as np
from torch_geometric.nn import GCN

import gssl
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
y = data.mask_labels(name, ("train", "val"))
# without validation nodes the last epoch is kept
validation = split["val"] if len(split["val"]) else None


def network(kind: str, depth: int, n_features: int, n_classes: int) -> GCN:
    """Make a GCN as PyTorch Geometric has it, and plug in what was asked for."""
    made = GCN(n_features, 16, depth, n_classes, cached=True)
    if kind not in ("shallow", "plain"):
        # 64 layers of random weights learn nothing
        start_from_identity(made.convs)
    if "IGC" in kind:
        made.convs = sharpen(made.convs, beta=1.0, decay=0.5)
    if "SEB" in kind:
        made.convs = supervise(made.convs, eta_sup=1.0, decay=1.0, loss="cross_entropy")
    return made


def accuracy(kind: str, depth: int, seed: int) -> float:
    """Train a network and return the percentage of test nodes that it predicts right."""
    model = NetworkClassifier(
        lambda n_features, n_classes: network(kind, depth, n_features, n_classes),
        learning_rate=0.01 if depth < 8 else 0.002,  # steps of many layers add up
        epochs=arguments.epochs,
        patience=None,
        random_state=seed,
    )
    model.fit(data.features, y, adjacency=data.adjacency, validation=validation)
    return 100 * float(np.mean(model.transduction_[split["test"]] == data.labels[split["test"]]))


titles = {"identity": " from identity", "IGC": " with IGC", "SEB": " with SEB", "IGC+SEB": " with both"}
for kind in arguments.kinds:
    depth = 2 if kind == "shallow" else arguments.depth
    results = [accuracy(kind, depth, seed) for seed in range(arguments.seeds)]
    title = f"GCN of {depth} layers{titles.get(kind, '')}"
    print(f"{title:32s} {np.mean(results):5.1f} ± {np.std(results):.1f}", flush=True)

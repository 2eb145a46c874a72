"""Plug IGC and SEB into a deep GCN of PyTorch Geometric, and see what over-smoothing does to it.

``python examples/plugins.py`` trains, on the public split of Cora, a shallow GCN and a GCN of 64 layers: as
it is, with IGC, with SEB, and with both. Weights learn from training labels alone; validation labels choose
the epoch; SEB sees training labels alone, also when it predicts.
"""

import argparse

import numpy as np
import torch
from torch_geometric.nn import GCN

import gssl
from gssl.torch import sharpen, start_from_identity, supervise

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--data", default="planetoid/cora")
parser.add_argument("--depth", type=int, default=64)
parser.add_argument("--epochs", type=int, default=60)
parser.add_argument("--seeds", type=int, default=5)
parser.add_argument("--kinds", nargs="*", default=["shallow", "plain", "identity", "IGC", "SEB", "IGC+SEB"])
arguments = parser.parse_args()

data = gssl.datasets.load(arguments.data)
split = next(iter(data.splits.values()))
# without validation nodes the training nodes choose the epoch
parts = (split["train"], split["val"] if len(split["val"]) else split["train"], split["test"])
train, validation, test = (torch.tensor(part, dtype=torch.long) for part in parts)
X = torch.tensor(data.features.toarray(), dtype=torch.float32)
y = torch.tensor(data.labels, dtype=torch.long)
edge_index = torch.tensor(np.vstack(data.adjacency.nonzero()), dtype=torch.long)


def plain(depth: int) -> GCN:
    """Give a GCN as PyTorch Geometric has it."""
    return GCN(X.shape[1], 16, depth, int(y.max()) + 1, cached=True)


def from_identity(depth: int) -> GCN:
    """Give a GCN whose hidden layers start as plain convolutions, since 64 random ones learn nothing."""
    network = plain(depth)
    start_from_identity(network.convs)
    return network


def with_igc(depth: int) -> GCN:
    """Give a GCN whose hidden layers also push unlinked nodes apart."""
    network = from_identity(depth)
    network.convs = sharpen(network.convs, beta=1.0, decay=0.5)
    return network


def with_seb(depth: int) -> GCN:
    """Give a GCN in whose hidden layers the training labels move the embeddings of their nodes."""
    network = from_identity(depth)
    network.convs = supervise(network.convs, y[train], train, eta_sup=1.0, decay=1.0, loss="cross_entropy")
    return network


def with_both(depth: int) -> GCN:
    """Give a GCN with both."""
    network = with_igc(depth)
    network.convs = supervise(network.convs, y[train], train, eta_sup=1.0, decay=1.0, loss="cross_entropy")
    return network


def accuracy(network: GCN) -> float:
    """Train, and give the part of test nodes that the best epoch on validation nodes predicts right."""
    rate = 0.01 if len(network.convs) < 8 else 0.002  # steps of many layers add up
    optimizer = torch.optim.Adam(network.parameters(), lr=rate, weight_decay=5e-4)
    guide = getattr(network.convs[0], "guide", None)
    best, found = -1.0, 0.0
    for _ in range(arguments.epochs):
        network.train()
        optimizer.zero_grad()
        # a node that is moved by its label has little to learn from it: half of them go without
        seen = train if guide is None else guide.hide(0.5)
        loss = torch.nn.functional.cross_entropy(network(X, edge_index)[seen], y[seen])
        loss.backward()
        optimizer.step()
        network.eval()
        if guide is not None:
            guide.hide(0.0)
        with torch.no_grad():
            right = network(X, edge_index).argmax(dim=1) == y
        if right[validation].float().mean() > best:
            best, found = float(right[validation].float().mean()), float(right[test].float().mean())
    return found


depth = arguments.depth
kinds = {
    "shallow": ("GCN of 2 layers", plain, 2),
    "plain": (f"GCN of {depth} layers", plain, depth),
    "identity": (f"GCN of {depth} layers from identity", from_identity, depth),
    "IGC": (f"GCN of {depth} layers with IGC", with_igc, depth),
    "SEB": (f"GCN of {depth} layers with SEB", with_seb, depth),
    "IGC+SEB": (f"GCN of {depth} layers with both", with_both, depth),
}
for kind in arguments.kinds:
    name, make, layers = kinds[kind]
    results = []
    for seed in range(arguments.seeds):
        torch.manual_seed(seed)
        results.append(100 * accuracy(make(layers)))
    print(f"{name:32s} {np.mean(results):5.1f} ± {np.std(results):.1f}", flush=True)

"""Small networks that several tests train."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from torch_geometric.nn import GCN  # noqa: E402

from gssl.torch import NetworkClassifier  # noqa: E402


class SmallGCN(GCN):
    """A class is a function that makes networks, too, and one whose name does not change."""

    def __init__(self, n_features, n_classes):
        super().__init__(n_features, 16, 2, n_classes, dropout=0.5)


def make(module=SmallGCN, **params):
    return NetworkClassifier(module, **{"random_state": 0, **params})


class Scores(torch.nn.Module):
    """The plainest network: one weight for each feature and class, and what it was called with."""

    accepts_sparse = False

    def __init__(self, n_features, n_classes):
        super().__init__()
        self.linear = torch.nn.Linear(n_features, n_classes)
        self.seen = []

    def forward(self, x, edge_index):
        self.seen.append((x, edge_index))
        return self.linear(x)

"""Small networks used by several tests."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from torch_geometric.nn import GCN  # noqa: E402

from gssl.torch import NetworkClassifier  # noqa: E402


class SmallGCN(GCN):
    """A GCN as a class, which can be used as a factory and pickled by name."""

    def __init__(self, n_features, n_classes):
        super().__init__(n_features, 16, 2, n_classes, dropout=0.5)


def make(module=SmallGCN, **params):
    return NetworkClassifier(module, **{"random_state": 0, **params})


class Scores(torch.nn.Module):
    """A linear network that records its inputs."""

    accepts_sparse = False

    def __init__(self, n_features, n_classes):
        super().__init__()
        self.linear = torch.nn.Linear(n_features, n_classes)
        self.seen = []

    def forward(self, x, edge_index):
        self.seen.append((x, edge_index))
        return self.linear(x)

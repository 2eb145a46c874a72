"""Every network and embedder with settings that suit small graphs, and a small graph in dense algebra."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from reproduction import networks  # noqa: E402
from reproduction.skipgram import DeepWalk, Node2Vec  # noqa: E402

# settings for which little data and few epochs are enough
CLASSIFIERS = {name: {} for name in networks.NETWORKS} | {
    "ChebNetII": {"filter_dropout": 0.2, "filter_learning_rate": 0.1},
    "EigenGCN": {"eigenvectors": 4},
    "FastGCN": {"samples": 30},
    "GCNII": {"depth": 4},
    "GRAND": {"samples": 2, "depth": 2, "drop_node": 0.2, "input_dropout": 0.2},
    "GAT": {"learning_rate": 0.02, "dropout": 0.3},
    "GaAN": {"learning_rate": 0.01},
    "Incep": {"depth": 4},
    "OrderedGNN": {"depth": 2},
}
# what separates two blocks: epochs and learning rate
EMBEDDERS = {
    "BGRL": {"epochs": 60, "learning_rate": 0.01, "hidden": 8},
    "DGI": {"epochs": 60, "learning_rate": 0.01},
    "GAE": {"epochs": 100, "learning_rate": 0.01, "hidden": 8},
    "LINE": {"epochs": 200, "learning_rate": 0.05},
    "N2N": {"epochs": 100, "learning_rate": 0.01},
    "SAGEWalks": {"epochs": 100, "learning_rate": 0.01},
    "VERSE": {"epochs": 100, "learning_rate": 0.05},
    "VGAE": {"epochs": 100, "learning_rate": 0.01, "hidden": 8},
    "DeepWalk": {"epochs": 2, "walk_length": 20},
    "Node2Vec": {"epochs": 2, "walk_length": 20},
}
WALKS = {"DeepWalk": DeepWalk, "Node2Vec": Node2Vec}
# they know only the nodes of fit
TRANSDUCTIVE = ("LINE", "VERSE", *WALKS)
assert EMBEDDERS.keys() == networks.EMBEDDERS.keys() | WALKS.keys()


def classifier(name, **params):
    """Return a classifier with its small settings."""
    return networks.classifier(
        name, **{"random_state": 0, "epochs": 30, "learning_rate": 0.05, **CLASSIFIERS[name], **params}
    )


def embedder(name, **params):
    """Return an embedder with its small settings."""
    given = {"random_state": 0, "dimensions": 32, **EMBEDDERS[name], **params}
    return WALKS[name](**given) if name in WALKS else networks.embedder(name, **given)


# a weighted graph of five nodes, one of them isolated
A = np.zeros((5, 5))
for _i, _j, _weight in [(0, 1, 1.0), (1, 2, 2.0), (0, 2, 0.5), (2, 3, 1.0)]:
    A[_i, _j] = A[_j, _i] = _weight
DEGREES = A.sum(axis=1, keepdims=True)
A_HAT = (A + np.eye(5)) / np.sqrt((DEGREES + 1.0) * (DEGREES.T + 1.0))
WALK = (A + np.eye(5)) / (DEGREES + 1.0)
MEAN = A / np.maximum(DEGREES, 1e-9)
LINKS = torch.tensor(np.vstack(np.nonzero(A)))
WEIGHTS = torch.tensor(A[np.nonzero(A)])
X = np.random.default_rng(1).normal(size=(5, 3))


def numbers(tensor):
    """Return a tensor as an array in double precision."""
    return tensor.detach().cpu().double().numpy()


def linear(layer):
    """Return a linear layer as a function on arrays."""
    W, b = numbers(layer.weight).T, 0.0 if layer.bias is None else numbers(layer.bias)
    return lambda U: U @ W + b


def output(network, *links):
    """Return what a network computes from X outside of training, in double precision."""
    with torch.no_grad():
        return network.double().eval()(torch.tensor(X), *(links or (LINKS, WEIGHTS))).numpy()


def relu(U):
    return np.maximum(U, 0.0)


def sigmoid(U):
    return 1.0 / (1.0 + np.exp(-U))

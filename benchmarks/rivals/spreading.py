"""Label spreading and related methods in scikit-learn, scikit-network, PyG and SciPy.

Each function takes an adjacency and labels, and returns a call that predicts classes.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.sparse import csr_array, csr_matrix, diags_array

ALPHA = 0.9
# iterations of PyG, and steps of a plain loop to reach the accuracy of label propagation
LAYERS, STEPS = 50, 100
Predict = Callable[[], np.ndarray]


def scikit_learn(A: csr_array, y: np.ndarray) -> Predict:
    """Spread labels over a graph, which scikit-learn takes only as a dense affinity from a callable."""
    from sklearn.semi_supervised import LabelSpreading

    rows = np.arange(len(y), dtype=float)[:, None]
    model = LabelSpreading(kernel=lambda X, Y=None: A.toarray(), alpha=ALPHA, max_iter=1000)
    return lambda: model.fit(rows, y).transduction_


def pagerank(A: csr_array, y: np.ndarray) -> Predict:
    """Classify by personalized PageRank for each class, ten iterations by default."""
    from sknetwork.classification import PageRankClassifier

    return lambda: PageRankClassifier().fit_predict(csr_matrix(A), y)


def pyg(A: csr_array, y: np.ndarray) -> Predict:
    """Run PyG's ``LabelPropagation``, which is label spreading."""
    import torch
    from torch_geometric.nn import LabelPropagation

    edge_index = torch.from_numpy(np.array(A.nonzero(), np.int64))
    labels, labelled = torch.from_numpy(np.maximum(y, 0)), torch.from_numpy(y >= 0)
    model = LabelPropagation(LAYERS, ALPHA)
    return lambda: model(labels, edge_index, mask=labelled).argmax(dim=1).numpy()


def scipy_propagation(A: csr_array, y: np.ndarray) -> Predict:
    """Average over neighbours and reset the given labels after each step; then balance class masses."""
    return partial(_propagate, A, y)


def _propagate(A: csr_array, y: np.ndarray) -> np.ndarray:
    degree = np.asarray(A.sum(axis=1)).ravel()
    inverse = np.divide(1.0, degree, out=np.zeros(len(degree)), where=degree > 0)
    P = csr_array(diags_array(inverse) @ A).astype(np.float32)
    labelled, F = y >= 0, np.zeros((len(y), int(y.max()) + 1), np.float32)
    F[labelled, y[labelled]] = 1.0
    given = F[labelled]
    for _ in range(STEPS):
        F = P @ F
        F[labelled] = given
    mass = F[~labelled].sum(axis=0)
    F[~labelled] *= given.mean(axis=0) / np.maximum(mass, np.finfo(np.float32).tiny)
    return np.asarray(F.argmax(axis=1))

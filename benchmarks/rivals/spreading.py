"""Label spreading and related methods in scikit-learn, scikit-network, igraph and SciPy."""

import random

import igraph
import numpy as np
from scipy.sparse import csr_array, csr_matrix, diags_array, triu
from sklearn.semi_supervised import LabelSpreading
from sknetwork.classification import DiffusionClassifier, PageRankClassifier


def scikit_learn(A: csr_array, y: np.ndarray, alpha: float) -> np.ndarray:
    """Spread labels over a graph, which scikit-learn takes only as a dense affinity from a callable."""
    rows = np.arange(len(y), dtype=float)[:, None]
    model = LabelSpreading(kernel=lambda X, Y=None: A.toarray(), alpha=alpha, max_iter=1000)
    return model.fit(rows, y).transduction_


def scipy_spreading(A: csr_array, y: np.ndarray, alpha: float, n_steps: int) -> np.ndarray:
    """Spread labels with SciPy's sparse product, in single precision."""
    degree = np.asarray(A.sum(axis=1)).ravel()
    root = np.divide(1.0, np.sqrt(degree), out=np.zeros(len(degree)), where=degree > 0)
    S = csr_array(diags_array(alpha * root) @ A @ diags_array(root)).astype(np.float32)
    Y = _one_hot(y, 1.0 - alpha)
    F = Y.copy()
    for _ in range(n_steps):
        F = S @ F
        F += Y
    return F.argmax(axis=1)


def scipy_propagation(A: csr_array, y: np.ndarray, n_steps: int) -> np.ndarray:
    """Average over neighbours and reset the given labels after each step; then balance class masses."""
    degree = np.asarray(A.sum(axis=1)).ravel()
    inverse = np.divide(1.0, degree, out=np.zeros(len(degree)), where=degree > 0)
    P = csr_array(diags_array(inverse) @ A).astype(np.float32)
    labelled, F = y >= 0, _one_hot(y, 1.0)
    given = F[labelled]
    for _ in range(n_steps):
        F = P @ F
        F[labelled] = given
    mass = F[~labelled].sum(axis=0)
    F[~labelled] *= given.mean(axis=0) / np.maximum(mass, np.finfo(np.float32).tiny)
    return F.argmax(axis=1)


def igraph_graph(A: csr_array) -> igraph.Graph:
    """Convert to an igraph graph; not timed."""
    upper = triu(A, 1).tocoo()
    return igraph.Graph(n=A.shape[0], edges=np.stack([upper.row, upper.col], axis=1))


def igraph_propagation(graph: igraph.Graph, y: np.ndarray) -> np.ndarray:
    """Assign each node the majority label of its neighbours, in random order, until nothing changes."""
    random.seed(0)
    communities = graph.community_label_propagation(initial=y.tolist(), fixed=(y >= 0).tolist())
    number = np.array(communities.membership)
    # igraph renumbers labels, and adds new ones for nodes that no label reaches
    labels = np.full(number.max() + 1, -1)
    labels[number[y >= 0]] = y[y >= 0]
    return labels[number]


def _one_hot(y: np.ndarray, value: float) -> np.ndarray:
    F = np.zeros((len(y), int(y.max()) + 1), np.float32)
    labelled = np.flatnonzero(y >= 0)
    F[labelled, y[labelled]] = value
    return F


def diffusion(A: csr_array, y: np.ndarray) -> np.ndarray:
    """Classify by heat diffusion from the labels, ten steps by default."""
    return DiffusionClassifier().fit_predict(csr_matrix(A), y)


def pagerank(A: csr_array, y: np.ndarray) -> np.ndarray:
    """Classify by personalized PageRank for each class, ten iterations by default."""
    return PageRankClassifier().fit_predict(csr_matrix(A), y)

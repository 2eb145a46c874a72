"""Label spreading and its kin in scikit-learn and scikit-network."""

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn.semi_supervised import LabelSpreading
from sknetwork.classification import DiffusionClassifier, PageRankClassifier


def scikit_learn(A: csr_array, y: np.ndarray, alpha: float) -> np.ndarray:
    """Spread labels over a given graph: scikit-learn takes it only as a dense affinity from a callable."""
    rows = np.arange(len(y), dtype=float)[:, None]
    model = LabelSpreading(kernel=lambda X, Y=None: A.toarray(), alpha=alpha, max_iter=1000)
    return model.fit(rows, y).transduction_


def diffusion(A: csr_array, y: np.ndarray) -> np.ndarray:
    """Let heat flow from the labels, ten steps by default."""
    return DiffusionClassifier().fit_predict(csr_matrix(A), y)


def pagerank(A: csr_array, y: np.ndarray) -> np.ndarray:
    """Rank the nodes once for each class, ten iterations by default."""
    return PageRankClassifier().fit_predict(csr_matrix(A), y)

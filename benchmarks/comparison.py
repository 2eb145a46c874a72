"""``python -m benchmarks.comparison``: other libraries on Cora, which ships with gssl, by their defaults.

Every method gets the same labels, 20 per class, and no validation set. Seconds are CPU time of a fit after a
first one, on one thread.
"""

from collections.abc import Callable
from importlib.metadata import version
from time import process_time
from typing import Any

import click
import numpy as np
from threadpoolctl import threadpool_limits

import gssl
from benchmarks.rivals.trees import NeighbourTrees
from gssl.datasets import Dataset, draw_split, load

Predict = Callable[[Dataset, np.ndarray, int], np.ndarray]


def automatic(data: Dataset, y: np.ndarray, seed: int) -> np.ndarray:
    """Return the classes of AutoClassifier."""
    return gssl.AutoClassifier().fit(data.features, y, adjacency=data.adjacency).transduction_


def logistic(data: Dataset, y: np.ndarray, seed: int) -> np.ndarray:
    """Return the classes of logistic regression, which sees no graph."""
    from sklearn.linear_model import LogisticRegression

    known = y >= 0
    return np.asarray(
        LogisticRegression(max_iter=1000).fit(data.features[known], y[known]).predict(data.features)
    )


def spreading(data: Dataset, y: np.ndarray, seed: int) -> np.ndarray:
    """Return the classes of scikit-learn's label spreading, which builds a graph of its own from features."""
    from sklearn.semi_supervised import LabelSpreading

    model = LabelSpreading(kernel="knn").fit(data.features.toarray(), y)
    return np.asarray(model.transduction_)


def diffusion(data: Dataset, y: np.ndarray, seed: int) -> np.ndarray:
    """Return the classes of scikit-network's PageRank classifier, which sees no features."""
    from scipy.sparse import csr_matrix
    from sknetwork.classification import PageRankClassifier

    return np.asarray(PageRankClassifier().fit_predict(csr_matrix(data.adjacency), y))


def network(data: Dataset, y: np.ndarray, seed: int) -> np.ndarray:
    """Return the classes of a GCN of PyG: 16 columns, 200 epochs, dense features, as in its introduction."""
    import torch
    from torch.nn.functional import cross_entropy, dropout
    from torch_geometric.nn import GCNConv

    torch.manual_seed(seed)
    X = torch.from_numpy(data.features.toarray().astype(np.float32))
    links = data.adjacency.tocoo()
    edges = torch.from_numpy(np.stack([links.row, links.col]).astype(np.int64))
    known = torch.from_numpy(np.flatnonzero(y >= 0))
    target = torch.from_numpy(y[y >= 0])
    layers = torch.nn.ModuleList(
        [GCNConv(X.shape[1], 16, cached=True), GCNConv(16, data.n_classes, cached=True)]
    )
    optimizer = torch.optim.Adam(layers.parameters(), lr=0.01, weight_decay=5e-4)

    def scores() -> Any:
        U = layers[0](dropout(X, 0.5, layers.training), edges).relu()
        return layers[1](dropout(U, 0.5, layers.training), edges)

    for _ in range(200):
        optimizer.zero_grad()
        cross_entropy(scores()[known], target).backward()
        optimizer.step()
    layers.eval()
    with torch.no_grad():
        return np.asarray(scores().argmax(dim=1).numpy())


def trees(data: Dataset, y: np.ndarray, seed: int) -> np.ndarray:
    """Return the classes of boosted trees on features, neighbours' means and neighbours' labels."""
    return np.asarray(NeighbourTrees(seed).fit(data.features, y, adjacency=data.adjacency).transduction_)


# name, the package whose version is shown, and the function
METHODS: dict[str, tuple[str, Predict]] = {
    "gssl, AutoClassifier": ("", automatic),
    "GCN, 200 epochs": ("torch-geometric", network),
    "PageRank classifier, no features": ("scikit-network", diffusion),
    "boosted trees on neighbours' means": ("scikit-learn", trees),
    "label spreading over nearest neighbours": ("scikit-learn", spreading),
    "logistic regression, no graph": ("scikit-learn", logistic),
}


@click.command()
@click.option("--draws", default=5, show_default=True, help="Draws of labels, with seeds from 0.")
@click.option("--per-class", default=20, show_default=True)
def main(draws: int, per_class: int) -> None:
    """Print the accuracy of each method on all papers without a given label, and its CPU seconds."""
    data = load("cora").normalized()
    click.echo("| method | library | accuracy % | CPU seconds |\n|---|---|---:|---:|")
    for name, (package, predict) in METHODS.items():
        scores, seconds = [], []
        with threadpool_limits(1):
            for seed in range(draws):
                train = draw_split(data.labels, per_class, random_state=seed)["train"]
                y = np.full(data.n_nodes, -1)
                y[train] = data.labels[train]
                if not seed:
                    predict(data, y, seed)
                start = process_time()
                said = predict(data, y, seed)
                seconds.append(process_time() - start)
                scores.append(100 * (said == data.labels)[y < 0].mean())
        library = f"{package} {version(package)}" if package else f"gssl {gssl.__version__}"
        spread = f"{np.mean(scores):.1f} ± {np.std(scores):.1f}"
        click.echo(f"| {name} | {library} | {spread} | {np.median(seconds):.1f} |")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.comparison")

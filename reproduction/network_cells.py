"""Deep baselines: their published settings, dataset by dataset, and the cells they make.

They are those of the publications and of their authors' scripts, but for those of Eigen-GCN, GraphSAGE and
FastGCN, which are this package's defaults, for ACMP, whose depths are published, for N-GCN, L²-GCN and
Ordered GNN, which have no published numbers in this paper, and for GNN-LF and GNN-HF, whose authors' script
has one setting that serves all graphs here. Validation nodes train nothing and choose the epoch. Epochs are
fewer where a publication lets a network run until nothing happens any more. Other settings of ACMP, and those
of Ordered GNN, were chosen by the accuracy on validation nodes of Cora and Citeseer, one or two seeds each,
while test accuracies were in view.
"""

from dataclasses import replace
from typing import Any

from gssl.datasets import Dataset
from gssl.evaluation import accuracy
from reproduction.spec import BUDGETS, Cell, build, dataset_of, measure

_SPREADING = {"epochs": 1000}

# for all graphs; "cora", "citeseer" and "pubmed" change some of it
PUBLISHED: dict[str, dict[str, dict[str, Any]]] = {
    "ACMP": {"": {}, "citeseer": {"depth": 4, "hidden": 128}, "pubmed": {"depth": 32}},
    "GaAN": {},
    "L2GCN": {},
    "NGCN": {},
    "OrderedGNN": {},
    "GCN": {},
    "GAT": {
        "": {"epochs": 1000},
        "pubmed": {"out_heads": 8, "learning_rate": 0.01, "weight_decay": 1e-3},
    },
    "APPNP": {"": _SPREADING},
    "GNNLF": {"": _SPREADING},
    "GNNHF": {"": _SPREADING},
    "ChebNetII": {
        "": {"epochs": 1000},
        "citeseer": {"filter_dropout": 0.5},
        "pubmed": {"filter_dropout": 0.5, "filter_learning_rate": 0.005},
    },
    "DeepGCN": {
        "cora": {"dropout": 0.8, "learning_rate": 7e-3, "weight_decay": 1e-5},
        "citeseer": {"dropout": 0.3, "learning_rate": 1e-2, "weight_decay": 5e-4},
        "pubmed": {
            "dropout": 0.5,
            "learning_rate": 3e-3,
            "weight_decay": 5e-3,
            "walk": True,
            "own_weight": True,
        },
    },
    "JKNet": {
        "": {"dropout": 0.8},
        "cora": {"depth": 4, "learning_rate": 1e-3, "weight_decay": 5e-4, "walk": True},
        "citeseer": {"depth": 16, "learning_rate": 6e-3, "weight_decay": 1e-3, "own_weight": True},
        "pubmed": {"depth": 32, "learning_rate": 1e-3, "weight_decay": 5e-3},
    },
    "Incep": {
        "": {"depth": 4},
        # of its 64 layers, which are 1,953 convolutions, four are left here
        "cora": {"dropout": 0.3, "learning_rate": 4e-3, "weight_decay": 5e-5, "walk": True},
        "citeseer": {"dropout": 0.8, "learning_rate": 5e-3, "weight_decay": 1e-3},
        "pubmed": {"dropout": 0.3, "learning_rate": 3e-3, "weight_decay": 5e-3},
    },
    "GCNII": {
        "": {"epochs": 1500},
        "cora": {"depth": 64},
        "citeseer": {"depth": 32, "hidden": 256, "theta": 0.6, "dropout": 0.7},
        "pubmed": {"depth": 16, "hidden": 256, "theta": 0.4, "dropout": 0.5, "weight_decay": 5e-4},
    },
    "GRAND": {
        "": {"epochs": 5000},
        "citeseer": {
            "depth": 2,
            "samples": 2,
            "input_dropout": 0.0,
            "dropout": 0.2,
            "temperature": 0.3,
            "consistency": 0.7,
        },
        "pubmed": {
            "depth": 5,
            "input_dropout": 0.6,
            "dropout": 0.8,
            "temperature": 0.2,
            "batch_norm": True,
            "learning_rate": 0.2,
            "patience": 100,
        },
    },
    "EigenGCN": {},
    "GraphSAGE": {},
    "FastGCN": {},
}
# the part of the links that DropEdge's scripts leave out
DROP_EDGE: dict[str, dict[str, float]] = {
    "DeepGCN": {"cora": 0.6, "citeseer": 0.8, "pubmed": 0.3},
    "JKNet": {"cora": 0.6, "citeseer": 0.5, "pubmed": 0.3},
    "Incep": {"cora": 0.6, "citeseer": 0.95, "pubmed": 0.2},
}
# seconds, not minutes, on a laptop
QUICK = ("GCN", "GraphSAGE")


def published_params(name: str, dataset: str, drop_edge: bool = False) -> dict[str, Any]:
    """Return the published settings of a network on a citation graph; some networks have DropEdge."""
    graph = dataset.partition("/")[2]
    params = PUBLISHED[name].get("", {}) | PUBLISHED[name].get(graph, {})
    return params | {"drop_edge": DROP_EDGE[name][graph]} if drop_edge else params


def network(
    name: str, dataset: str, *, drop_edge: bool = False, choices: tuple[Any, ...] = (), **params: Any
) -> Cell:
    """Make a network at its published settings, ``params`` in place of some of them.

    ``choices`` are those of :func:`train_network`.
    """
    settings = {"method": name, "params": published_params(name, dataset, drop_edge) | params}
    if choices:
        settings["choices"] = list(choices)
    fast = name in QUICK and not dataset.endswith("pubmed") and not drop_edge and "depth" not in params
    return Cell("network", dataset, settings, slow=not fast)


@measure("network")
def train_network(cell: Cell, seed: int) -> dict[str, float]:
    """Train a network, the epoch chosen on validation nodes, and score it on the test nodes.

    Where validation labels belong to the budget they train, too, and all epochs are taken. ``choices`` are
    changes of the parameters, of which validation nodes choose one: the first of the best ones.
    """
    params, found = cell.settings.get("params", {}), []
    for choice, change in enumerate(cell.settings.get("choices", [{}])):
        changed = replace(cell, settings={**cell.settings, "params": {**params, **change}})
        model = fitted(changed, seed, dataset_of(cell.dataset))
        found.append({**scores(changed, model), "choice": choice})
    return max(found, key=lambda values: values["validation"])


def fitted(cell: Cell, seed: int, data: Dataset) -> Any:
    """Fit the network of a cell to the labels of its budget."""
    split = data.splits[cell.split]
    labels = data.mask_labels(cell.split, ("train", "val"))
    held_out = None if "val" in BUDGETS[cell.budget] else split["val"]
    model = build(cell.settings, seed)
    return model.fit(data.features, labels, adjacency=data.adjacency, validation=held_out)


def scores(cell: Cell, model: Any) -> dict[str, float]:
    """Say how a network fares, and how long it was trained."""
    data = dataset_of(cell.dataset)
    split = data.splits[cell.split]

    def score(part: str) -> float:
        return 100 * accuracy(data.labels[split[part]], model.transduction_[split[part]])

    return {
        "accuracy": score("test"),
        "validation": score("val"),
        "epochs": model.n_iter_,
        "best_epoch": model.best_epoch_,
    }

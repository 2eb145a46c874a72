"""Numbers and label sets: AutoRegressor and AutoClassifier beside simple rivals, on random draws."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import average_precision_score, f1_score, r2_score
from sklearn.preprocessing import StandardScaler

from benchmarks.accuracy.tables import Grid
from gssl.datasets.location import find_file
from gssl.graph import check_adjacency
from gssl.operators.field import field_mean, field_operator
from gssl.selection import AutoClassifier, AutoRegressor

_TABLES = ("county_2012", "climate_2008")
_ROADS = ("traffic_anaheim", "traffic_chicagosketch")
_DIRECTIONS = 128
# how far known numbers reach in label propagation
_REACH = 100.0
SETS = ("ml_pcg", "ml_humloc", "ml_prone_wikipedia", "het_hgb_imdb_multilabel")


@dataclass(frozen=True, eq=False)
class Task:
    """Features, numbers (NaN unknown) and links of one target."""

    name: str
    X: Any
    y: np.ndarray
    A: csr_array


def adjacency(edges: np.ndarray, n: int) -> csr_array:
    """Return a symmetric adjacency without self-loops."""
    edges = edges[edges[:, 0] != edges[:, 1]]
    A = csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    return check_adjacency(csr_array(((A + A.T) > 0).astype(float)), allow_empty=True)


def number_tasks() -> Iterator[Task]:
    """Yield all targets: each attribute of counties in turn, flows of roads, views and traffic of pages."""
    for name in _TABLES:
        z = np.load(find_file(f"numbers/{name}.npz"))
        X, A = z["attributes"].astype(float), adjacency(z["edges"], int(z["num_nodes"]))
        filled = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
        for k, attribute in enumerate(z["attribute_names"]):
            yield Task(f"{name} {attribute}", np.delete(filled, k, axis=1), X[:, k], A)
    for name in _ROADS:
        z = np.load(find_file(f"numbers/{name}.npz"))
        A = adjacency(z["edges"], int(z["num_nodes"]))
        yield Task(name, z["features"].astype(float), z["targets"].astype(float).ravel(), A)
    for name in ("twitch_engb", "wiki_chameleon"):
        z = np.load(find_file(f"numbers/{name}.npz"))
        parts = (z["feat_data"].astype(float), z["feat_indices"], z["feat_indptr"])
        X, targets = csr_array(parts, shape=tuple(z["feat_shape"])), z["targets"].astype(float)
        y = np.log1p(targets[:, 0]) if name == "twitch_engb" else np.log(targets.ravel())
        yield Task(f"{name}, log", X, y, adjacency(z["edges"], int(z["num_nodes"])))


def no_graph(task: Task, y: np.ndarray) -> np.ndarray:
    """Predict by ridge regression on features alone."""
    rows, known = _dense(task.X), ~np.isnan(y)
    scaled = StandardScaler().fit_transform(rows)
    return np.asarray(RidgeCV(np.geomspace(0.1, 1e4, 11)).fit(scaled[known], y[known]).predict(scaled))


def label_propagation(task: Task, y: np.ndarray) -> np.ndarray:
    """Spread the known numbers, without their mean, over the links."""
    known = ~np.isnan(y)
    centred = np.where(known, y - y[known].mean(), 0.0)[:, None]
    spread = field_mean(field_operator(task.A), centred, known[:, None], _REACH)
    return np.asarray(spread[:, 0] + y[known].mean())


def neighbour_trees(task: Task, y: np.ndarray) -> np.ndarray:
    """Predict by boosted trees with default settings on features and their means over neighbours."""
    rows, known = _dense(task.X), ~np.isnan(y)
    degree = np.maximum(np.asarray(task.A.sum(axis=1)).reshape(-1, 1), 1e-12)
    near = task.A @ rows / degree
    columns = np.hstack([rows, near, task.A @ near / degree, np.log1p(degree)])
    return np.asarray(
        HistGradientBoostingRegressor(random_state=0).fit(columns[known], y[known]).predict(columns)
    )


def _dense(X: Any) -> np.ndarray:
    if not issparse(X):
        return np.asarray(X)
    return np.asarray(TruncatedSVD(_DIRECTIONS, random_state=0).fit_transform(X))


RIVALS: dict[str, Callable[[Task, np.ndarray], np.ndarray]] = {
    "ridge, no graph": no_graph,
    "label propagation": label_propagation,
    "trees, neighbours' means": neighbour_trees,
}


def number_grid(share: float, draws: range) -> Grid:
    """Return R² on unknown numbers, coverage and width of 90 % intervals, and CPU seconds, by target."""
    headings = ("target", "known", "AutoRegressor", *RIVALS, "within 90 %", "width / deviation", "seconds")
    rows, sums = [], []
    for task in number_tasks():
        scores: dict[str, list[float]] = {name: [] for name in ("auto", *RIVALS)}
        within, width, seconds = [], [], []
        has = ~np.isnan(task.y)
        for draw in draws:
            known = has & (np.random.default_rng(draw).random(len(task.y)) < share)
            y, test = np.where(known, task.y, np.nan), has & ~known
            truth, start = task.y[test], process_time()
            model = AutoRegressor().fit(task.X, y, adjacency=task.A)
            seconds.append(process_time() - start)
            low, high = model.intervals_[test].T
            within.append(float(((low <= truth) & (truth <= high)).mean()))
            width.append(float((high - low).mean() / truth.std()))
            scores["auto"].append(r2_score(truth, model.transduction_[test]))
            for name, rival in RIVALS.items():
                scores[name].append(r2_score(truth, rival(task, y)[test]))
        means = [float(np.mean(values)) for values in scores.values()]
        sums.append([*means, float(np.mean(within)), float(np.mean(width)), float(np.mean(seconds))])
        spread = float(np.std(scores["auto"]))
        shown = [f"{means[0]:.3f} ± {spread:.3f}", *(f"{mean:.3f}" for mean in means[1:])]
        rows.append((task.name, f"{share:.0%}", *shown, *_rest(sums[-1][-3:])))
    mean = np.mean(sums, axis=0)
    rows.append(("mean", f"{share:.0%}", *(f"{value:.3f}" for value in mean[:-3]), *_rest(mean[-3:])))
    return Grid(f"Numbers, {len(draws)} draws", headings, tuple(rows))


def _rest(values: Any) -> tuple[str, str, str]:
    within, width, seconds = values
    return f"{100 * within:.1f}", f"{width:.2f}", f"{seconds:.1f}"


def set_grid(draws: range) -> Grid:
    """Return macro average precision and F1 of label sets, by graph and split."""
    headings = ("graph", "split", "macro AP", "micro F1", "macro F1", "micro F1, k given", "seconds")
    rows = []
    for name in SETS:
        for split, records in set_records(name, draws).items():
            means = np.mean(records, axis=0)
            rows.append((name, split, *(f"{value:.3f}" for value in means[:-1]), f"{means[-1]:.1f}"))
    return Grid("Several labels per node", headings, tuple(rows))


def set_records(name: str, draws: range) -> dict[str, list[tuple[float, ...]]]:
    """Score one graph on its own split and on draws; without features, 90 % of the nodes are known."""
    folder = "relations" if name.startswith("het") else "labelsets"
    z = np.load(find_file(f"{folder}/{name}.npz"))
    truth = z["labels_multi"].astype(int)
    links = next(z[key] for key in ("edges", "edge_list", "links") if key in z.files)[:, :2]
    n = max(len(truth), int(links.max()) + 1)
    A, X = adjacency(links, n), z["features"].astype(float) if "features" in z.files else None
    splits: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    if "train_ids" in z.files:
        splits["its own"] = [(z["train_ids"], z["test_ids"])]
    if folder == "labelsets":
        share, tested = (0.9, 0.1) if X is None else (0.6, 0.2)
        orders = [np.random.default_rng(draw).permutation(len(truth)) for draw in draws]
        first, last = int(share * len(truth)), int(tested * len(truth))
        splits[f"{share:.0%} known"] = [(order[:first], order[-last:]) for order in orders]
    records: dict[str, list[tuple[float, ...]]] = {}
    for split, parts in splits.items():
        for train, test in parts:
            Y = np.full((n, truth.shape[1]), np.nan)
            Y[train], start = truth[train], process_time()
            model = AutoClassifier().fit(X, Y, adjacency=A)
            seconds = process_time() - start
            P, said, right = model.label_distributions_[test], model.transduction_[test], truth[test]
            records.setdefault(split, []).append((*_set_scores(right, P, said), seconds))
    return records


def _set_scores(truth: np.ndarray, P: np.ndarray, said: np.ndarray) -> tuple[float, float, float, float]:
    """Return AP, micro and macro F1, and micro F1 if the number of labels of each node were known."""
    some = truth.any(axis=0)
    precision = average_precision_score(truth[:, some], P[:, some], average="macro")
    ranks = np.argsort(np.argsort(-P, axis=1), axis=1)
    top = (ranks < truth.sum(axis=1, keepdims=True)).astype(int)
    options: dict[str, Any] = {"zero_division": 0}
    micro, macro = (float(f1_score(truth, said, average=kind, **options)) for kind in ("micro", "macro"))
    return float(precision), micro, macro, float(f1_score(truth, top, average="micro", **options))

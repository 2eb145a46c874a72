"""Typed and directed links: models that tell them apart beside the same models on all links as one."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, r2_score

from benchmarks.accuracy.tables import Grid
from gssl.datasets.location import find_file
from gssl.graph import GraphWarning, check_adjacency
from gssl.graph.adjacency import union_of
from gssl.selection import AutoClassifier, AutoRegressor

_ROADS = ("traffic_anaheim", "traffic_chicagosketch")
_KNOWN_ROADS = 0.6


@dataclass(frozen=True, eq=False)
class Typed:
    """A problem with relations, the nodes to test on, and how answers are scored.

    ``score`` takes the truth and a fitted model with the test nodes. ``single`` are relations to try alone.
    """

    name: str
    split: str
    measure: str
    X: Any
    y: np.ndarray
    relations: Mapping[str, csr_array]
    test: np.ndarray
    score: Callable[[Any, np.ndarray], float]
    directed: bool = False
    single: tuple[str, ...] = ()


def relation_problems(draws: range) -> Iterator[Typed]:
    """Yield papers, films, persons, words, roads and proteins, each with the splits of its publication."""
    yield from _papers()
    yield from _films()
    yield _persons()
    yield from _words(draws)
    yield from _roads(draws)
    yield _proteins()


def relation_grid(draws: range) -> Grid:
    """Return scores on test nodes with links told apart, as one, and by the best relation alone."""
    headings = ("graph", "split", "score", "told apart", "all as one", "best alone", "seconds, × as one")
    records: dict[tuple[str, str, str], list[tuple[float, ...]]] = {}
    # about self-loops, and nodes of other kinds that one relation does not reach
    warnings.simplefilter("ignore", GraphWarning)
    for problem in relation_problems(draws):
        together = check_adjacency(problem.relations, directed=problem.directed)
        apart, seconds = _run(problem, together)
        union, plain = _run(problem, union_of(together))
        single = [union_of(check_adjacency({name: problem.relations[name]})) for name in problem.single]
        alone = [_run(problem, adjacency)[0] for adjacency in single]
        key = problem.name, problem.split, problem.measure
        row = apart, union, max(alone, default=np.nan), seconds, seconds / plain
        records.setdefault(key, []).append(row)
    rows = []
    for key, values in records.items():
        apart, union, alone, seconds, ratio = np.mean(values, axis=0)
        scores = (f"{100 * value:.1f}" if np.isfinite(value) else "–" for value in (apart, union, alone))
        rows.append((*key, *scores, f"{seconds:.1f}, {ratio:.1f}"))
    return Grid("Typed and directed links", headings, tuple(rows))


def _run(problem: Typed, adjacency: csr_array) -> tuple[float, float]:
    model: Any = AutoRegressor() if problem.measure == "R²" else AutoClassifier()
    start = process_time()
    model.fit(problem.X, problem.y, adjacency=adjacency)
    seconds = process_time() - start
    return problem.score(model, problem.test), seconds


def _links(pairs: np.ndarray, n: int, first: int = 0, second: int = 0, weights: Any = None) -> csr_array:
    """Return links from ``first`` + u to ``second`` + v, each once."""
    if weights is None:
        pairs = np.unique(pairs[:, :2], axis=0)
        weights = np.ones(len(pairs))
    return csr_array((weights, (pairs[:, 0] + first, pairs[:, 1] + second)), shape=(n, n))


def _features(z: Any, prefix: str = "feat") -> csr_array:
    parts = (z[f"{prefix}_data"].astype(float), z[f"{prefix}_indices"], z[f"{prefix}_indptr"])
    return csr_array(parts, shape=tuple(z[f"{prefix}_shape"]))


def _papers() -> Iterator[Typed]:
    z = np.load(find_file("relations/het_acm.npz"))
    papers, authors = _features(z, "feat_p"), _features(z, "feat_a")
    subjects = int(z["rel_ps"][:, 1].max()) + 1
    p, a = papers.shape[0], authors.shape[0]
    n = p + a + subjects
    X = csr_array(vstack([papers, authors, csr_array((subjects, papers.shape[1]))]))
    relations = {"author": _links(z["rel_pa"], n, 0, p), "subject": _links(z["rel_ps"], n, 0, p + a)}
    truth = z["labels"]
    for budget in (20, 40, 60):
        y = np.full(n, -1)
        y[z[f"train_{budget}"]] = truth[z[f"train_{budget}"]]

        def score(model: Any, test: np.ndarray) -> float:
            return float(f1_score(truth[test], model.transduction_[test], average="macro"))

        test = z[f"test_{budget}"]
        split = f"{budget} per class"
        yield Typed("het_acm", split, "macro F1", X, y, relations, test, score, single=tuple(relations))


def _films() -> Iterator[Typed]:
    z = np.load(find_file("relations/het_hgb_imdb_multilabel.npz"))
    links, truth = z["links"], z["labels_multi"].astype(int)
    n = int(links[:, :2].max()) + 1
    # each kind is stored in both directions, under two numbers
    relations = {f"kind {k}": _links(links[links[:, 2] == k], n) for k in np.unique(links[:, 2])[::2]}
    Y = np.full((n, truth.shape[1]), np.nan)
    Y[z["train_ids"]] = truth[z["train_ids"]]
    for average in ("micro", "macro"):

        def score(model: Any, test: np.ndarray, average: str = average) -> float:
            return float(f1_score(truth[test], model.transduction_[test], average=average))

        yield Typed("het_hgb_imdb", "its own", f"{average} F1", None, Y, relations, z["test_ids"], score)


def _persons() -> Typed:
    z = np.load(find_file("relations/het_rdf_aifb.npz"))
    triples, n = z["triples"], int(z["num_nodes"])
    relations = {
        str(name): _links(triples[triples[:, 1] == k][:, [0, 2]], n)
        for k, name in enumerate(z["relations"])
        if (triples[:, 1] == k).any()
    }
    y = np.full(n, -1)
    y[z["training_ids"]] = z["training_labels"]
    truth = np.full(n, -1)
    truth[z["test_ids"]] = z["test_labels"]

    def score(model: Any, test: np.ndarray) -> float:
        return float(accuracy_score(truth[test], model.transduction_[test]))

    return Typed("het_rdf_aifb", "its own", "accuracy", None, y, relations, z["test_ids"], score)


def _words(draws: range) -> Iterator[Typed]:
    z = np.load(find_file("graphs/ud_ewt.npz"))
    X, truth = _features(z), z["labels"]
    relations = {"links": _links(z["directed_edges"], len(truth))}
    for k in list(draws)[: len(z["train_masks"])]:
        y, test = np.where(z["train_masks"][k], truth, -1), np.flatnonzero(z["test_masks"][k])

        def score(model: Any, test: np.ndarray) -> float:
            return float(accuracy_score(truth[test], model.transduction_[test]))

        yield Typed("ud_ewt", "50 %", "accuracy", X, y, relations, test, score, directed=True)


def _roads(draws: range) -> Iterator[Typed]:
    for name in _ROADS:
        z = np.load(find_file(f"numbers/{name}.npz"))
        truth = z["targets"].astype(float).ravel()
        names = {"edges": "follow", "edges_siblings": "share an end"}
        relations = {said: _links(z[key], len(truth)) for key, said in names.items()}
        for draw in draws:
            known = np.random.default_rng(draw).random(len(truth)) < _KNOWN_ROADS

            def score(model: Any, test: np.ndarray, truth: np.ndarray = truth) -> float:
                return float(r2_score(truth[test], model.transduction_[test]))

            yield Typed(
                name,
                f"{_KNOWN_ROADS:.0%}",
                "R²",
                z["features"].astype(float),
                np.where(known, truth, np.nan),
                relations,
                np.flatnonzero(~known),
                score,
                single=tuple(relations),
            )


def _proteins() -> Typed:
    z = np.load(find_file("labelsets/ml_humloc.npz"))
    truth, pairs, kinds = z["labels_multi"].astype(int), z["edge_list"], z["edge_features"]
    relations = {
        str(name): _links(pairs[kinds[:, k] > 0], len(truth))
        for k, name in enumerate(z["edge_feature_names"])
        if (kinds[:, k] > 0).any()
    }
    Y = np.full(truth.shape, np.nan)
    Y[z["train_ids"]] = truth[z["train_ids"]]

    def score(model: Any, test: np.ndarray) -> float:
        some = truth[test].any(axis=0)
        P = model.label_distributions_[test][:, some]
        return float(average_precision_score(truth[test][:, some], P, average="macro"))

    X = z["features"].astype(float)
    return Typed("ml_humloc", "its own", "macro AP", X, Y, relations, z["test_ids"], score)

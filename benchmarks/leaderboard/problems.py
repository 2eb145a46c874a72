"""Problems with known answers: which nodes are known, which are tested, and how answers are scored."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack
from sklearn.metrics import average_precision_score, f1_score, r2_score

from gssl.datasets.location import find_file
from gssl.evaluation import expected_calibration_error, reliability
from gssl.graph import check_adjacency
from gssl.graph.adjacency import union_of
from reproduction.spec import CITATIONS, dataset_of

_SMALL = (
    "cornell",
    "texas",
    "wisconsin",
    "chameleon_filtered",
    "polblogs",
    "cora_ml",
    "squirrel_filtered",
    "amazon_photo",
    "actor",
    "minesweeper",
    "flickr_attr",
)
# more than 10,000 nodes: drawn once, and run last
_LARGE = ("amazon_computers", "dblp", "coauthor_cs", "tolokers", "ud_ewt", "wordnet_nouns")
LARGE = ("planetoid/pubmed", *(f"graphs/{name}" for name in _LARGE))
BUDGETS = ("1 per class", "5 per class", "20 per class", "50 %")
_TABLES = ("county_2012", "climate_2008")
_ROADS = ("traffic_anaheim", "traffic_chicagosketch")
_PAGES = ("twitch_engb", "wiki_chameleon")
SETS = {"ml_pcg": "60 %", "ml_humloc": "60 %", "ml_prone_wikipedia": "90 %"}


class Task(NamedTuple):
    """The name of a problem, its budget of known answers, and the seed of the draw."""

    name: str
    budget: str
    draw: int = 0


@dataclass(frozen=True, eq=False)
class Problem:
    """Features, known answers (−1 or NaN where unknown), links, the test nodes and all true answers.

    ``kind`` is "classes", "numbers" or "sets"; ``measure`` is the score that counts.
    """

    kind: str
    measure: str
    X: Any
    y: np.ndarray
    adjacency: csr_array
    test: np.ndarray
    truth: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """Which nodes have a known answer."""
        if self.kind == "classes":
            return np.asarray(self.y >= 0)
        return np.asarray(~np.isnan(self.y.reshape(len(self.y), -1)).any(axis=1))

    @property
    def union(self) -> csr_array:
        """The links, all as one kind and without directions."""
        return union_of(self.adjacency)


def list_tasks(draws: int) -> Iterator[Task]:
    """Yield the tasks of each family: classes, numbers, several labels, typed links."""
    for name in (*CITATIONS.values(), *(f"graphs/{name}" for name in (*_SMALL, *_LARGE))):
        budgets = ("public", *BUDGETS) if name in CITATIONS.values() else BUDGETS
        # its mines are the first nodes that NumPy draws with seed 0: an equal draw would find them all
        first = 1 if name == "graphs/minesweeper" else 0
        few = range(first, first + (1 if name in LARGE else draws))
        yield from (Task(name, how, k) for how in budgets for k in (few if how != "public" else (0,)))
    yield from (Task(name, "30 %", k) for name in number_names() for k in range(draws))
    yield from (Task(f"labelsets/{name}", how, k) for name, how in SETS.items() for k in range(draws))
    yield from (Task("relations/acm", f"{k} per class") for k in (20, 40, 60))
    yield from (Task(f"relations/{name}", "its own") for name in ("imdb", "aifb", "humloc"))
    yield from (Task(f"relations/{name}", "60 %", k) for name in _ROADS for k in range(draws))
    yield Task("relations/ud_ewt", "50 %")


def number_names() -> list[str]:
    """Return the problems of numbers: each attribute of two tables, flows of roads, traffic of pages."""
    columns = {table: np.load(find_file(f"numbers/{table}.npz"))["attribute_names"] for table in _TABLES}
    attributes = [f"numbers/{table}: {name}" for table, names in columns.items() for name in names]
    return attributes + [f"numbers/{name}" for name in (*_ROADS, *_PAGES)]


def family(name: str) -> str:
    """Return the family of a problem: "classes", "numbers", "labelsets" or "relations"."""
    room = name.split("/")[0]
    return "classes" if room in ("graphs", "planetoid") else room


def kind_of(name: str) -> str:
    """Return the kind of answers of a problem: "classes", "numbers" or "sets"."""
    room, _, rest = name.partition("/")
    if room == "relations":
        return _RELATIONS[rest][0]
    return {"numbers": "numbers", "labelsets": "sets"}.get(room, "classes")


def load_problem(task: Task) -> Problem:
    """Read the files of a task, and hide the answers that its budget does not have."""
    room, name = task.name.split("/")
    if family(task.name) == "classes":
        return _classes(task)
    if room == "numbers":
        return _numbers(name, task)
    return _sets(name, task) if room == "labelsets" else _RELATIONS[name][1](task)


def score(problem: Problem, answers: np.ndarray, beliefs: np.ndarray | None) -> dict[str, float]:
    """Return the scores of answers on the test nodes, in percent.

    ``beliefs`` are distributions over the classes of ``y``, probabilities of labels, or intervals of 90 %.
    """
    test, truth = problem.test, problem.truth[problem.test]
    values: dict[str, float] = {}
    if problem.kind == "numbers":
        values["R²"] = r2_score(truth, answers[test])
        if beliefs is not None:
            low, high = beliefs[test].T
            # the interval's miss of its 90 %
            values["calibration"] = abs(float(((low <= truth) & (truth <= high)).mean()) - 0.9)
    elif problem.kind == "classes":
        values["accuracy"] = float((answers[test] == truth).mean())
        values["macro F1"] = float(f1_score(truth, answers[test], average="macro"))
        if beliefs is not None:
            classes = np.unique(problem.y[problem.known])
            values["calibration"] = expected_calibration_error(reliability(truth, beliefs[test], classes))
    else:
        values["micro F1"], values["macro F1"] = (
            float(f1_score(truth, answers[test], average=average, zero_division=0))
            for average in ("micro", "macro")
        )
        if beliefs is not None:
            some = truth.any(axis=0)
            P = beliefs[test]
            values["macro AP"] = float(average_precision_score(truth[:, some], P[:, some], average="macro"))
            two = np.stack([1 - P.ravel(), P.ravel()], axis=1)
            rates = reliability(truth.ravel().astype(int), two, np.array([0, 1]))
            values["calibration"] = expected_calibration_error(rates)
    return {name: 100 * value for name, value in values.items()}


def _classes(task: Task) -> Problem:
    data = dataset_of(task.name)
    labels = data.labels
    if task.budget == "public":
        train, test = data.splits["public"]["train"], data.splits["public"]["test"]
    else:
        train, test = draw_classes(labels, task.budget, task.draw)
    y = np.full(data.n_nodes, -1)
    y[train] = labels[train]
    return Problem("classes", "accuracy", data.features, y, data.adjacency, test, labels)


def draw_classes(labels: np.ndarray, budget: str, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw so many nodes of each class, at most half of it, or half of all nodes; the others are tested."""
    order = np.random.default_rng(draw).permutation(np.flatnonzero(labels >= 0))
    if budget.endswith("%"):
        train = order[: round(float(budget[:-1]) / 100 * len(order))]
    else:
        members = [order[labels[order] == label] for label in np.unique(labels[order])]
        train = np.concatenate(
            [nodes[: min(int(budget.split()[0]), -(-len(nodes) // 2))] for nodes in members]
        )
    return np.sort(train), np.setdiff1d(order, train)


def _numbers(name: str, task: Task) -> Problem:
    table, _, column = name.partition(": ")
    z = np.load(find_file(f"numbers/{table}.npz"))
    if column:
        k, X = list(z["attribute_names"]).index(column), z["attributes"].astype(float)
        filled = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
        features, y = np.delete(filled, k, axis=1), X[:, k]
    elif table in _ROADS:
        features, y = z["features"].astype(float), z["targets"].astype(float).ravel()
    else:
        features, first = _features(z), z["targets"].astype(float).reshape(len(z["targets"]), -1)[:, 0]
        y = np.log1p(first) if table == "twitch_engb" else np.log(first)
    adjacency = check_adjacency(_links(z["edges"], len(y)), allow_empty=True)
    return _draw_numbers(features, y, adjacency, float(task.budget[:-1]) / 100, task.draw)


def _draw_numbers(X: Any, y: np.ndarray, adjacency: csr_array, share: float, draw: int) -> Problem:
    has = ~np.isnan(y)
    known = has & (np.random.default_rng(draw).random(len(y)) < share)
    shown = np.where(known, y, np.nan)
    return Problem("numbers", "R²", X, shown, adjacency, np.flatnonzero(has & ~known), y)


def _sets(name: str, task: Task) -> Problem:
    z = np.load(find_file(f"labelsets/{name}.npz"))
    truth = z["labels_multi"].astype(int)
    order = np.random.default_rng(task.draw).permutation(len(truth))
    share, tested = (0.9, 0.1) if task.budget == "90 %" else (0.6, 0.2)
    train, test = order[: int(share * len(order))], order[-int(tested * len(order)) :]
    links = next(z[key] for key in ("edges", "edge_list") if key in z.files)
    X = z["features"].astype(float) if "features" in z.files else None
    adjacency = check_adjacency(_links(links, len(truth)), allow_empty=True)
    return _label_sets(X, truth, adjacency, train, test, "macro AP")


def _label_sets(
    X: Any, truth: np.ndarray, adjacency: csr_array, train: np.ndarray, test: np.ndarray, measure: str
) -> Problem:
    Y = np.full((adjacency.shape[0], truth.shape[1]), np.nan)
    Y[train] = truth[train]
    return Problem("sets", measure, X, Y, adjacency, test, truth)


def _links(pairs: np.ndarray, n: int, first: int = 0, second: int = 0) -> csr_array:
    """Return links from ``first`` + u to ``second`` + v, each once, without self-loops."""
    pairs = np.unique(pairs[:, :2], axis=0) + np.array([first, second])
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))


def _features(z: Any, prefix: str = "feat") -> csr_array:
    parts = (z[f"{prefix}_data"].astype(float), z[f"{prefix}_indices"], z[f"{prefix}_indptr"])
    return csr_array(parts, shape=tuple(z[f"{prefix}_shape"]))


def _papers(task: Task) -> Problem:
    z = np.load(find_file("relations/het_acm.npz"))
    papers, authors = _features(z, "feat_p"), _features(z, "feat_a")
    subjects = int(z["rel_ps"][:, 1].max()) + 1
    p, a = papers.shape[0], authors.shape[0]
    n = p + a + subjects
    X = csr_array(vstack([papers, authors, csr_array((subjects, papers.shape[1]))]))
    relations = {"author": _links(z["rel_pa"], n, 0, p), "subject": _links(z["rel_ps"], n, 0, p + a)}
    budget = task.budget.split()[0]
    train, truth, y = z[f"train_{budget}"], np.full(n, -1), np.full(n, -1)
    truth[: len(z["labels"])] = z["labels"]
    y[train] = truth[train]
    return Problem("classes", "macro F1", X, y, check_adjacency(relations), z[f"test_{budget}"], truth)


def _films(task: Task) -> Problem:
    z = np.load(find_file("relations/het_hgb_imdb_multilabel.npz"))
    links = z["links"]
    n = int(links[:, :2].max()) + 1
    # each kind is stored in both directions, under two numbers
    kinds = np.unique(links[:, 2])[::2]
    relations = {f"kind {k}": _links(links[links[:, 2] == k], n) for k in kinds}
    truth = z["labels_multi"].astype(int)
    return _label_sets(None, truth, check_adjacency(relations), z["train_ids"], z["test_ids"], "macro AP")


def _persons(task: Task) -> Problem:
    z = np.load(find_file("relations/het_rdf_aifb.npz"))
    triples, n = z["triples"], int(z["num_nodes"])
    by_kind = {str(name): triples[triples[:, 1] == k][:, [0, 2]] for k, name in enumerate(z["relations"])}
    relations = {name: _links(pairs, n) for name, pairs in by_kind.items() if len(pairs)}
    y, truth = np.full(n, -1), np.full(n, -1)
    y[z["training_ids"]] = z["training_labels"]
    truth[z["test_ids"]] = z["test_labels"]
    return Problem("classes", "accuracy", None, y, check_adjacency(relations), z["test_ids"], truth)


def _words(task: Task) -> Problem:
    z = np.load(find_file("graphs/ud_ewt.npz"))
    truth = z["labels"]
    y, test = np.where(z["train_masks"][task.draw], truth, -1), np.flatnonzero(z["test_masks"][task.draw])
    adjacency = check_adjacency({"links": _links(z["directed_edges"], len(truth))}, directed=True)
    return Problem("classes", "accuracy", _features(z), y, adjacency, test, truth)


def _roads(task: Task) -> Problem:
    z = np.load(find_file(f"numbers/{task.name.split('/')[1]}.npz"))
    truth = z["targets"].astype(float).ravel()
    keys = {"follow": "edges", "share an end": "edges_siblings"}
    relations = {name: _links(z[key], len(truth)) for name, key in keys.items()}
    X = z["features"].astype(float)
    return _draw_numbers(X, truth, check_adjacency(relations), float(task.budget[:-1]) / 100, task.draw)


def _proteins(task: Task) -> Problem:
    z = np.load(find_file("labelsets/ml_humloc.npz"))
    truth, pairs, has = z["labels_multi"].astype(int), z["edge_list"], z["edge_features"] > 0
    relations = {
        str(name): _links(pairs[has[:, k]], len(truth))
        for k, name in enumerate(z["edge_feature_names"])
        if has[:, k].any()
    }
    X = z["features"].astype(float)
    adjacency = check_adjacency(relations)
    return _label_sets(X, truth, adjacency, z["train_ids"], z["test_ids"], "macro AP")


_RELATIONS: Mapping[str, tuple[str, Any]] = {
    "acm": ("classes", _papers),
    "imdb": ("sets", _films),
    "aifb": ("classes", _persons),
    "humloc": ("sets", _proteins),
    "ud_ewt": ("classes", _words),
    **dict.fromkeys(_ROADS, ("numbers", _roads)),
}

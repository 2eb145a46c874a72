"""What a person could use: gssl's automatic models, and plain alternatives with settings as they come.

No method has a validation set. A method takes a problem and a seed, and returns answers and beliefs of all
nodes, as :func:`benchmarks.leaderboard.problems.score` takes them.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array, issparse
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import gssl
from benchmarks.leaderboard.problems import Problem, family, kind_of
from gssl.operators.field import field_mean, field_operator
from gssl.selection import AutoClassifier, AutoRegressor

Answer = tuple[np.ndarray, np.ndarray | None]
Method = Callable[[Problem, int], Answer]
# columns of wide sparse features for models that need dense ones
_DIRECTIONS = 128
# how far known numbers and label sets reach in label spreading
_REACH = 100.0


def automatic(problem: Problem, seed: int) -> Answer:
    """Fit AutoRegressor to numbers, and AutoClassifier to everything else."""
    return _automatic(problem, problem.adjacency)


def automatic_as_one(problem: Problem, seed: int) -> Answer:
    """Fit the same to all links as one kind, without directions."""
    return _automatic(problem, problem.union)


def _automatic(problem: Problem, adjacency: csr_array) -> Answer:
    if problem.kind == "numbers":
        regressor = AutoRegressor().fit(problem.X, problem.y, adjacency=adjacency)
        return regressor.transduction_, regressor.intervals_
    model = AutoClassifier().fit(problem.X, problem.y, adjacency=adjacency)
    return model.transduction_, model.label_distributions_


def ogc(problem: Problem, seed: int) -> Answer:
    """Fit OGC, which answers with one class per node."""
    model = gssl.OGC(random_state=seed).fit(problem.X, problem.y, adjacency=problem.union)
    return model.transduction_, model.label_distributions_


def spreading(problem: Problem, seed: int) -> Answer:
    """Spread classes, numbers without their mean, or 0 and 1 over the links."""
    if problem.kind == "classes":
        model = gssl.LabelSpreading().fit(None, problem.y, adjacency=problem.union)
        return model.transduction_, model.label_distributions_
    Y, known = problem.y.reshape(len(problem.y), -1), problem.known
    mean = Y[known].mean(axis=0)
    centred = np.where(known[:, None], Y - mean, 0.0)
    mask = np.repeat(known[:, None], Y.shape[1], axis=1)
    spread = field_mean(field_operator(problem.union), centred, mask, _REACH) + mean
    if problem.kind == "numbers":
        return spread[:, 0], None
    P = np.clip(spread, 0.0, 1.0)
    return (P > 0.5).astype(int), P


def embedded(make: Callable[[], Any]) -> Method:
    """Return a linear model on the embeddings of a filter."""

    def method(problem: Problem, seed: int) -> Answer:
        if problem.kind == "classes":
            model = gssl.EmbeddingClassifier(make()).fit(problem.X, problem.y, adjacency=problem.union)
            return model.transduction_, model.label_distributions_
        return _linear(problem, make().fit_transform(_features(problem), adjacency=problem.union))

    return method


def _linear(problem: Problem, U: Any) -> Answer:
    """Ridge regression for numbers, logistic regression for each label, both on scaled columns."""
    known = problem.known
    scaler = MaxAbsScaler() if issparse(U) else StandardScaler()
    if problem.kind == "numbers":
        model = make_pipeline(scaler, RidgeCV(np.geomspace(0.1, 1e4, 11)))
        rows = _dense(U)
        return model.fit(rows[known], problem.y[known]).predict(rows), None
    make = lambda: make_pipeline(scaler, LogisticRegression(max_iter=1000))  # noqa: E731
    return _each_label(problem, U, make)


def _each_label(problem: Problem, U: Any, make: Callable[[], Any]) -> Answer:
    """Fit a classifier to each label; one that all or no known nodes have is answered so everywhere."""
    known, P = problem.known, np.zeros(problem.y.shape)
    for k, column in enumerate(problem.y[known].T):
        one = len(np.unique(column)) == 1
        P[:, k] = column[0] if one else make().fit(U[known], column).predict_proba(U)[:, 1]
    return (P > 0.5).astype(int), P


def trees(problem: Problem, seed: int) -> Answer:
    """Fit boosted trees to [X, PX, P²X, degree, known answers of neighbours], P = D⁻¹A."""
    A = problem.union
    degree = np.asarray(A.sum(axis=1)).reshape(-1, 1)
    columns = [np.log1p(degree)]
    if problem.X is not None:
        own = _dense(problem.X)
        near = A @ own / np.maximum(degree, 1e-12)
        columns += [own, near, A @ near / np.maximum(degree, 1e-12)]
    known = problem.known
    answers = np.zeros((len(problem.y), 1))
    if problem.kind == "classes":
        answers = (problem.y[:, None] == np.unique(problem.y[known])).astype(float)
    else:
        answers = np.where(known[:, None], problem.y.reshape(len(problem.y), -1), 0.0)
    # a missing value where no neighbour is known; a node's own answer is not among its neighbours'
    total = np.asarray(A @ known.astype(float))[:, None]
    mean = np.divide(A @ answers, total, out=np.full(answers.shape, np.nan), where=total > 0)
    rows = np.hstack([*columns, mean])
    # scikit-learn refuses columns in which every known node lacks a value
    rows[:, np.isnan(rows[known]).all(axis=0)] = 0.0
    if problem.kind == "numbers":
        regressor = HistGradientBoostingRegressor(random_state=seed).fit(rows[known], problem.y[known])
        return regressor.predict(rows), None
    if problem.kind == "sets":
        return _each_label(problem, rows, lambda: HistGradientBoostingClassifier(random_state=seed))
    model = HistGradientBoostingClassifier(random_state=seed).fit(rows[known], problem.y[known])
    P = model.predict_proba(rows)
    return model.classes_[P.argmax(axis=1)], P


def network(name: str) -> Method:
    """Return a network of two layers, 64 columns, dropout 0.5, 200 epochs of Adam; the last epoch counts."""

    def method(problem: Problem, seed: int) -> Answer:
        import torch
        from torch.nn import functional as loss

        from reproduction.networks import build

        torch.manual_seed(seed)
        known = np.flatnonzero(problem.known)
        links = problem.union.tocoo()
        edges = torch.from_numpy(np.stack([links.row, links.col]).astype(np.int64))
        x = _tensor(problem)
        classes = np.unique(problem.y[known]) if problem.kind == "classes" else np.empty(0)
        Y = problem.y[known].reshape(len(known), -1)
        centre, spread = Y.mean(axis=0), Y.std(axis=0).max() or 1.0
        if problem.kind == "classes":
            target = torch.from_numpy(np.searchsorted(classes, problem.y[known]))
        else:
            scaled = (Y - centre) / spread if problem.kind == "numbers" else Y
            target = torch.from_numpy(scaled.astype(np.float32))
        losses: dict[str, Callable[..., Any]] = {
            "classes": loss.cross_entropy,
            "numbers": loss.mse_loss,
            "sets": loss.binary_cross_entropy_with_logits,
        }
        model = build(name, hidden=64, depth=2, dropout=0.5)(x.shape[1], len(classes) or Y.shape[1])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
        rows = torch.from_numpy(known)
        for _ in range(200):
            optimizer.zero_grad()
            losses[problem.kind](model(x, edges)[rows], target).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            Z = model(x, edges)
        if problem.kind == "numbers":
            return Z.numpy()[:, 0] * spread + centre[0], None
        P = (Z.softmax(dim=1) if problem.kind == "classes" else Z.sigmoid()).numpy().astype(float)
        return (classes[P.argmax(axis=1)] if problem.kind == "classes" else (P > 0.5).astype(int)), P

    return method


def _features(problem: Problem) -> Any:
    """Return the features; the identity matrix if there are none."""
    n = len(problem.y)
    return csr_array(eye_array(n)) if problem.X is None else problem.X


def _tensor(problem: Problem) -> Any:
    """Return the features as a tensor, sparse ones in CSR."""
    import torch

    from gssl.torch.links import sparse_csr_of

    X = _features(problem)
    if issparse(X):
        return sparse_csr_of(csr_array(X).astype(np.float32))
    return torch.from_numpy(StandardScaler().fit_transform(X).astype(np.float32))


def _dense(X: Any) -> np.ndarray:
    """Return X as an array: the leading directions of wide sparse features."""
    if not issparse(X):
        return np.asarray(X)
    if X.shape[1] <= _DIRECTIONS:
        return np.asarray(X.toarray())
    return np.asarray(TruncatedSVD(_DIRECTIONS, random_state=0).fit_transform(X))


AUTO, AS_ONE = "gssl, automatic", "gssl, links as one"
METHODS: Mapping[str, Method] = MappingProxyType(
    {
        AUTO: automatic,
        AS_ONE: automatic_as_one,
        "no graph": embedded(gssl.NoGraph),
        "LabelSpreading": spreading,
        "SGC": embedded(gssl.SGC),
        "GGCM": embedded(gssl.GGCM),
        "OGC": ogc,
        "GCN": network("GCN"),
        "GraphSAGE": network("GraphSAGE"),
        "trees": trees,
    }
)


def applies(method: str, problem: str) -> bool:
    """Whether a method can answer: OGC gives one class, and only typed links can be joined into one kind."""
    if method == "OGC":
        return kind_of(problem) == "classes"
    return method != AS_ONE or family(problem) == "relations"

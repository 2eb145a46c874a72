"""Every public estimator with settings that suit small problems: contract tests run over these."""

import numpy as np
from sklearn.base import clone
from tests import problems

import gssl

# iterations with a tolerance get a tight one, so that rounding does not stop them early
EMBEDDERS = {
    "sgc": gssl.SGC(depth=3),
    "ssgc": gssl.SSGC(depth=3),
    "ppr": gssl.PPR(depth=3),
    "heat": gssl.HeatKernel(depth=3),
    "hop": gssl.HopFilter(depth=2),
    "g2cn": gssl.G2CN(depth=2),
    "ndls": gssl.NDLS(depth=6, epsilon=0.2),
    "ggc": gssl.GGC(depth=3),
    "ggcm": gssl.GGCM(depth=3),
    "no-graph": gssl.NoGraph(),
}
HEADS = {
    "logistic-head": gssl.LogisticHead(tol=1e-9),
    "ridge-head": gssl.RidgeHead(),
    "adam-head": gssl.AdamHead(random_state=0),
}
CLASSIFIERS = {
    "ogc": gssl.OGC(max_iter=8, agreement=1.0, random_state=0),
    "ogc-cross-entropy": gssl.OGC(loss="cross_entropy", max_iter=8, agreement=1.0, random_state=0),
    "logistic": gssl.EmbeddingClassifier(gssl.GGCM(depth=3), head=HEADS["logistic-head"]),
    "ridge": gssl.EmbeddingClassifier(gssl.PPR(depth=3), head="ridge"),
    "adam": gssl.EmbeddingClassifier(gssl.SSGC(depth=3), head=gssl.AdamHead(epochs=20, random_state=0)),
    "features-only": gssl.EmbeddingClassifier(gssl.NoGraph(), head="ridge"),
    "manifold": gssl.ManifoldRegularization(gamma_intrinsic=0.1, tol=1e-12),
    "correct-and-smooth": gssl.CorrectAndSmooth(HEADS["logistic-head"]),
    "correct-and-smooth-auto": gssl.CorrectAndSmooth(gssl.RidgeHead(), scale="auto"),
    "propagation": gssl.LabelPropagation(tol=1e-12),
    "spreading": gssl.LabelSpreading(tol=1e-10),
}
# they choose or wrap other models
COMPOSED = {
    "auto": gssl.AutoClassifier(depth=2),
    "calibrated": gssl.CalibratedClassifier(gssl.EmbeddingClassifier(gssl.SGC(), head="ridge"), folds=5),
}
REGRESSORS = {"auto-regressor": gssl.AutoRegressor(depth=2)}
ALL = EMBEDDERS | HEADS | CLASSIFIERS | COMPOSED | REGRESSORS
# the same classes with other answers or links
SETS = {"auto-sets": gssl.AutoClassifier(depth=2)}
TYPED = {
    "auto-typed": gssl.AutoClassifier(depth=2),
    "auto-directed": gssl.AutoClassifier(depth=2, directed="auto"),
}
EVERY = ALL | SETS | TYPED
# those that choose by hidden answers
CHOOSING = COMPOSED | REGRESSORS | SETS | TYPED


def names(estimators):
    """Return the classes of some estimators by name."""
    return {type(estimator).__name__ for estimator in estimators.values()}


MISSING = {name for name in gssl.__all__ if hasattr(getattr(gssl, name), "fit")} - names(ALL)
assert not MISSING, f"add {MISSING} to the lists above"


def small_problem(name):
    """Return a small problem with the answers and links that an estimator is for."""
    if name in REGRESSORS:
        return problems.places_with_numbers()
    if name in SETS:
        return problems.communities_half_known()
    if name in TYPED:
        return problems.friends_and_noise(72) if name == "auto-typed" else problems.directed_flow(72)
    return problems.block_graph(72, p_in=0.2, p_out=0.03, signal=0.6)


def fit(name, problem):
    """Fit an estimator by its name in ``EVERY`` to a problem; heads, to the labelled rows of features."""
    model = clone(EVERY[name])
    if name in HEADS:
        known = [label is not None and label != -1 for label in problem.y]
        return model.fit(problem.X[known], problem.y[known])
    return model.fit(problem.X, problem.y, adjacency=problem.A)


def results(name, model, problem):
    """Return what a fitted estimator says, with one row for every node."""
    if name in EMBEDDERS:
        return model.embedding_
    if name in HEADS:
        return model.predict_proba(problem.X)
    if name in REGRESSORS:
        return np.column_stack([model.transduction_, model.intervals_])
    return model.label_distributions_

"""Every public estimator with settings that suit small problems: contract tests run over these."""

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


def names(estimators):
    """Return the classes of some estimators by name."""
    return {type(estimator).__name__ for estimator in estimators.values()}


MISSING = {name for name in gssl.__all__ if hasattr(getattr(gssl, name), "fit")} - names(ALL)
assert not MISSING, f"add {MISSING} to the lists above"

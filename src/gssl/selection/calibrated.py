"""CalibratedClassifier: any classifier, with calibrated probabilities."""

from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from gssl.evaluation.holdout import has_cheap_holdout, held_out_distributions
from gssl.graph import GraphWarning
from gssl.graph.validate import warn_user, without_warnings
from gssl.methods import EmbeddingClassifier
from gssl.methods.base import GraphClassifier
from gssl.methods.inputs import FittedParameters, check_number
from gssl.methods.labels import UNLABELLED, decode_labels
from gssl.methods.neighbourhood import EVERY, Nodes
from gssl.methods.state import replaces_state
from gssl.methods.stored import Stored, transient
from gssl.scale.execution import without_resume
from gssl.selection.calibration import CHOICES, FITS, Calibration, calibrate
from gssl.selection.conformal import SetPredictor


class CalibratedClassifier(FittedParameters, SetPredictor):
    r"""Fit a classifier, and calibrate its probabilities on labels that were hidden from it.

    A correction is one increasing function of probabilities, the same for all classes,

    .. math:: P_{ik} \mapsto g(P_{ik}) / \textstyle\sum_l g(P_{il}),

    so no prediction changes. g is :math:`p^{1/T}` (temperature), :math:`e^{p/T}` (for scores that were
    projected onto the simplex) or isotonic. By default the three results are averaged, weighted by their
    cross-validated likelihood of hidden labels (:func:`gssl.selection.calibrate`). ``priors`` of the
    classifier are applied after the correction, which is fitted to the class shares of the labels. The same
    hidden labels are used to predict sets of labels with a given coverage (:meth:`predict_sets`).

    Parameters
    ----------
    classifier : GraphClassifier, optional
        ``OGC, EmbeddingClassifier, LabelPropagation`` …; ``EmbeddingClassifier()`` if None.
    method : {"average", "best", "temperature", "score", "isotonic"}, default="average"
        The weighted average of all corrections, the one that cross-validates best, or the named one.
    folds : int, default=10
        Number of folds of hidden labels if the classifier must be refitted for each. Fewer are faster, but a
        model that lacks more labels is less confident. A linear head always uses at least 20.
    random_state : int, default=0
        Seed for the folds; the classifier has its own.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        A class for every node.
    label_distributions_ : ndarray of shape (n, c)
        Calibrated.
    classifier_ : the fitted classifier, not calibrated
    calibration_ : Calibration
        The correction, and the loss of each that was tried.
    held_out_distributions_ : ndarray of shape (h, c)
        The classifier's distributions for hidden labels, before the correction and any priors.
    held_out_codes_ : int ndarray of shape (h,)
        Those labels, as positions in ``classes_``.
    coverage_ : Coverage
        Of sets at α = 0.1, estimated from hidden labels.
    reached_, informed_ : bool ndarray of shape (n,)
        Whether a label is in the node's component; whether anything is known about it.
    n_iter_ : int
    classes_ : ndarray of shape (c,)
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("cora").normalized()
    >>> y = data.mask_labels("default")
    >>> plain = gssl.EmbeddingClassifier(gssl.SSGC())
    >>> model = gssl.CalibratedClassifier(plain).fit(data.features, y, adjacency=data.adjacency)
    >>> test = data.splits["default"]["test"]
    >>> right = (model.transduction_ == data.labels)[test].mean()
    >>> confidence = model.label_distributions_.max(axis=1)[test].mean()
    >>> confidence_before = model.classifier_.label_distributions_.max(axis=1)[test].mean()
    >>> bool(abs(right - confidence) < 0.05 < abs(right - confidence_before))
    True
    """

    _stored = (
        Stored("classifier_", "model"),
        Stored("held_out_distributions_", "distribution", ("h", "c")),
        Stored("held_out_codes_", "code", ("h",)),
        # computed from those of the classifier, except with priors
        Stored("label_distributions_", "distribution", ("n", "c"), optional=True),
        # recomputed from the held-out labels
        *transient("calibration_", "coverage_"),
    )

    def __init__(
        self, classifier: Any = None, method: str = "average", folds: int = 10, random_state: int = 0
    ) -> None:
        self.classifier = classifier
        self.method = method
        self.folds = folds
        self.random_state = random_state

    @property
    def tells_relations(self) -> bool:
        """Whether the wrapped classifier reads links of several kinds apart, and directions."""
        return bool(self._unfitted().tells_relations)

    @property
    def directed(self) -> Any:
        """Whether the wrapped classifier keeps the directions of a matrix."""
        return self._unfitted().directed

    @property
    def runs_by_columns(self) -> bool:
        """Whether the wrapped classifier runs by columns."""
        return bool(self._unfitted().runs_by_columns)

    @property
    def uses_features(self) -> bool:
        return bool(self._inner().uses_features)

    @property
    def knows_nodes(self) -> bool:
        return bool(self._inner().knows_nodes)

    @property
    def _needs_graph(self) -> tuple[str, ...]:
        return cast("tuple[str, ...]", self._inner()._needs_graph)

    def _inner(self) -> Any:
        """Return the fitted classifier, or the unfitted one before fit."""
        return self.__dict__.get("classifier_", self._unfitted())

    def _unfitted(self) -> Any:
        return EmbeddingClassifier() if self.classifier is None else self.classifier

    @replaces_state
    def fit(self, /, X: Any, y: Any = None, *, adjacency: Any = None, **options: Any) -> Self:
        """Fit the classifier to all labels, and calibrate it on hidden ones.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or None
            None if the classifier needs no features.
        y : array-like of shape (n,)
            Labels; −1, None or NaN where there is none.
        adjacency : array-like or sparse matrix of shape (n, n), optional
            Built from the nearest neighbours in X if None.
        **options
            Passed to the classifier's fit, such as ``anchors`` for OGC.

        Returns
        -------
        self
        """
        self._check_parameters()
        self.__dict__.pop("classifier_", None)  # from an earlier fit
        self._start(X, y, adjacency)
        return self._learn(None, options)

    @replaces_state
    def update_labels(self, y: Any) -> Self:
        """Fit and calibrate to other labels of the same nodes; the result is that of a new fit.

        ``EmbeddingClassifier`` and ``AutoClassifier`` are updated by their own ``update_labels``; a
        classifier whose embeddings depend on labels (``OGC``) or whose parameters have changed is fitted
        again. Features and graph are not checked again, and a graph of nearest neighbours is not rebuilt.

        Parameters
        ----------
        y : array-like of shape (n,)
            All labels, old and new; −1, None or NaN where there is none.

        Returns
        -------
        self

        Examples
        --------
        >>> import gssl
        >>> data = gssl.datasets.load("karate")
        >>> y = data.labels.copy()
        >>> y[10:] = -1
        >>> model = gssl.CalibratedClassifier(gssl.OGC(random_state=0))
        >>> model = model.fit(data.features, y, adjacency=data.adjacency)
        >>> y[10:20] = data.labels[10:20]
        >>> model.update_labels(y).held_out_codes_.size
        20
        """
        self._check_parameters()
        self._restart(y)
        return self._learn(self.classifier_.snapshot(), {})

    def _learn(self, earlier: Any, options: dict[str, Any]) -> Self:
        """Fit the classifier to the stored inputs and labels, updating an earlier one if possible."""
        X, A = self._fit_inputs.X, self._fit_inputs.A
        X = X if X.shape[1] else None
        A = A if A.nnz else None  # an empty graph: the classifier does not use one
        for name in ("calibration_", "coverage_"):
            self.__dict__.pop(name, None)  # from an earlier fit
        y = decode_labels(self.classes_, self._fit_codes)
        # this fit has already issued the warnings about the graph
        with without_warnings(GraphWarning):
            if _takes_other_labels(earlier, self._unfitted()):
                self.classifier_ = earlier.update_labels(y)
            else:
                self.classifier_ = clone(self._unfitted()).fit(X, y, adjacency=A, **options)
        self.n_iter_ = self.classifier_.n_iter_
        with without_resume():  # fits without some labels are not the one to resume
            self._hide_labels(X, A, options)
        self._keep_parameters()
        fitted = self.classifier_
        # the priors of the classifier are applied after the correction
        return self._finish(self.calibration_(fitted._before_priors()), fitted.informed_, fitted._priors)

    def _check_parameters(self) -> None:
        if not isinstance(self._unfitted(), GraphClassifier):
            raise ValueError(
                f"classifier must be a classifier of gssl, such as OGC(), not {self.classifier!r}."
            )
        if self.method not in (*CHOICES, *FITS):
            raise ValueError(f"method must be {', '.join((*CHOICES, *FITS))}, not {self.method!r}.")
        check_number(self, "folds", low=2, whole=True)
        check_number(self, "random_state", low=0, whole=True)

    def _hide_labels(self, X: Any, A: csr_array | None, options: dict[str, Any]) -> None:
        if np.bincount(self._fit_codes[self._fit_codes != UNLABELLED]).max() < 2:
            warn_user(
                "the confidence is not calibrated: every class has one label only, so none can be hidden; "
                "label a second node of some class."
            )
            self.held_out_distributions_ = np.empty((0, len(self.classes_)))
            self.held_out_codes_ = np.empty(0, dtype=np.int64)
            return
        held_out = held_out_distributions(
            self.classifier_, X, A, self.folds, self.random_state, with_priors=False, **options
        )
        self.held_out_distributions_, self.held_out_codes_ = held_out.distributions, held_out.codes

    @cached_property
    def calibration_(self) -> Calibration:
        """The correction, fitted to hidden labels."""
        if not len(self.held_out_codes_):
            return Calibration()
        return calibrate(self.held_out_distributions_, self.held_out_codes_, self.method)

    @property
    def embedding_(self) -> np.ndarray:
        """The embedding of every node, if the classifier has one."""
        return np.asarray(self.classifier_.embedding_)

    @property
    def history_(self) -> Any:
        """The training history of the classifier, if it keeps one."""
        return self.classifier_.history_

    @property
    def explain_(self) -> str:
        """The classifier's explanation of its choice of models, if it has one."""
        return str(self.classifier_.explain_)

    def propagated_columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        return int(self._unfitted().propagated_columns(X, A, n_labelled, n_classes))

    def _score_graph(self, X: Any, A: csr_array, nodes: Nodes = EVERY) -> tuple[np.ndarray, np.ndarray]:
        P, informed = self.classifier_._score_graph(X, A, nodes)
        return self.calibration_(P), informed


def _takes_other_labels(fitted: Any, wanted: Any) -> bool:
    """Return whether updating the labels of ``fitted`` gives the same result as fitting ``wanted``.

    This holds for classifiers that can hide labels without a refit: they keep no state of earlier labels.
    """
    return has_cheap_holdout(fitted) and hasattr(fitted, "update_labels") and _same(fitted, wanted)


def _same(one: Any, other: Any) -> bool:
    """Compare estimators or parameters by value."""
    if type(one) is not type(other):
        return False
    if not hasattr(one, "get_params"):
        # array_equal, since == compares arrays elementwise
        return one is other or bool(np.array_equal(one, other))
    ours, theirs = (model.get_params(deep=False) for model in (one, other))
    return all(_same(value, theirs[name]) for name, value in ours.items())

"""CalibratedClassifier: any classifier, with a confidence that can be believed."""

import warnings
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from gssl.graph import GraphWarning, warn_user
from gssl.methods import EmbeddingClassifier
from gssl.methods._classifier import GraphClassifier
from gssl.methods._inputs import check_number
from gssl.methods._labels import UNLABELLED, decode_labels
from gssl.operators import NormalizedAdjacency
from gssl.selection.calibration import FITS, Calibration, calibrate
from gssl.selection.conformal import Coverage, conformal_thresholds, held_out_coverage, label_sets
from gssl.selection.held_out import held_out_distributions


class CalibratedClassifier(GraphClassifier):
    r"""Fit a classifier, ask it about labels that were hidden from it, and correct its confidence.

    The correction is one increasing function of probabilities for all classes,

    .. math:: P_{ik} \mapsto g(P_{ik}) / \textstyle\sum_l g(P_{il}),

    so no prediction changes. g is :math:`p^{1/T}` (temperature), :math:`e^{p/T}` (for scores that were
    projected onto the simplex) or isotonic, whichever makes hidden labels most probable in cross-validation.
    The same hidden labels say which sets of labels hold the true one 90 times out of 100
    (:meth:`predict_sets`).

    Parameters
    ----------
    classifier : GraphClassifier, optional
        ``OGC, EmbeddingClassifier, LabelPropagation`` …; ``EmbeddingClassifier()`` if None.
    method : {"best", "temperature", "score", "isotonic"}, default="best"
        Which correction.
    folds : int, default=5
        In how many parts labels are hidden where the classifier must be fitted again for each; a linear head
        is fitted again for at least 20.
    random_state : int, default=0
        Draws the parts; the classifier has its own.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        A class for every node.
    label_distributions_ : ndarray of shape (n, c)
        Calibrated.
    classifier_ : the fitted classifier, as it is
    calibration_ : Calibration
        The correction, and the loss of each that was tried.
    held_out_distributions_ : ndarray of shape (h, c)
        What the classifier said about hidden labels, before the correction.
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
    >>> said = model.label_distributions_.max(axis=1)[test].mean()
    >>> said_before = model.classifier_.label_distributions_.max(axis=1)[test].mean()
    >>> bool(abs(right - said) < 0.05 < abs(right - said_before))
    True
    """

    def __init__(
        self, classifier: Any = None, method: str = "best", folds: int = 5, random_state: int = 0
    ) -> None:
        self.classifier = classifier
        self.method = method
        self.folds = folds
        self.random_state = random_state

    @property
    def _uses_features(self) -> bool:
        return bool(self._inner()._uses_features)

    @property
    def _knows_nodes(self) -> bool:
        return bool(self._inner()._knows_nodes)

    def _rows_suffice(self) -> bool:
        return bool(self._inner()._rows_suffice())

    def _graph(self, adjacency: Any, X: Any) -> csr_array:
        return csr_array(self._inner()._graph(adjacency, X))

    def _inner(self) -> Any:
        """Give the classifier as it was fitted, or as it will be."""
        return self.__dict__.get("classifier_", self._unfitted())

    def _unfitted(self) -> Any:
        return EmbeddingClassifier() if self.classifier is None else self.classifier

    def fit(self, X: Any, y: Any, *, adjacency: Any = None, **options: Any) -> Self:
        """Fit the classifier to all labels, then again without some, and correct what it says.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or None
            None where the classifier can do without features.
        y : array-like of shape (n,)
            Labels; −1, None or NaN where there is none.
        adjacency : array-like or sparse matrix of shape (n, n), optional
            Built from the nearest neighbours in X if None.
        **options
            What else the classifier's fit takes, such as ``memory_budget``.

        Returns
        -------
        self
        """
        self._check_parameters()
        for name in ("classifier_", "calibration_", "coverage_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        X, A, codes = self._start(X, y, adjacency)
        X = X if X.shape[1] else None
        A = A if A.nnz else None  # no links stand for a graph that the classifier does not look at
        with warnings.catch_warnings():
            # what is odd about the graph is told at the end, once
            warnings.simplefilter("ignore", GraphWarning)
            self.classifier_ = clone(self._unfitted())
            self.classifier_.fit(X, decode_labels(self.classes_, codes), adjacency=A, **options)
        self.n_iter_ = self.classifier_.n_iter_
        # a fit without some labels is another one than that to be resumed
        self._hide_labels(X, A, {name: value for name, value in options.items() if name != "resume"})
        P = self.calibration_(self.classifier_.label_distributions_)
        return self._finish(P, self.classifier_.informed_)

    def _check_parameters(self) -> None:
        if not isinstance(self._unfitted(), GraphClassifier):
            raise ValueError(
                f"classifier must be a classifier of gssl, such as OGC(), not {self.classifier!r}."
            )
        if self.method != "best" and self.method not in FITS:
            raise ValueError(f"method must be best, {', '.join(FITS)}, not {self.method!r}.")
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
        found = held_out_distributions(self.classifier_, X, A, self.folds, self.random_state, **options)
        self.held_out_distributions_, self.held_out_codes_ = found.distributions, found.codes

    @cached_property
    def calibration_(self) -> Calibration:
        """The correction; it follows from what hidden labels said."""
        if not len(self.held_out_codes_):
            return Calibration()
        return calibrate(self.held_out_distributions_, self.held_out_codes_, self.method)

    @property
    def embedding_(self) -> np.ndarray:
        """The embedding of every node, where the classifier has one."""
        return np.asarray(self.classifier_.embedding_)

    @property
    def history_(self) -> Any:
        """What the classifier went through, where it keeps that."""
        return self.classifier_.history_

    @property
    def explain_(self) -> str:
        """What the classifier says of its choice, where it chooses."""
        return str(self.classifier_.explain_)

    def predict_sets(
        self, X: Any = None, *, adjacency: Any = None, alpha: float = 0.1, mondrian: bool = False
    ) -> np.ndarray:
        """Give sets of labels that hold the true one in a share 1 − α of nodes.

        This holds on average over nodes that were drawn as the labelled ones were: a random draw. Where
        labels were drawn class by class, or chosen by somebody, ``mondrian`` keeps the promise for each
        class, with larger sets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), optional
            Features of all nodes of a new graph; the nodes of fit if neither X nor ``adjacency`` is given.
        adjacency : array-like or sparse matrix of shape (m, m), optional
        alpha : float, default=0.1
            The share of sets that may miss.
        mondrian : bool, default=False
            Whether each class has a threshold of its own.

        Returns
        -------
        bool ndarray of shape (m, c)
            Columns as in ``classes_``. Never empty; all true for a node that no label or feature reaches.
        """
        check_is_fitted(self)
        if X is None and adjacency is None:
            P, informed = self.label_distributions_, self.informed_
        else:
            P, informed = self._predict(X, adjacency)
        sets = label_sets(P, conformal_thresholds(*self._judged(), alpha, mondrian=mondrian))
        sets[~informed] = True
        return sets

    def coverage(self, alpha: float = 0.1, *, mondrian: bool = False) -> Coverage:
        """Estimate how often sets hold the true label and how large they are, from hidden labels.

        Parameters
        ----------
        alpha : float, default=0.1
        mondrian : bool, default=False

        Returns
        -------
        Coverage
        """
        check_is_fitted(self)
        if not len(self.held_out_codes_):
            raise ValueError(
                "no label could be hidden, so nothing tells how often sets are right: label more."
            )
        return held_out_coverage(*self._judged(), alpha, mondrian=mondrian)

    @cached_property
    def coverage_(self) -> Coverage:
        """The coverage of sets at α = 0.1."""
        return self.coverage()

    def _judged(self) -> tuple[np.ndarray, np.ndarray]:
        return self.calibration_(self.held_out_distributions_), self.held_out_codes_

    def _columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        return int(self._unfitted()._columns(X, A, n_labelled, n_classes))

    def _score_graph(self, X: Any, A: csr_array) -> tuple[np.ndarray, np.ndarray]:
        P, informed = self.classifier_._score_graph(X, A)
        return self.calibration_(self.classifier_._with_priors(P)), informed

    def _reach(self) -> int | None:
        reach: int | None = self.classifier_._reach()
        return reach

    def _score_part(self, X: Any, A_hat: NormalizedAdjacency) -> np.ndarray:
        return self.calibration_(self.classifier_._with_priors(self.classifier_._score_part(X, A_hat)))

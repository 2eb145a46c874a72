"""Sets of labels from a classifier that has hidden labels from itself."""

from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gssl.methods.base import GraphClassifier
from gssl.methods.inputs import select_nodes
from gssl.selection.calibration import Calibration
from gssl.selection.conformal import Coverage, conformal_thresholds, held_out_coverage, label_sets


class SetPredictor(GraphClassifier):
    """A classifier that knows what it said about hidden labels, and so how wide its sets must be."""

    held_out_distributions_: np.ndarray
    held_out_codes_: np.ndarray

    @cached_property
    def calibration_(self) -> Calibration:
        """What is done to distributions before they are judged: nothing, unless a subclass does."""
        return Calibration()

    def predict_sets(
        self,
        X: Any = None,
        *,
        adjacency: Any = None,
        nodes: Any = None,
        alpha: float = 0.1,
        mondrian: bool = False,
    ) -> np.ndarray:
        """Return sets of labels that hold the true one in a share 1 − α of nodes.

        This holds on average over nodes that were drawn as the labelled ones were: a random draw. Where
        labels were drawn class by class, or chosen by somebody, or where ``priors`` say that the nodes to be
        judged have other shares of classes, ``mondrian`` keeps the promise for each class, with larger sets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), optional
            Features of all nodes of a new graph; the nodes of fit if neither X nor ``adjacency`` is given.
        adjacency : array-like or sparse matrix of shape (m, m), optional
        nodes : bool mask of shape (m,) or indices, optional
            The k nodes that are wanted: all if None. See :meth:`predict_proba`.
        alpha : float, default=0.1
            The share of sets that may miss.
        mondrian : bool, default=False
            Whether each class has a threshold of its own.

        Returns
        -------
        bool ndarray of shape (m, c) or (k, c)
            Columns as in ``classes_``. Never empty; all true for a node that no label or feature reaches.

        Examples
        --------
        >>> import gssl
        >>> data = gssl.datasets.load("digits")
        >>> y = data.labels.copy()
        >>> y[300:] = -1
        >>> model = gssl.CalibratedClassifier(gssl.LabelSpreading(), folds=2)
        >>> model = model.fit(None, y, adjacency=data.adjacency)
        >>> sets = model.predict_sets(nodes=y == -1)
        >>> bool(sets[range(len(sets)), data.labels[300:]].mean() > 0.85)
        True
        """
        check_is_fitted(self)
        if X is None and adjacency is None:
            n = len(self.label_distributions_)
            chosen = slice(None) if nodes is None else select_nodes(nodes, n, "nodes")
            P, informed = self.label_distributions_[chosen], self.informed_[chosen]
        else:
            P, informed = self._predict(X, adjacency, nodes)
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

        Examples
        --------
        >>> import gssl
        >>> data = gssl.datasets.load("karate")
        >>> y = data.labels.copy()
        >>> y[20:] = -1
        >>> model = gssl.CalibratedClassifier(gssl.LabelPropagation())
        >>> found = model.fit(None, y, adjacency=data.adjacency).coverage(0.2)
        >>> found.n_labels, 1.0 <= found.mean_size <= 2.0
        (20, True)
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
        return self._with_priors(self.calibration_(self.held_out_distributions_)), self.held_out_codes_

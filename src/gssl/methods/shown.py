"""What a classifier shows of itself: a table of predictions, and a page in a notebook."""

from html import escape
from typing import Any

import numpy as np
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from gssl.frames import html_table
from gssl.methods.labels import UNLABELLED
from gssl.methods.state import current


class ShownModel:
    """An estimator that tabulates the predictions for a problem, and shows itself in a notebook."""

    classes_: np.ndarray
    transduction_: np.ndarray
    _fit_codes: np.ndarray

    def predictions(self, problem: Any) -> Any:
        """Return a table of the predictions for the nodes of a problem.

        Parameters
        ----------
        problem : Problem
            Of :func:`gssl.read`: that of fit, or another with the same features.

        Returns
        -------
        data frame
            Of the library that the problem was read from, else of pandas, polars or pyarrow, whichever is
            installed: ``id``, ``label``, ``confidence`` and the other columns of
            :class:`gssl.io.Prediction`. If none is installed, :class:`gssl.io.Predictions`.
        """
        check_is_fitted(self)
        if not hasattr(problem, "tabulate"):
            raise TypeError(f"expected a problem of gssl.read, got {type(problem).__name__}.")
        return problem.tabulate(current(self))

    def _repr_html_(self) -> str:
        """Return what a notebook shows: of a fitted model, its sentence, classes and leaderboard."""
        diagram = str(estimator_html_repr(self))
        if not hasattr(self, "transduction_"):
            return diagram
        counts, sentence = self._class_counts(), getattr(self, "explain_", "")
        parts = [*([f"<p>{escape(sentence)}</p>"] if sentence else []), html_table(counts) if counts else ""]
        board = getattr(self, "leaderboard_", None)
        if board is not None and len(board):
            parts.append(f"<details><summary>Leaderboard</summary>{board._repr_html_()}</details>")
        return "".join([*parts, f"<details><summary>Parameters</summary>{diagram}</details>"])

    def _class_counts(self) -> dict[str, list[Any]]:
        """Return how many nodes were given and got each class; nothing if there are no classes."""
        if not hasattr(self, "classes_"):
            return {}
        names = [str(name) for name in self.classes_]
        given = np.bincount(self._fit_codes[self._fit_codes != UNLABELLED], minlength=len(names))
        predicted = np.bincount(np.searchsorted(self.classes_, self.transduction_), minlength=len(names))
        return {"class": names, "given": given.tolist(), "predicted": predicted.tolist()}

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

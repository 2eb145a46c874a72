"""What models that choose by hidden answers share: an average of filters, and what it says about nodes."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from gssl.graph.adjacency import ONE_KIND, relations_of
from gssl.methods.graph_model import GraphModel
from gssl.methods.inputs import FitInputs, FittedParameters, check_number
from gssl.methods.labels import UNLABELLED
from gssl.methods.neighbourhood import featured_nodes
from gssl.methods.stored import Stored, transient
from gssl.operators import small_algebra
from gssl.scale.execution import current_execution
from gssl.selection.candidates import GraphOperators, split_name, terms
from gssl.selection.ensemble import FittedEnsemble, Recipe
from gssl.selection.filtered_rows import polynomial_scores, product_limit
from gssl.selection.hidden_labels import FOLDS
from gssl.selection.self_training import TEACHERS
from gssl.selection.trial import Labels
from gssl.selection.views import WIDTHS, Views, by_density, make_features
from gssl.wording import listed

# attributes of fitted coefficients by kind of features
COEF = {
    "unit": "unit_coef_",
    "raw": "coef_",
    "standardized": "standardized_coef_",
    "products": "product_coef_",
    "links": "link_coef_",
    "selves": "self_coef_",
}
# kinds of features that belong to nodes of fit
LINKS = ("links", "selves")
# attributes of their scales
_SCALED = {"standardized": "column_scales_", "products": "product_scales_"}


@dataclass(frozen=True)
class SelectionInputs(FitInputs):
    """Inputs kept for ``update_labels``, with the compressed views, which do not depend on labels."""

    views: Views

    def __getstate__(self) -> dict[str, Any]:
        # without compressed features, which can be recomputed
        return {**self.__dict__, "views": Views(self.X, self.A, **self.views.options)}


class AutoModel(FittedParameters, GraphModel):
    """An average of graph filters with ridges, chosen by hidden answers, whatever these are."""

    runs_by_columns = True
    tells_relations = True
    # further kinds of features
    _views: ClassVar[dict[str, bool]] = {}
    depth: int
    directed: Any
    time_budget: Any
    _fit_inputs: SelectionInputs
    _trees: Any
    intercept_: np.ndarray
    column_scales_: np.ndarray
    _stored: ClassVar[tuple[Stored, ...]] = (
        *(
            Stored(name, "float", ("t", "d", "c"), optional=True)
            for name in ("coef_", "unit_coef_", "standardized_coef_")
        ),
        *(Stored(name, "float", ("t", "l", "c"), optional=True) for name in ("link_coef_", "self_coef_")),
        Stored("product_coef_", "float", ("t", "p", "c"), optional=True),
        Stored("product_scales_", "float", ("2", "s"), optional=True),
        Stored("intercept_", "float", ("c",), optional=True),
        Stored("relation_operators_", "texts", ("r",), optional=True),
        Stored("tree_walks_", "texts", ("w",), optional=True),
        Stored("column_scales_", "float", ("2", "d"), optional=True),
        Stored("leaderboard_", "table"),
        Stored("explain_", "text"),
        Stored("_recipe", "recipe", optional=True),
        *transient("_fitted_average", "_trees"),
    )

    @property
    @abstractmethod
    def has_trees(self) -> bool:
        """Whether trees are part of the model, which a loaded one fits again."""

    @property
    @abstractmethod
    def _n_columns(self) -> int:
        """The number of columns of the targets."""

    @abstractmethod
    def _labels(self) -> Labels:
        """Return the known answers of fit with their weights and keys."""

    def _keep_average(self, average: FittedEnsemble) -> None:
        """Store the coefficients of the average, and what explains it."""
        for kind, M in average.coefficients().items():
            self.__dict__[COEF[kind]] = M
            if kind in _SCALED:
                scales = self._fit_inputs.views.scales(kind)
                self.__dict__[_SCALED[kind]] = scales.astype(self._fit_inputs.X.dtype)
        self.intercept_ = average.intercept.astype(self._fit_inputs.X.dtype)
        if average.ensemble.of_relations:
            self.relation_operators_ = np.array(average.ensemble.of_relations, dtype=object)
        self._fitted_average = average

    def _keep_walks(self, walks: list[str]) -> None:
        """Store the operators of relations whose neighbours trees count apart."""
        if walks:
            self.tree_walks_ = np.array(walks, dtype=object)

    @property
    def relations_used(self) -> list[str]:
        """The relations that the model tells apart, in filters, trees or the propagation of residuals."""
        names = [*getattr(self, "relation_operators_", ()), *self._walks]
        return list(dict.fromkeys(relation for name in names if (relation := split_name(name)[1])))

    def _check_relations(self, A: csr_array) -> None:
        used, given = self.relations_used, list(relations_of(A))
        if not used or (used == [ONE_KIND] and not given) or set(used) & set(given):
            return
        has = f"has {listed(given)}" if given else "has links of one kind"
        raise ValueError(
            f"this {type(self).__name__} reads links of the kinds {listed(used)}, and the graph {has}: give "
            "a matrix for each kind, named as in fit."
        )

    @property
    def _walks(self) -> list[str]:
        return list(getattr(self, "tree_walks_", ()))

    @property
    def _terms(self) -> list[tuple[str, int]]:
        """The operator and the power of each matrix of coefficients."""
        return terms(self.n_iter_, list(getattr(self, "relation_operators_", ())))

    def _drop(self, *names: str) -> None:
        """Drop the average of an earlier fit, and some attributes."""
        dropped = (*COEF.values(), *_SCALED.values(), "intercept_", "relation_operators_", "tree_walks_")
        dropped += ("_fitted_average", "_recipe", "_trees")
        for name in (*dropped, *names):
            self.__dict__.pop(name, None)

    def __getstate__(self) -> Any:
        # of a loaded model, which may have to compute them from what a copy lacks
        self._coefficients()
        if self.has_trees:
            self._trees  # noqa: B018
        left = ("_fitted_average", "_recipe")
        return {name: value for name, value in super().__getstate__().items() if name not in left}

    @cached_property
    def coef_(self) -> np.ndarray:
        """The coefficients for rows as given."""
        return self._coefficient("raw")

    @cached_property
    def unit_coef_(self) -> np.ndarray:
        """The coefficients for rows of unit length."""
        return self._coefficient("unit")

    @cached_property
    def standardized_coef_(self) -> np.ndarray:
        """The coefficients for standardised columns."""
        return self._coefficient("standardized")

    @cached_property
    def product_coef_(self) -> np.ndarray:
        """The coefficients for standardised columns and their products."""
        return self._coefficient("products")

    @cached_property
    def link_coef_(self) -> np.ndarray:
        """The coefficients for links as features."""
        return self._coefficient("links")

    @cached_property
    def self_coef_(self) -> np.ndarray:
        """The coefficients for links and the nodes themselves as features."""
        return self._coefficient("selves")

    def _coefficient(self, kind: str) -> np.ndarray:
        """Compute the coefficients of a loaded model that holds their recipe instead."""
        if kind not in self._kinds():
            raise AttributeError(f"this {type(self).__name__} has no {COEF[kind]}: no such features predict.")
        with small_algebra():
            coefficients = self._fitted_average.coefficients()
        # in place: another thread may have replaced the whole state of the model
        self.__dict__.update({COEF[one]: M for one, M in coefficients.items()})
        return coefficients[kind]

    @cached_property
    def _recipe(self) -> Recipe:
        """What the average is computed from besides the inputs of fit, for a saved model."""
        if "_fitted_average" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} holds no average.")
        return self._fitted_average.recipe

    @cached_property
    def _fitted_average(self) -> FittedEnsemble:
        """What explains and audits the average; a loaded model computes it from its recipe."""
        if "_recipe" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} holds no average.")
        inputs, labelled = self._kept_inputs(), np.flatnonzero(self._fit_codes != UNLABELLED)
        recipe, depth, labels = self._recipe, self.n_iter_, self._labels()
        return FittedEnsemble.follow(recipe, inputs.views, inputs.A, depth, labelled, labels)

    def _keep_inputs(self, X: Any, A: csr_array) -> None:
        X = by_density(X)  # the choice of models must not depend on how X is stored
        self._fit_inputs = SelectionInputs(X, A, Views(X, A, **self._views))

    def _kinds(self) -> list[str]:
        """Return the kinds of features that predict, without computing their coefficients."""
        computed = [kind for kind, name in COEF.items() if name in self.__dict__]
        return computed or (self._recipe.kinds if "_recipe" in self.__dict__ else [])

    def _coefficients(self) -> dict[str, np.ndarray]:
        """Return the coefficients by kind of features."""
        return {kind: getattr(self, COEF[kind]) for kind in self._kinds()}

    @property
    def _n_coefficients(self) -> int:
        """How many numbers the coefficients are, computed or not."""
        widths = [len(self._fit_codes) if kind in LINKS else self.n_features_in_ for kind in self._kinds()]
        return len(self._terms) * sum(widths) * self._n_columns

    @property
    def uses_features(self) -> bool:
        """Whether prediction needs features; fit works with or without them."""
        return any(kind not in LINKS for kind in self._kinds())

    def _check_parameters(self) -> None:
        check_number(self, "depth", low=1, whole=True)
        if self.directed not in (True, False, "auto"):
            raise ValueError(
                f'{type(self).__name__}: directed must be True, False or "auto", not {self.directed!r}.'
            )
        if self.time_budget is not None:
            check_number(self, "time_budget", low=0.0)

    def propagated_columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        n, d = (0, 0) if X is None else X.shape
        if not d:
            return n_classes
        kinds = 3 if hasattr(X, "indptr") else 4
        tables = kinds * len(terms(self.depth)) * (n_labelled + min(n, TEACHERS)) * min(d, WIDTHS[-1])
        # columns per node; the memory estimate counts each propagated column three times
        return int(max(WIDTHS[0], 2 * FOLDS * n_classes) + tables / (3 * max(1, n)))

    def _linear_scores(self, X: Any, A: csr_array) -> np.ndarray:
        """Return the scores of the average for all nodes of a graph."""
        kinds = self._coefficients()
        operators = GraphOperators(A, X.dtype, self.n_iter_, list(getattr(self, "relation_operators_", ())))
        total = np.tile(self.intercept_, (A.shape[0], 1))
        limit = product_limit(current_execution(self, resumes=False))
        if kinds.keys() & set(LINKS):
            self._grown_codes(A.shape[0])  # raises if the graph lacks nodes of fit
        for kind, M in kinds.items():
            scales = getattr(self, _SCALED.get(kind, ""), np.empty(0))
            features = make_features(kind, X, A, M.shape[1], scales)
            total += polynomial_scores(M, features, operators, self._terms, limit)
        return total

    def _informed_by_features(self, X: Any, A: csr_array) -> np.ndarray:
        """Return a mask of the nodes about which the features of the average say something."""
        informed = featured_nodes(A, X) if self.uses_features else np.zeros(A.shape[0], dtype=bool)
        return informed | (np.diff(A.indptr) > 0) if set(self._kinds()) & set(LINKS) else informed

"""Advice about numbers: which given ones look wrong, and what a predicted one is the sum of."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from gssl.methods.inputs import ids_of_fit
from gssl.methods.labels import UNLABELLED
from gssl.methods.regressor import GraphRegressor
from gssl.selection.audit_table import AuditTable
from gssl.selection.auto_regressor import AutoRegressor
from gssl.wording import write_number, write_range, write_share

# the median of absolute normal numbers is 1 / 1.4826 deviations
_NORMAL = 1.4826
# deviations from which on a number is worth a look
DOUBTFUL = 4.0
# number of features to name
_LISTED = 5


@dataclass(frozen=True, eq=False, repr=False)
class NumberAudit(AuditTable):
    """Given numbers, the most doubtful first.

    Attributes
    ----------
    nodes : int ndarray of shape (m,)
    given, says : ndarrays of shape (m,)
        The number, and what the model predicts without it.
    deviations : ndarray of shape (m,)
        How far both are apart, in deviations of such differences; of logarithms if these are predicted.
    node_ids : ndarray of shape (n,), or None
        The ids of all nodes, if the problem is known.
    """

    nodes: np.ndarray
    given: np.ndarray
    says: np.ndarray
    deviations: np.ndarray
    node_ids: np.ndarray | None = None

    @property
    def n_doubtful(self) -> int:
        """How many numbers are more than four deviations away from what the model says."""
        return int((self.deviations > DOUBTFUL).sum())

    @property
    def summary(self) -> str:
        """How many numbers are far from what the model says, in words."""
        return (
            f"{self.n_doubtful:,} of {len(self):,} numbers are more than {DOUBTFUL:g} deviations away from "
            "what the model says without them; with normal errors, hardly any would be."
        )

    def columns(self, node_ids: Any = None) -> dict[str, list[Any]]:
        """Return a dict of columns; ids are node numbers if neither these nor the problem are known."""
        return {
            "id": self._ids(node_ids),
            "given": self.given.tolist(),
            "says": self.says.tolist(),
            "deviations": self.deviations.tolist(),
        }

    def text(self, n: int = 10) -> str:
        """Describe the n most doubtful numbers, one per line."""
        rows = zip(*(column[:n] for column in self.columns().values()), strict=True)
        return "\n".join(
            f"{node}: given {write_number(given)}, the model says {write_number(says)}, {deviations:.1f} "
            "deviations away"
            for node, given, says, deviations in rows
        )

    def __repr__(self) -> str:
        return f"Audit of {len(self):,} numbers\n{self.summary}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.summary)}</p>{super()._repr_html_()}"


def audit_numbers(model: GraphRegressor, problem: Any = None) -> NumberAudit:
    """Rank given numbers by how far they are from predictions without them."""
    ids = ids_of_fit(model, problem)
    nodes = np.flatnonzero(model.fit_codes != UNLABELLED)
    given, says = model.fit_values[nodes], model.transduction_[nodes]
    deviations = robust_deviations(model.held_out_errors)
    order = np.argsort(-deviations, kind="stable")
    return NumberAudit(nodes[order], given[order], says[order], deviations[order], ids)


def robust_deviations(errors: np.ndarray) -> np.ndarray:
    """Return absolute errors in units of their deviation, which a few large ones do not change."""
    away = np.abs(errors)
    return np.asarray(away / (_NORMAL * float(np.median(away)) or float(away.mean()) or 1.0))


@dataclass(frozen=True, eq=False, repr=False)
class NumberExplanation:
    """A predicted number as a sum of terms; of logarithms, a product of factors.

    Attributes
    ----------
    node : int
    value, low, high : float
        The prediction and its interval; for a known node, without its own number.
    terms : list of (str, float)
        Names and amounts, which add up to the prediction from all known numbers; of logarithms if ``log``.
    log : bool
    name : str
        The id of the node, or its number.
    """

    node: int
    value: float
    low: float
    high: float
    terms: Sequence[tuple[str, float]]
    log: bool
    name: str

    @property
    def total(self) -> float:
        """The prediction that the terms add up to."""
        total = sum(amount for _, amount in self.terms)
        return float(np.exp(total)) if self.log else float(total)

    def text(self) -> str:
        """Return the terms, one per line."""
        interval = write_range(self.low, self.high)
        lines = [f"node {self.name}: {write_number(self.value)} ({interval})"]
        for name, amount in self.terms:
            sign = "" if amount < 0 else "+"
            shown = f"×{write_number(np.exp(amount))}" if self.log else f"{sign}{write_number(amount)}"
            lines.append(f"  {shown:>12}  {name}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text())}</pre>"


def explain_sums(
    model: AutoRegressor, nodes: np.ndarray, ids: np.ndarray | None, names: Sequence[str]
) -> Iterator[NumberExplanation]:
    """Yield the terms of the predictions of some nodes: features, residuals of known nodes, and trees."""
    inputs, scale = model._fit_inputs, model.number_scale
    near, _, weight, _ = model._pool
    linear, spread, change = model._value_parts(inputs.X, inputs.A)
    known = np.flatnonzero(model.fit_codes != UNLABELLED)
    shares = _feature_shares(model, nodes, names)
    for k, node in enumerate(nodes):
        terms = [("the mean of all known numbers", scale.centre)]
        rest = linear[node]
        for name, share in sorted(shares[k].items(), key=lambda pair: -abs(pair[1]))[:_LISTED]:
            terms.append((name, scale.spread * share))
            rest -= share
        terms.append(("other features and the intercept", scale.spread * rest))
        if near:
            terms.append(("what the model misses at known nodes nearby", scale.spread * spread[node]))
        if weight:
            name = f"boosted trees, with a weight of {write_share(weight)}"
            terms.append((name, scale.spread * change[node]))
        if scale.log:
            terms.append(("the mean of a number rather than its median", float(np.log(model._factor[0]))))
        value = float(model.transduction_[node])
        if node in known:
            total = sum(amount for _, amount in terms)
            rest = (np.log(value) if scale.log else value) - total
            terms.append(("without its own number", float(rest)))
        low, high = model.intervals_[node]
        name = str(node if ids is None else ids[node])
        yield NumberExplanation(int(node), value, float(low), float(high), terms, scale.log, name)


def _feature_shares(model: AutoRegressor, nodes: np.ndarray, names: Sequence[str]) -> list[dict[str, float]]:
    """Return the shares of features in the linear values of some nodes, by name; links are one share."""
    shares: list[dict[str, float]] = [{} for _ in nodes]
    if not model._kinds():
        return shares
    _, by_kind = model._fitted_average.node_rows(nodes, model._coefficients())
    for kind, part in by_kind.items():
        labels = _column_names(kind, part.shape[1], model.n_features_in_, names)
        for k in range(len(nodes)):
            for label, share in zip(labels, part[k, :, 0], strict=True):
                shares[k][label] = shares[k].get(label, 0.0) + float(share)
    return shares


def _column_names(kind: str, width: int, n_features: int, names: Sequence[str]) -> list[str]:
    if kind == "links":
        return ["links"] * width
    plain = list(names) if len(names) == n_features else [f"feature {j}" for j in range(n_features)]
    if kind != "products":
        return plain
    i, j = np.triu_indices(n_features)
    return [*plain, *(f"{plain[a]} × {plain[b]}" for a, b in zip(i, j, strict=True))]

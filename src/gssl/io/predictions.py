"""Collect predictions of all nodes, and write predictions and embeddings to files."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from gssl.evaluation import HeldOut, held_out_if_known
from gssl.frames import Tabular
from gssl.io.atomic import whole_file
from gssl.io.table_writing import check_suffix, write_columns
from gssl.methods.label_sets import refuse_label_sets
from gssl.methods.labels import UNLABELLED, decide
from gssl.wording import quoted

_ARRAYS = (".npy", ".npz")
EMBEDDINGS = (".csv", ".tsv", ".parquet", *_ARRAYS)


@dataclass(frozen=True)
class Prediction:
    """The prediction for one node.

    ``label`` is the given label if there is one, otherwise the model's prediction. ``model_says`` is the
    class that the model predicts and ``model_confidence`` its probability; for a node with a given label,
    these are held-out predictions, made without that label, where available. ``confidence`` is the
    probability of ``label``. ``runner_up`` is the second most probable class.

    ``given`` is whether the label was given to the model, ``reached`` whether the node's component contains
    a label; if not, the confidence rests on features alone. ``label`` is empty if the confidence was too low.
    """

    id: str
    label: str
    confidence: float
    model_says: str
    model_confidence: float
    runner_up: str
    given: bool
    reached: bool


# the columns of a table of predictions, and their types
_COLUMNS: dict[str, Any] = get_type_hints(Prediction)


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(Tabular):
    """The predictions for all nodes, as columns; iterating yields rows.

    Attributes
    ----------
    id, label, model_says, runner_up : object ndarray of str, shape (n,)
    confidence, model_confidence : float ndarray of shape (n,)
    given, reached : bool ndarray of shape (n,)
        See :class:`Prediction`.
    distributions : ndarray of shape (n, c)
        The probability of every class; held-out predictions for given labels, where available.
    class_names : tuple of c str
    """

    id: np.ndarray
    label: np.ndarray
    confidence: np.ndarray
    model_says: np.ndarray
    model_confidence: np.ndarray
    runner_up: np.ndarray
    given: np.ndarray
    reached: np.ndarray
    distributions: np.ndarray
    class_names: tuple[str, ...]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a dict of columns: those of :class:`Prediction`."""
        return {name: getattr(self, name).tolist() for name in _COLUMNS}

    def __repr__(self) -> str:
        rows = [
            f"{row.id}  {row.label}  {row.confidence:.2f}"
            for row in map(self.__getitem__, range(min(5, len(self))))
        ]
        return "\n".join([f"Predictions of {len(self):,} nodes: id, label, confidence", *rows])

    @property
    def doubted(self) -> np.ndarray:
        """The nodes whose given label differs from the model's prediction, the most confident first."""
        nodes = np.flatnonzero(self.given & (self.label != self.model_says))
        return nodes[np.argsort(-self.model_confidence[nodes], kind="stable")]

    def part(self, nodes: np.ndarray) -> "Predictions":
        """Return the predictions for some nodes."""
        return replace(self, **{name: getattr(self, name)[nodes] for name in (*_COLUMNS, "distributions")})

    def __len__(self) -> int:
        return len(self.id)

    def __getitem__(self, row: int) -> Prediction:
        return Prediction(**{name: kind(getattr(self, name)[row]) for name, kind in _COLUMNS.items()})

    def __iter__(self) -> Iterator[Prediction]:
        return (self[row] for row in range(len(self)))


def list_predictions(
    model: Any,
    node_ids: Any,
    given: np.ndarray,
    class_names: Sequence[str] | None = None,
    held_out: HeldOut | None = None,
) -> Predictions:
    """Return the predictions of a fitted classifier for the nodes it was fitted to.

    Parameters
    ----------
    model : fitted classifier
    node_ids : array-like of n str
    given : bool mask of shape (n,)
        The nodes whose labels the model was fitted to; they keep these labels.
    class_names : sequence of str, optional
        Names of integer classes; the classes themselves if None.
    held_out : HeldOut, optional
        Held-out predictions for the given labels; if None, those available without another fit.

    Returns
    -------
    Predictions

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = gssl.LabelPropagation().fit(data.features, y, adjacency=data.adjacency)
    >>> list_predictions(model, data.node_ids, y != -1, data.class_names)[0].label
    'Mr. Hi'
    """
    refuse_label_sets(model, "list_predictions")
    classes = [str(value) if class_names is None else class_names[value] for value in model.classes_]
    P = model.label_distributions_
    chosen = np.searchsorted(model.classes_, model.transduction_)
    known = held_out_if_known(model) if held_out is None else held_out
    if known is not None:
        P, chosen = P.copy(), chosen.copy()
        P[known.nodes] = known.distributions
        chosen[known.nodes] = known.distributions.argmax(axis=1)
    labels = np.where(given, model.fit_codes, -1)
    return tabulate(node_ids, P, classes, chosen, labels, model.reached_)


def predict_graph(model: Any, problem: Any, *, known: bool) -> Predictions:
    """Predict a graph that is not that of fit; if ``known``, it begins with its nodes, which keep labels."""
    P, informed = model.predict_informed(problem.features, problem.adjacency)
    chosen, labels = decide(P, informed, model.fit_codes), None
    if known:
        labels = np.full(len(P), UNLABELLED)
        labels[: len(model.fit_codes)] = model.fit_codes
        hidden = held_out_if_known(model)
        if hidden is not None:
            P[hidden.nodes] = hidden.distributions
            chosen[hidden.nodes] = hidden.distributions.argmax(axis=1)
    return tabulate(problem.node_ids, P, [str(name) for name in model.classes_], chosen, labels, informed)


def tabulate(
    node_ids: Any,
    distributions: np.ndarray,
    class_names: Sequence[str],
    chosen: np.ndarray | None = None,
    labels: np.ndarray | None = None,
    reached: np.ndarray | None = None,
) -> Predictions:
    """Return predictions for any nodes from their class distributions.

    Parameters
    ----------
    node_ids : array-like of n str
    distributions : ndarray of shape (n, c)
    class_names : sequence of c str
    chosen : int ndarray of shape (n,), optional
        The class that the model predicts for each node; the most probable if None.
    labels : int ndarray of shape (n,), optional
        The given classes, −1 where there is none; None if no label was given.
    reached : bool ndarray of shape (n,), optional
        All true if None.

    Returns
    -------
    Predictions

    Examples
    --------
    >>> spy = tabulate(["007"], np.array([[0.1, 0.9]]), ["cook", "spy"])[0]
    >>> spy.label, spy.confidence, spy.runner_up
    ('spy', 0.9, 'cook')
    >>> doubted = tabulate(["007"], np.array([[0.1, 0.9]]), ["cook", "spy"], labels=np.array([0]))[0]
    >>> doubted.label, doubted.confidence, doubted.model_says, doubted.model_confidence
    ('cook', 0.1, 'spy', 0.9)
    """
    n = len(distributions)
    rows, names = np.arange(n), np.array(class_names, dtype=object)
    best = distributions.argmax(axis=1) if chosen is None else chosen
    given = np.zeros(n, dtype=bool) if labels is None else np.asarray(labels) >= 0
    kept = best if labels is None else np.where(given, labels, best)
    others = distributions.copy()
    others[rows, best] = -1.0
    ids = np.empty(n, dtype=object)
    ids[:] = [str(node) for node in node_ids]
    return Predictions(
        id=ids,
        label=names[kept],
        confidence=distributions[rows, kept],
        model_says=names[best],
        model_confidence=distributions[rows, best],
        runner_up=names[others.argmax(axis=1)],
        given=given,
        reached=np.ones(n, dtype=bool) if reached is None else np.asarray(reached, dtype=bool),
        distributions=distributions,
        class_names=tuple(class_names),
    )


def withhold(predictions: Predictions, abstain: float, informed: Any = True) -> Predictions:
    """Remove labels that were not given and whose confidence is below a limit, as ``--abstain`` does.

    Parameters
    ----------
    predictions : Predictions
    abstain : float
        The least confidence.
    informed : bool ndarray of shape (n,), optional
        ``informed_`` of the model: other nodes, about which it knows nothing, lose their label too.

    Returns
    -------
    Predictions

    Examples
    --------
    >>> predictions = tabulate(["007", "8"], np.array([[0.1, 0.9], [0.4, 0.6]]), ["cook", "spy"])
    >>> withhold(predictions, 0.8).label.tolist()
    ['spy', '']
    """
    unsure = ((predictions.confidence < abstain) | ~np.asarray(informed)) & ~predictions.given
    label = predictions.label.copy()
    label[unsure] = ""
    return replace(predictions, label=label)


def write_predictions(
    path: str | Path, predictions: Predictions | Iterable[Prediction], probabilities: bool = False
) -> list[str]:
    """Write predictions as a table, atomically.

    If no label was given, as on a new graph, ``given`` and ``reached`` mean nothing, and
    :class:`Predictions` are written without them.

    Parameters
    ----------
    path : path ending in .csv, .tsv, .parquet or .jsonl
    predictions : Predictions, or iterable of Prediction
    probabilities : bool, default=False
        Add a column ``p_<class>`` for each class; only for :class:`Predictions`.

    Returns
    -------
    list of str
        Notes about changed texts: see :func:`gssl.io.write_columns`.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "p.csv"
    >>> write_predictions(file, [Prediction("007", "spy", 0.9, "spy", 0.9, "cook", False, True)])
    []
    >>> print(file.read_text().splitlines()[1])
    007,spy,0.9000,spy,0.9000,cook,false,true
    """
    if isinstance(predictions, Predictions):
        names = list(_COLUMNS) if predictions.given.any() else list(_COLUMNS)[:-2]
        columns = {name: getattr(predictions, name) for name in names}
        if probabilities:
            by_class = zip(predictions.class_names, predictions.distributions.T, strict=True)
            columns |= {f"p_{name}": np.ascontiguousarray(column) for name, column in by_class}
    else:
        rows = list(predictions)
        columns = {
            name: np.array([getattr(row, name) for row in rows], dtype=object if kind is str else kind)
            for name, kind in _COLUMNS.items()
        }
    return write_columns(path, columns)


def write_embeddings(path: str | Path, ids: Any, U: np.ndarray) -> list[str]:
    """Write one embedding per node, in a format that :func:`gssl.io.read_features` reads.

    Parameters
    ----------
    path : path ending in .parquet, .csv, .tsv, .npz or .npy
        Tables have the columns ``id, u0, u1, …``; ``.npz`` has the arrays ``ids`` and ``features``; the ids
        of ``.npy`` are written to ``<name>.ids.npy``.
    ids : array-like of n str
    U : ndarray of shape (n, d)

    Returns
    -------
    list of str
        Notes about changed texts: see :func:`gssl.io.write_columns`.

    Examples
    --------
    >>> import tempfile
    >>> from gssl.io import read_features
    >>> file = Path(tempfile.mkdtemp()) / "u.npz"
    >>> write_embeddings(file, ["007", "8"], np.eye(2))
    []
    >>> read_features(file).ids.tolist()
    ['007', '8']
    """
    texts = [str(node) for node in ids]
    U = np.asarray(U)
    if U.ndim != 2 or len(texts) != len(U):
        raise ValueError(f"{len(texts)} ids for embeddings of shape {U.shape}: give one row for each id.")
    check_suffix(path, EMBEDDINGS)
    if Path(path).suffix.lower() in _ARRAYS:
        cut = next((text for text in texts if text.endswith("\0")), None)
        if cut is not None:
            raise ValueError(
                f"{path} cannot keep the NUL at the end of the id {quoted(cut)}: write .parquet."
            )
        _write_arrays(Path(path), np.array(texts, dtype=np.str_), U)
        return []
    columns: dict[str, Any] = {"id": np.array(texts, dtype=object)}
    columns |= {f"u{j}": np.ascontiguousarray(U[:, j]) for j in range(U.shape[1])}
    return write_columns(path, columns, decimals=None)


def _write_arrays(path: Path, ids: np.ndarray, U: np.ndarray) -> None:
    if path.suffix.lower() == ".npz":
        with whole_file(path) as part, part.open("wb") as stream:
            np.savez(stream, ids=ids, features=U)
        return
    with whole_file(path) as part:
        with part.open("wb") as stream:
            np.save(stream, U, allow_pickle=False)
        # the ids appear first, so that embeddings are never without them
        with whole_file(path.with_suffix(".ids.npy")) as ids_part, ids_part.open("wb") as stream:
            np.save(stream, ids, allow_pickle=False)

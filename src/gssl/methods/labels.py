"""Conversions between labels, class codes and class distributions."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from gssl.graph.validate import refuse_mask, warn_user
from gssl.wording import NUMBER, ClassName, counted, is_missing, is_missing_text, listed_counts, shortened

UNLABELLED = -1
# the same among text
MINUS = str(UNLABELLED)
# numbers are measurements, not classes, if so many labels have decimals and most of them differ, or if there
# are decimals and more than so many different numbers
_LEAST_DECIMALS, _MOST_DECIMALS = 10, 20
# whole numbers are counts or amounts if so many differ, and span so many times their number
_LEAST_COUNTS, _FAR_APART = 20, 20
_WHOLE = re.compile(r"[+-]?\d+(\.0*)?")
# rows projected at a time
_BLOCK = 8192


def encode_labels(y: Any, n_nodes: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Turn labels into at least two sorted classes and one code per node, −1 where there is no label."""
    classes, codes = label_codes(y)
    if n_nodes is not None and len(codes) != n_nodes:
        raise ValueError(
            f"y has {len(codes)} entries but X has {n_nodes} rows: give one label (or −1) per node."
        )
    if not len(classes):
        raise ValueError(
            "y has no labels: every entry is −1, None, NaN or empty; label at least one node of two classes."
        )
    if len(classes) < 2:
        raise ValueError(f"y has labels of one class only ({classes[0]}): a classifier needs two classes.")
    return classes, codes


def label_codes(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Turn labels of any number of classes, even none, into sorted classes and codes."""
    values = _read_labels(y)
    labelled = ~_is_unlabelled(values)
    known = values[labelled]
    codes = np.full(len(values), UNLABELLED, dtype=np.int64)
    if not len(known):
        return known, codes
    if known.dtype == object:
        kinds = {_kind(value) for value in known}
        if len(kinds) > 1:
            raise ValueError("y mixes text with other values: make all labels text, or all of them numbers.")
        given, known = known, np.array(known.tolist())
        if known.ndim == 1:
            _refuse_merged(given, known)
    if known.ndim != 1:
        raise ValueError(
            "y holds a sequence for each node: give one plain label, a number or text, per node."
        )
    classes, codes[labelled] = np.unique(known, return_inverse=True)
    if known.dtype.kind == "f" and (decimals := classes[classes != np.trunc(classes)]).size:
        # begins as scikit-learn's error, by which its tools recognise a classifier
        raise _measurement_error("Unknown label type: continuous, y", len(classes), decimals[0])
    if known.dtype.kind in "iuf" and _are_counts(classes.astype(np.float64), len(known)):
        raise _measurement_error("y", len(classes), classes[-1])
    if known.dtype.kind == "U":
        counts = np.bincount(codes[labelled])
        refuse_measurements("y", dict(zip(classes.tolist(), counts.tolist(), strict=True)))
    check_classification_targets(known)
    return classes, codes


def decode_labels(classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Turn class codes back into labels: the inverse of :func:`encode_labels`."""
    known = codes != UNLABELLED
    kind = classes.dtype.kind
    nothing: Any = UNLABELLED if kind in "iu" else np.nan if kind == "f" else None
    dtype: Any = np.int64 if kind in "iu" else classes.dtype if kind == "f" else object
    labels = np.full(len(codes), nothing, dtype=dtype)
    labels[known] = name_classes(classes)[codes[known]]
    return labels


def name_classes(labels: np.ndarray) -> np.ndarray:
    """Return labels with texts that look missing as ClassName, so that they are read as classes again."""
    odd = [
        i
        for i, text in enumerate(labels)
        if isinstance(text, str) and (is_missing_text(text) or text == MINUS)
    ]
    if not odd:
        return labels
    named = labels.astype(object)
    named[odd] = [ClassName(labels[i]) for i in odd]
    return named


def refuse_measurements(name: str, counts: Mapping[str, int]) -> None:
    """Raise if all texts are numbers and too many differ; ``counts`` has each text."""
    if not all(NUMBER.fullmatch(text.replace(",", ".", 1)) for text in counts):
        return
    decimals = [text for text in counts if not _WHOLE.fullmatch(text)]
    n_decimals = sum(counts[text] for text in decimals)
    most_differ = n_decimals >= _LEAST_DECIMALS and 2 * len(decimals) > n_decimals
    if most_differ or (decimals and len(counts) > _MOST_DECIMALS):
        raise _measurement_error(name, len(counts), decimals[0])
    if not decimals and _are_counts(np.array([float(text) for text in counts]), sum(counts.values())):
        raise _measurement_error(name, len(counts), max(counts, key=len))


def _are_counts(numbers: np.ndarray, n_labels: int) -> bool:
    """Return whether whole numbers are counts or amounts: many, mostly different, and far apart."""
    many = len(numbers) >= _LEAST_COUNTS and 2 * len(numbers) > n_labels
    return many and bool(np.ptp(numbers) > _FAR_APART * len(numbers))


def _measurement_error(name: str, n_distinct: int, example: Any) -> ValueError:
    return ValueError(
        f"{name} holds {counted(n_distinct, 'different number')}, such as {shortened(example)}, and a "
        "classifier predicts classes, not numbers: use AutoRegressor (gssl regress, or gssl.read with "
        "answers='numbers'), or give classes, such as 'low' and 'high'."
    )


def _read_labels(y: Any) -> np.ndarray:
    """Convert labels to an array that preserves missing values."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None: give a label or −1 per node.")
    refuse_mask(y, "y")
    if hasattr(y, "to_numpy") and not isinstance(getattr(y, "dtype", None), np.dtype):
        # of pandas, NumPy would turn the missing values of extension types into numbers or text
        y = np.array(y.to_list() if hasattr(y, "to_list") else y.to_numpy(dtype=object), dtype=object)
    elif isinstance(y, list | tuple):
        # NumPy would convert numbers among text to text
        y = np.fromiter(y, dtype=object, count=len(y))
    if (
        isinstance(y, np.ndarray)
        and y.dtype == object
        and any(isinstance(one, set | frozenset) for one in y.ravel())
    ):
        raise ValueError("y holds sets of labels: AutoClassifier predicts several labels, others one class.")
    return np.asarray(column_or_1d(y, warn=True))


def _is_unlabelled(values: np.ndarray) -> Any:
    if values.dtype.kind in "iu":
        return values == UNLABELLED
    if values.dtype.kind == "f":
        if np.isinf(values).any():
            raise ValueError(f"Input y contains infinity at position {np.flatnonzero(np.isinf(values))[0]}.")
        return np.isnan(values) | (values == UNLABELLED)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind == "U":
        return _missing_texts(values)
    if values.dtype != object:
        return np.zeros(len(values), dtype=bool)
    unlabelled = np.array([_is_missing_number(value) for value in values], dtype=bool)
    texts = np.array([isinstance(value, str) for value in values], dtype=bool)
    unlabelled[texts] = _missing_texts(values[texts])
    return unlabelled


def _is_missing_number(value: Any) -> bool:
    minus = isinstance(value, int | np.integer | float | np.floating) and value == UNLABELLED
    return is_missing(value) or (minus and not isinstance(value, bool))


def is_minus_missing(texts: Iterable[str]) -> bool:
    """Return whether "-1" among labels is none; it is a class if there is one other only, as in 1 and −1."""
    return len(set(texts) - {MINUS}) > 1


def _missing_texts(texts: np.ndarray) -> np.ndarray:
    """Return a mask of texts that are empty or markers; warn of markers, which may be meant as classes."""
    missing = np.array([is_missing_text(text) for text in texts], dtype=bool)
    minus = np.array([text == MINUS and not isinstance(text, ClassName) for text in texts], dtype=bool)
    if is_minus_missing(texts[~missing]):
        missing |= minus
    markers = Counter(str(text).strip() for text in texts[missing])
    del markers[""]
    if markers:
        warn_user(
            f"y: {counted(markers.total(), 'text')} taken as no label: {listed_counts(markers)}; rename "
            "classes that are called so."
        )
    return missing


def _kind(value: Any) -> str:
    return "text" if isinstance(value, str) else "bytes" if isinstance(value, bytes) else "number"


def _refuse_merged(given: np.ndarray, known: np.ndarray) -> None:
    """Reject different labels that NumPy merges: text with and without trailing NULs, or True and 1."""
    first: dict[Any, Any] = {}
    for value, read in zip(given, known.tolist(), strict=True):
        truth, other = (
            isinstance(label, bool | np.bool_) for label in (value, first.setdefault(read, value))
        )
        if value != first[read] or truth != other:
            raise ValueError(
                f"y has the labels {first[read]!r} and {value!r}, which NumPy takes for one: make all labels "
                "text without NUL characters, or all of them numbers of one kind."
            )
        if isinstance(value, str | bytes) and value != read:
            raise ValueError(
                f"y has the label {value!r}, and NumPy drops NUL characters at its end: remove them."
            )


def class_weights(class_weight: Any, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    r"""Return the weight of each class in the loss; if balanced, :math:`w_c = m / (C \, m_c)`."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.bincount(codes, minlength=len(classes))
        return np.asarray(len(codes) / (len(classes) * np.maximum(counts, 1)))
    if not isinstance(class_weight, dict):
        raise ValueError(f'class_weight must be None, "balanced" or a dict, not {class_weight!r}.')
    weights = np.ones(len(classes))
    positions = class_positions(class_weight, classes, "class_weight")
    for i, weight in zip(positions, class_weight.values(), strict=True):
        if not _is_number(weight) or not 0 < weight < np.inf:
            raise ValueError(f"class_weight of {classes[i]} must be a positive number, not {weight!r}.")
        weights[i] = weight
    return weights


def class_positions(by_class: dict[Any, Any], classes: np.ndarray, name: str) -> list[int]:
    """Return the position among the classes of each key of a dict."""
    position = {value: i for i, value in enumerate(classes.tolist())}
    strange = [key for key in by_class if key not in position]
    if strange:
        raise ValueError(f"{name} names {strange[0]!r}, which is no class of the labels: {list(position)}.")
    return [position[key] for key in by_class]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def one_hot(codes: np.ndarray, n_classes: int, dtype: Any) -> np.ndarray:
    """Return the one-hot rows of class codes."""
    rows = np.zeros((len(codes), n_classes), dtype)
    rows[np.arange(len(codes)), codes] = 1
    return rows


def nearest_distribution(Z: np.ndarray) -> np.ndarray:
    r"""Project scores onto the probability simplex: the distribution nearest to each row.

    .. math:: \arg\min_{p \ge 0,\ 1^\top p = 1} \|p - z\|^2
    """
    P = np.empty_like(Z)
    for start in range(0, len(Z), _BLOCK):  # by blocks, to keep temporary arrays small
        P[start : start + _BLOCK] = _project(Z[start : start + _BLOCK])
    return P


def _project(Z: np.ndarray) -> np.ndarray:
    c = Z.shape[1]
    # subtracting the maximum keeps precision when the scores are large or tiny
    ordered = -np.sort(-(Z - Z.max(axis=1, keepdims=True)), axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, c + 1, dtype=Z.dtype)
    support = np.count_nonzero(ordered > excess, axis=1)
    threshold = np.take_along_axis(excess, support[:, None] - 1, axis=1)
    P = np.maximum(Z - Z.max(axis=1, keepdims=True) - threshold, 0.0)
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def rows_to_distributions(F: np.ndarray) -> np.ndarray:
    """Divide non-negative rows by their sums; a row of zeros becomes uniform."""
    total = F.sum(axis=1, keepdims=True)
    P = np.full_like(F, 1.0 / F.shape[1])
    np.divide(F, total, out=P, where=total > 0)
    return P


def decide(P: np.ndarray, informed: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the code of the most probable class; for uninformed nodes, of the most frequent label."""
    chosen = P.argmax(axis=1)
    unknown = np.count_nonzero(~informed)
    if unknown:
        chosen[~informed] = np.bincount(codes[codes != UNLABELLED]).argmax()
        nodes, them = ("1 node", "it") if unknown == 1 else (f"{unknown} nodes", "them")
        warn_user(
            f"nothing is known about {nodes}: no label or feature reaches {them}, so the distribution is "
            "uniform and the class is the most frequent label."
        )
    return np.asarray(chosen)


def unsure(P: np.ndarray, informed: np.ndarray, abstain: float) -> np.ndarray:
    """Return a mask of the rows whose confidence is below ``abstain``, and of uninformed nodes."""
    if isinstance(abstain, bool) or not 0.0 <= abstain <= 1.0:
        raise ValueError(f"abstain is the least confidence of a label, from 0 to 1, not {abstain!r}.")
    return np.asarray((P.max(axis=1) < abstain) | ~informed)

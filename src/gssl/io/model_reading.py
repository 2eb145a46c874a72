"""From a description and arrays that nobody has checked yet to a fitted model."""

import inspect
import math
import typing
from typing import Any

import numpy as np

from gssl.datasets.numpy_files import csr_from_parts
from gssl.io.fitted_attributes import Fitted, fitted_attributes, storable
from gssl.io.model_checks import check_parts
from gssl.selection import Entry, Leaderboard


def rebuild(description: Any, tensors: dict[str, np.ndarray]) -> Any:
    """Make the model again; whatever does not fit is a ValueError of one sentence.

    Parameters
    ----------
    description : dict
        As :func:`gssl.io.model_writing.describe` gives it.
    tensors : dict of ndarray

    Returns
    -------
    fitted estimator

    Examples
    --------
    >>> import gssl
    >>> from gssl.io.model_writing import describe
    >>> head = gssl.RidgeHead().fit([[1.0], [-1.0]], ["a", "b"])
    >>> rebuild(*describe(head)).predict([[3.0]]).tolist()
    ['a']
    """
    model = _make(description)
    name = type(model).__name__
    fitted = description.get("fitted")
    if not isinstance(fitted, dict):
        raise ValueError(f"it does not say what its {name} learned.")
    sizes: dict[str, int] = {}
    if hasattr(model, "predict"):
        model.classes_ = _classes(description.get("classes"))
        sizes["c"] = len(model.classes_)
    known = {attribute.name: attribute for attribute in fitted_attributes(type(model))}
    strange = [key for key in fitted if key not in known]
    if strange:
        raise ValueError(f"a {name} has no {strange[0]!r}.")
    for key, attribute in known.items():
        if key in fitted:
            setattr(model, key, _read(attribute, fitted[key], tensors, sizes, model))
        elif not attribute.optional:
            raise ValueError(f"{key!r} of its {name} is missing.")
    # after all others: what it has learned may tell whether it needs features
    if getattr(model, "_uses_features", True) and not hasattr(model, "n_features_in_"):
        raise ValueError(f"'n_features_in_' of its {name} is missing.")
    check_parts(model)
    return model


def _make(description: Any) -> Any:
    """Make an unfitted estimator of a class and parameters that are known."""
    if not isinstance(description, dict) or not isinstance(description.get("params"), dict):
        raise ValueError("it does not describe a model.")
    name = description.get("class")
    if not isinstance(name, str) or name not in storable():
        raise ValueError(f"it names the class {name!r}, which is no method of gssl.")
    kind: Any = storable()[name]
    hints = typing.get_type_hints(kind.__init__)
    params = {}
    for key, value in description["params"].items():
        if key not in inspect.signature(kind).parameters:
            raise ValueError(f"a {name} has no parameter {key!r}.")
        params[key] = _param(value)
        if not _fits(value, hints.get(key, Any)):
            raise ValueError(f"the parameter {key!r} of its {name} is {value!r}.")
    return kind(**params)


def _param(value: Any) -> Any:
    """Give a parameter: a plain value, a list of them, a dict by its pairs, or a model."""
    if not isinstance(value, dict):
        return value
    if set(value) != {"pairs"}:
        return _make(value)
    try:
        return dict(value["pairs"])
    except (TypeError, ValueError) as error:
        raise ValueError("one of its parameters is not made of pairs.") from error


def _fits(value: Any, hint: Any) -> bool:
    if hint is float or hint is int:
        number = isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
        # NumPy takes no whole number beyond 64 bits, and nobody needs one
        return number and (math.isfinite(value) if isinstance(value, float) else -(2**63) <= value < 2**63)
    if typing.get_origin(hint) is typing.Literal:
        return value in typing.get_args(hint)
    if isinstance(value, list):
        return all(isinstance(part, bool | int | float | str) for part in value)
    return value is None or isinstance(value, bool | int | float | str | dict)


def _classes(stored: Any) -> np.ndarray:
    try:
        dtype = np.dtype(stored["dtype"])
        if dtype.kind not in "Uiufb":
            raise TypeError(dtype)
        # a type may claim texts of any length, and every class would take their room
        if dtype.kind == "U" and dtype.itemsize > 4 * max(1024, *map(len, stored["values"])):
            raise TypeError(dtype)
        classes = np.array(stored["values"], dtype=dtype)
        same = classes.tolist() == stored["values"]
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise ValueError("its classes are not a list of text or numbers.") from error
    if classes.ndim != 1 or not same or len(classes) == 0 or len(np.unique(classes)) != len(classes):
        raise ValueError("its classes are not a list of different values.")
    if not np.array_equal(np.sort(classes), classes):
        raise ValueError("its classes are not in order.")
    return classes


def _read(
    attribute: Fitted, value: Any, tensors: dict[str, np.ndarray], sizes: dict[str, int], model: Any
) -> Any:
    name, kind = attribute.name, attribute.kind
    if kind == "model":
        return rebuild(value, tensors)
    if kind == "whole":
        return _whole(name, value, sizes)
    if kind == "flag":
        if not isinstance(value, bool):
            raise ValueError(f"{name!r} is {value!r}, not true or false.")
        return value
    if kind == "text":
        if not isinstance(value, str):
            raise ValueError(f"{name!r} is {value!r}, not a text.")
        return value
    if kind == "table":
        return _table(name, value)
    if kind == "transient":
        raise ValueError(f"{name!r} is nothing that a saved model holds.")
    if kind == "texts":
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise ValueError(f"{name!r} is not a list of names.")
        _check_shape(attribute, (len(value),), sizes)
        return np.array(value, dtype=object)
    if kind == "matrix":
        return _matrix(attribute, value, tensors, sizes)
    array = _array(attribute, {"float": "f", "bool": "b"}.get(kind, "i"), tensors, value, sizes)
    if kind in ("code", "class"):
        low = -1 if kind == "code" else 0
        if array.dtype != np.int64 or (array.size and not low <= array.min() <= array.max() < sizes["c"]):
            raise ValueError(f"{name!r} names classes that are not there.")
        return array if kind == "code" else model.classes_[array]
    return array


def _table(name: str, value: Any) -> Leaderboard:
    kinds = typing.get_type_hints(Entry)
    try:
        entries = [Entry(**row) for row in value]
        fit = all(type(getattr(e, key)) is kind for e in entries for key, kind in kinds.items())
    except TypeError:
        fit = False
    if not fit:
        raise ValueError(f"{name!r} is not a table of models.")
    return Leaderboard(entries)


def _whole(name: str, value: Any, sizes: dict[str, int]) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name!r} is {value!r}, not a whole number from 0 on.")
    if name == "n_features_in_":
        sizes["d"] = value
    return value


def _array(
    attribute: Fitted, kind: str, tensors: dict[str, np.ndarray], key: Any, sizes: dict[str, int]
) -> np.ndarray:
    if not isinstance(key, str) or key not in tensors:
        raise ValueError(f"the numbers of {attribute.name!r} are missing.")
    array = tensors[key]
    # half precision is nothing that any method computes with
    if array.dtype.kind != kind or (kind == "f" and array.dtype.itemsize < 4):
        raise ValueError(f"{attribute.name!r} is stored as {array.dtype}, which does not fit.")
    if kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{attribute.name!r} holds NaN or infinity.")
    _check_shape(attribute, array.shape, sizes)
    return array


def _check_shape(attribute: Fitted, shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    if len(shape) != len(attribute.shape):
        raise ValueError(f"{attribute.name!r} has {len(shape)} dimensions, not {len(attribute.shape)}.")
    for letter, size in zip(attribute.shape, shape, strict=True):
        if size != sizes.setdefault(letter, size):
            raise ValueError(
                f"{attribute.name!r} has shape {shape}, which does not fit the rest of the model."
            )


def _matrix(attribute: Fitted, value: Any, tensors: dict[str, np.ndarray], sizes: dict[str, int]) -> Any:
    if value is None:
        return None
    if not isinstance(value, dict):
        return _array(attribute, "f", tensors, value, sizes)
    shape = value.get("shape")
    if not isinstance(shape, list) or len(shape) != 2 or not all(isinstance(size, int) for size in shape):
        raise ValueError(f"{attribute.name!r} has no shape.")
    _check_shape(attribute, tuple(shape), sizes)
    try:
        data, indices, indptr = (tensors[value[part]] for part in ("data", "indices", "indptr"))
    except (KeyError, TypeError) as error:
        raise ValueError(f"the numbers of {attribute.name!r} are missing.") from error
    return csr_from_parts(data, indices, indptr, (shape[0], shape[1]))

"""From a fitted model to its description and its arrays."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from gssl.io.fitted_attributes import Fitted, fitted_attributes, storable
from gssl.io.model_checks import check_work


def describe(model: Any, *, embedding: bool = True) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Give a model's description, ready for JSON, and its arrays by name.

    Parameters
    ----------
    model : fitted estimator
    embedding : bool, default=True

    Returns
    -------
    description : dict
    tensors : dict of ndarray

    Examples
    --------
    >>> import gssl
    >>> head = gssl.RidgeHead().fit([[1.0], [-1.0]], ["a", "b"])
    >>> description, tensors = describe(head)
    >>> description["class"], description["params"], list(tensors)
    ('RidgeHead', {'class_weight': None, 'penalty': 0.01}, ['coef_', 'intercept_'])
    """
    tensors: dict[str, np.ndarray] = {}
    shared: dict[int, str] = {}
    return _describe(model, "", embedding, (tensors, shared)), tensors


def _describe(
    model: Any, prefix: str, embedding: bool, store: tuple[dict[str, np.ndarray], dict[int, str]]
) -> Any:
    _check_kind(model)
    known = fitted_attributes(type(model))
    held = {name: value for name, value in vars(model).items() if not name.startswith("_sklearn")}
    params = model.get_params(deep=False)
    strange = set(held) - set(params) - {attribute.name for attribute in known} - {"classes_"}
    if strange:
        raise ValueError(
            f"this {type(model).__name__} holds {min(strange)!r}, which saved models do not know: "
            "name it in gssl/io/fitted_attributes.py."
        )
    missing = [attribute.name for attribute in known if not attribute.optional and attribute.name not in held]
    if missing:
        raise ValueError(f"this {type(model).__name__} has no {missing[0]!r}: fit it before you save it.")
    check_work(model)
    description: dict[str, Any] = {
        "class": type(model).__name__,
        "params": {name: _param(model, name, value) for name, value in params.items()},
    }
    if "classes_" in held:
        description["classes"] = _classes(held["classes_"])
    description["fitted"] = {
        attribute.name: _value(attribute, held, f"{prefix}{attribute.name}", embedding, store)
        for attribute in known
        if attribute.name in held
        and attribute.kind != "transient"
        and (embedding or attribute.name != "embedding_")
    }
    return description


def _check_kind(model: Any) -> None:
    name = type(model).__name__
    known = storable()
    if type(model).__module__.startswith("gssl.torch."):
        raise ValueError(
            f"{name} is a network of gssl.torch, and gssl.save writes methods that need no torch: keep its "
            "embeddings or predictions as a table, or its weights with torch.save."
        )
    if known.get(name) is not type(model):
        raise ValueError(f"{name} is not a method of gssl, and only those can be saved: {', '.join(known)}.")


def _param(model: Any, name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and np.isfinite(value):
        return value
    if isinstance(value, np.ndarray | list | tuple):
        return [_param(model, name, part) for part in value]
    if isinstance(value, dict):
        # JSON would turn the keys, which are classes, into text
        return {"pairs": [[_param(model, name, part) for part in pair] for pair in value.items()]}
    if hasattr(value, "get_params"):
        _check_kind(value)
        inner = value.get_params(deep=False)
        return {
            "class": type(value).__name__,
            "params": {key: _param(value, key, part) for key, part in inner.items()},
        }
    raise ValueError(
        f"{type(model).__name__}: {name} is {value!r}, which cannot be saved; "
        + ("give a whole number as random_state." if name == "random_state" else "give a number or text.")
    )


def _classes(classes: np.ndarray) -> dict[str, Any]:
    if classes.dtype.kind not in "Uiufb":
        raise ValueError(f"classes of type {classes.dtype} cannot be saved: make the labels text or numbers.")
    return {"dtype": classes.dtype.str, "values": classes.tolist()}


def _value(
    attribute: Fitted,
    held: dict[str, Any],
    key: str,
    embedding: bool,
    store: tuple[dict[str, np.ndarray], dict[int, str]],
) -> Any:
    value = held[attribute.name]
    if attribute.kind == "model":
        return _describe(value, f"{key}.", embedding, store)
    if attribute.kind in ("whole", "flag"):
        return int(value) if attribute.kind == "whole" else bool(value)
    if attribute.kind == "text":
        return str(value)
    if attribute.kind == "table":
        return value.to_records()
    if attribute.kind == "texts":
        return [str(text) for text in value]
    if attribute.kind == "class":
        return _store(np.searchsorted(held["classes_"], value).astype(np.int64), key, store)
    if attribute.kind == "matrix":
        return _matrix(value, key, store)
    return _store(value, key, store)


def _matrix(value: Any, key: str, store: tuple[dict[str, np.ndarray], dict[int, str]]) -> Any:
    if value is None or not issparse(value):
        return None if value is None else _store(value, key, store)
    matrix = csr_array(value)
    parts = {
        part: _store(getattr(matrix, part), f"{key}.{part}", store) for part in ("data", "indices", "indptr")
    }
    return {**parts, "shape": [int(size) for size in matrix.shape]}


def _store(array: Any, key: str, store: tuple[dict[str, np.ndarray], dict[int, str]]) -> str:
    """Store an array once, however many models hold it, and give its name."""
    tensors, shared = store
    if id(array) not in shared:
        # safetensors writes memory as it lies there
        tensors[key] = np.ascontiguousarray(array)
        shared[id(array)] = key
    return shared[id(array)]

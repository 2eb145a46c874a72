"""Describe fitted models for a file: plain values as JSON, and the arrays apart."""

from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from gssl.io.model_checks import check_steps, storable
from gssl.io.model_data import input_bytes, is_in_files, pack_graph, pack_kinds, pack_recipe, pack_texts
from gssl.io.problem import Problem
from gssl.methods.inputs import FittedParameters, has_graph_of_fit
from gssl.methods.stored import Stored, stored_attributes
from gssl.selection import CalibratedClassifier
from gssl.selection.auto_model import AutoModel

# how attributes without arrays are written
_PLAIN: dict[str, Any] = {
    "whole": int,
    "exponent": int,
    "flag": bool,
    "text": str,
    "texts": lambda texts: [str(text) for text in texts],
    "table": lambda leaderboard: leaderboard.to_records(),
}


class Writer:
    """Describe a model and its problem, and collect their arrays; equal arrays are stored once."""

    def __init__(self, model: Any, problem: Problem | bool, embedding: bool) -> None:
        self.embedding, self.inputs = embedding, _stores_inputs(model, problem)
        self.tensors: dict[str, np.ndarray] = {}
        self._keys: dict[tuple[Any, ...], str] = {}
        self.model = self._describe(model)
        self.problem = self._describe_problem(problem, model) if isinstance(problem, Problem) else None

    def _describe(self, model: Any, prefix: str = "") -> dict[str, Any]:
        model = model._as_fitted() if isinstance(model, FittedParameters) else model
        description = _write_unfitted(model)
        name, known = type(model).__name__, stored_attributes(type(model))
        stored = [attribute for attribute in known if self._stores(model, attribute)]
        for attribute in stored:
            # a cached property is computed now, if the model has what it needs, and stored with the rest
            if isinstance(getattr(type(model), attribute.name, None), cached_property):
                getattr(model, attribute.name, None)
        held = {key: value for key, value in vars(model).items() if not key.startswith("_sklearn")}
        unknown = set(held) - set(description["params"]) - {a.name for a in known} - {"classes_"}
        if unknown:
            raise ValueError(
                f"this {name} has the attribute {min(unknown)!r}, which gssl.save does not know: add it to "
                f"_stored of {name}."
            )
        missing = [a.name for a in known if not a.optional and a.name not in held]
        if missing:
            raise ValueError(f"this {name} has no {missing[0]!r}: fit it before you save it.")
        check_steps(model)
        if "classes_" in held:
            classes = held["classes_"]
            if classes.dtype.kind not in "Uiufb":
                raise ValueError(
                    f"classes of type {classes.dtype} cannot be saved: make the labels text or numbers."
                )
            description["classes"] = {"dtype": classes.dtype.str, "values": classes.tolist()}
        description["fitted"] = {
            a.name: self._write(a, held, f"{prefix}{a.name}") for a in stored if a.name in held
        }
        return description

    def _describe_problem(self, problem: Problem, model: Any) -> dict[str, Any]:
        """Describe the ids and names of a problem; its features and graph belong to the model."""
        # the model may be fitted to other features than those of the problem, or to none
        width = 0 if problem.features is None else model._fit_inputs.X.shape[1]
        feature_names = problem.feature_names if len(problem.feature_names) == width else ()
        names = {"node_ids": problem.node_ids, "feature_names": feature_names}
        parts = {name: self._tree(pack_texts(texts), f"problem.{name}") for name, texts in names.items()}
        return {
            **parts,
            "has_features": problem.features is not None,
            "kinds": self._tree(pack_kinds(problem.kinds, problem.node_ids), "problem.kinds"),
        }

    def _stores(self, model: Any, attribute: Stored) -> bool:
        """Return whether an attribute goes into the file, or can be computed from those that do."""
        if attribute.kind == "transient" or (attribute.name == "embedding_" and not self.embedding):
            return False
        if attribute.kind in ("inputs", "recipe"):
            return self.inputs
        if attribute.name == "label_distributions_" and isinstance(model, CalibratedClassifier):
            return model.__dict__.get("_priors") is not None
        # a copy has no recipe to compute coefficients from
        computed = attribute.name.endswith("coef_") and self.inputs and hasattr(model, "_recipe")
        return not (computed and _outgrows_inputs(model))

    def _write(self, attribute: Stored, held: dict[str, Any], key: str) -> Any:
        value = held[attribute.name]
        if attribute.kind in _PLAIN:
            return _PLAIN[attribute.kind](value)
        if value is None and attribute.or_none:
            return None
        match attribute.kind:
            case "model":
                return self._describe(value, f"{key}.")
            case "recipe":
                return self._tree(pack_recipe(value, held["_fit_inputs"].X.dtype), key)
            case "inputs":
                return {
                    "X": self._matrix(value.X, f"{key}.X"),
                    "A": self._tree(pack_graph(value.A), f"{key}.A"),
                }
            case "matrix":
                return self._matrix(value, key)
            case "class":
                value = np.searchsorted(held["classes_"], value).astype(np.int64)
            case "distribution":
                value = value.astype(np.float32)
        return self._store(value, key)

    def _matrix(self, X: Any, key: str) -> Any:
        if not issparse(X):
            return self._store(X, key)
        matrix = csr_array(X)
        positions = matrix.indices, matrix.indptr
        if max(matrix.nnz, *matrix.shape) <= np.iinfo(np.int32).max:
            # half of the bytes of long indices
            positions = tuple(part.astype(np.int32, copy=False) for part in positions)
        parts = dict(zip(("data", "indices", "indptr"), (matrix.data, *positions), strict=True))
        stored = {name: self._store(part, f"{key}.{name}") for name, part in parts.items()}
        return {**stored, "shape": [int(size) for size in matrix.shape]}

    def _tree(self, value: Any, key: str) -> Any:
        """Store the arrays in nested lists and dicts, and return these with the names of the arrays."""
        if isinstance(value, np.ndarray):
            return {"array": self._store(value, key)}
        if isinstance(value, dict):
            return {name: self._tree(part, f"{key}.{name}") for name, part in value.items()}
        if isinstance(value, list):
            return [self._tree(part, f"{key}.{k}") for k, part in enumerate(value)]
        return value

    def _store(self, array: Any, key: str) -> str:
        # files are in C order and little-endian
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        content = array.dtype.str, array.shape, blake2b(array.data.cast("B") if array.size else b"").digest()
        if content not in self._keys:
            self.tensors[key], self._keys[content] = array, key
        return self._keys[content]


def _stores_inputs(model: Any, problem: Problem | bool) -> bool:
    """Return whether to store features and graph; raise if the model does not hold those of ``problem``."""
    inputs = getattr(model, "_fit_inputs", None)
    if problem is False:
        return inputs is not None and not is_in_files(inputs) and _outgrows_inputs(model)
    if inputs is None:
        raise ValueError(
            f"this {type(model).__name__} holds no features and graph of a fit: fit it, or leave out problem."
        )
    if is_in_files(inputs):
        raise ValueError("the features or the graph stay in files, which are not copied: leave out problem.")
    if isinstance(problem, Problem) and len(problem.node_ids) != inputs.A.shape[0]:
        raise ValueError(
            f"the problem has {len(problem.node_ids):,} nodes and the model was fitted to "
            f"{inputs.A.shape[0]:,}: give the problem of the fit."
        )
    if isinstance(problem, Problem) and not has_graph_of_fit(model, problem.adjacency):
        raise ValueError("the problem has its nodes in another order than fit had them: give that of fit.")
    return True


def _outgrows_inputs(model: Any) -> bool:
    """Return whether coefficients that can be computed again would take more space than the inputs."""
    if isinstance(model, CalibratedClassifier):
        return _outgrows_inputs(model.classifier_)
    if not isinstance(model, AutoModel):
        return False
    if model.has_trees:
        # they are not stored, but fitted again
        return True
    if not hasattr(model, "_recipe"):
        return False
    inputs = getattr(model, "_fit_inputs", None)
    return inputs is not None and model._n_coefficients * inputs.X.dtype.itemsize > input_bytes(inputs)


def _write_unfitted(model: Any) -> dict[str, Any]:
    name, known = type(model).__name__, storable()
    if type(model).__module__.startswith("gssl.torch."):
        raise ValueError(
            f"{name} is a network of gssl.torch, and gssl.save writes methods that need no torch: keep its "
            "embeddings or predictions as a table, or its weights with torch.save."
        )
    if known.get(name) is not type(model):
        raise ValueError(f"{name} is not a method of gssl, and only those can be saved: {', '.join(known)}.")
    params = model.get_params(deep=False)
    return {"class": name, "params": {key: _write_param(name, key, value) for key, value in params.items()}}


def _write_param(owner: str, name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    plain = value is None or isinstance(value, bool | int | str)
    if plain or (isinstance(value, float) and np.isfinite(value)):
        return value
    if isinstance(value, np.ndarray | list | tuple):
        return [_write_param(owner, name, part) for part in value]
    if isinstance(value, dict):
        # JSON would turn the keys, which are classes, into text
        return {"pairs": [[_write_param(owner, name, part) for part in pair] for pair in value.items()]}
    if hasattr(value, "get_params"):
        return _write_unfitted(value)
    raise ValueError(
        f"{owner}: {name} is {value!r}, which cannot be saved; "
        + ("give a whole number as random_state." if name == "random_state" else "give a number or text.")
    )

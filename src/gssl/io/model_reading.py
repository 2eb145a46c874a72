"""Rebuild models and their data from a file that may be damaged or forged: every part is checked."""

import inspect
import typing
from typing import Any

import numpy as np

from gssl.io.model_checks import (
    check_distributions,
    check_parts,
    fits_hint,
    read_array,
    read_classes,
    read_plain,
    read_table,
    storable,
)
from gssl.io.model_data import check_kinds, unpack_graph, unpack_kinds, unpack_recipe, unpack_texts
from gssl.io.numpy_files import csr_from_parts
from gssl.io.problem import Problem
from gssl.methods.inputs import FittedParameters, scale_features
from gssl.methods.labels import UNLABELLED
from gssl.methods.regressor import GraphRegressor
from gssl.methods.stored import Stored, stored_attributes
from gssl.selection import CalibratedClassifier
from gssl.selection.auto_sets import AutoLabelSets
from gssl.wording import quoted

# attributes that files of earlier versions name otherwise
_RENAMED = {"_leave_one_out": "_held_out_scores"}


class Reader:
    """Rebuild a model from an unchecked description and arrays."""

    def __init__(self, description: Any, tensors: dict[str, np.ndarray]) -> None:
        self.tensors = tensors
        # a regressor has one column of answers
        self.sizes = {"1": 1, "2": 2, "3": 3, "4": 4, "c": 1}
        self.model = model = _read_model(description)
        name, fitted = type(model).__name__, description.get("fitted")
        if not isinstance(fitted, dict):
            raise ValueError(f"it does not say what its {name} learned.")
        if hasattr(model, "predict") and not isinstance(model, GraphRegressor):
            # several labels per node are in the order of the columns of their matrix
            in_order = not isinstance(model, AutoLabelSets)
            model.classes_ = read_classes(description.get("classes"), in_order=in_order)
            self.sizes["c"] = len(model.classes_)
        known = {attribute.name: attribute for attribute in stored_attributes(type(model))}
        fitted = {_RENAMED.get(key, key): value for key, value in fitted.items()}
        for key in fitted.keys() - known.keys():
            raise ValueError(f"a {name} has no {quoted(key)}.")
        for key, attribute in known.items():
            if attribute.kind in ("inputs", "recipe"):
                continue  # last, because they refer to all others
            if key in fitted:
                setattr(model, key, self._read(attribute, fitted[key]))
            elif not attribute.optional:
                raise ValueError(f"{key!r} of its {name} is missing.")
        self._read_data(fitted)
        # last, because uses_features may depend on the fitted attributes
        if getattr(model, "uses_features", True) and not hasattr(model, "n_features_in_"):
            raise ValueError(f"'n_features_in_' of its {name} is missing.")
        check_parts(model)
        if isinstance(model, FittedParameters):
            model._keep_parameters()
        if isinstance(model, CalibratedClassifier) and "label_distributions_" not in fitted:
            if model._priors is not None or len(model.informed_) != len(model.classifier_.informed_):
                raise ValueError("'label_distributions_' of its CalibratedClassifier is missing.")
            model._finish(model.calibration_(model.classifier_.label_distributions_), model.informed_)

    def _read_data(self, fitted: dict[str, Any]) -> None:
        """Read the data of fit and the recipe of an average, if the file holds them."""
        model, held = self.model, fitted.get("_fit_inputs")
        if held is None:
            if "_recipe" in fitted:
                raise ValueError("it holds an average without the features and the graph of its fit.")
            return
        if not isinstance(held, dict):
            raise ValueError("the features and the graph of its fit are not described.")
        n = len(model.fit_codes)
        X = self._matrix(Stored("X", "matrix", ("n", "d")), held.get("X"))
        if X is None or X.dtype.kind != "f":
            raise ValueError("the features of its fit are missing.")
        model._keep_inputs(X, unpack_graph(named_arrays(held.get("A"), self.tensors), n))
        if "_recipe" in fitted:
            codes = model.fit_codes
            model._recipe = unpack_recipe(
                named_arrays(fitted["_recipe"], self.tensors), model.n_iter_, codes, self.sizes["c"]
            )
            check_kinds(model._recipe, model._fit_inputs.views, int((codes != UNLABELLED).sum()))

    def _read(self, attribute: Stored, value: Any) -> Any:
        if value is None and attribute.or_none:
            return None
        match attribute.kind:
            case "model":
                return Reader(value, self.tensors).model
            case "transient":
                raise ValueError(f"{attribute.name!r} is not an attribute of a saved model.")
            case "table":
                return read_table(attribute.name, value)
            case "whole" | "exponent" | "flag" | "text":
                plain = read_plain(attribute.name, attribute.kind, value)
                if attribute.name == "n_features_in_":
                    self.sizes["d"] = plain
                return plain
            case "texts":
                return self._texts(attribute, value)
            case "matrix":
                return self._matrix(attribute, value)
        kinds = {"float": "f", "distribution": "f", "shares": "f", "bool": "b"}
        array = self._array(attribute, kinds.get(attribute.kind, "i"), value)
        if attribute.kind in ("distribution", "shares"):
            check_distributions(attribute.name, array)
        if attribute.kind not in ("code", "class"):
            return array
        low = -1 if attribute.kind == "code" else 0
        inside = not array.size or low <= array.min() <= array.max() < self.sizes["c"]
        if array.dtype != np.int64 or not inside:
            raise ValueError(f"{attribute.name!r} has classes that do not exist.")
        return array if attribute.kind == "code" else self.model.classes_[array]

    def _texts(self, attribute: Stored, value: Any) -> np.ndarray:
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise ValueError(f"{attribute.name!r} is not a list of names.")
        self._check_shape(attribute, (len(value),))
        return np.array(value, dtype=object)

    def _array(self, attribute: Stored, kind: str, key: Any) -> np.ndarray:
        array = read_array(attribute.name, kind, self.tensors.get(key) if isinstance(key, str) else None)
        self._check_shape(attribute, array.shape)
        return array

    def _matrix(self, attribute: Stored, value: Any) -> Any:
        if not isinstance(value, dict):
            return self._array(attribute, "f", value)
        shape = value.get("shape")
        if not isinstance(shape, list) or len(shape) != 2 or not all(isinstance(size, int) for size in shape):
            raise ValueError(f"{attribute.name!r} has no shape.")
        self._check_shape(attribute, tuple(shape))
        try:
            data, indices, indptr = (self.tensors[value[part]] for part in ("data", "indices", "indptr"))
        except (KeyError, TypeError) as error:
            raise ValueError(f"the numbers of {attribute.name!r} are missing.") from error
        return csr_from_parts(data, indices, indptr, (shape[0], shape[1]))

    def _check_shape(self, attribute: Stored, shape: tuple[int, ...]) -> None:
        if len(shape) != len(attribute.shape):
            raise ValueError(f"{attribute.name!r} has {len(shape)} dimensions, not {len(attribute.shape)}.")
        for letter, size in zip(attribute.shape, shape, strict=True):
            if size != self.sizes.setdefault(letter, size):
                raise ValueError(
                    f"{attribute.name!r} has shape {shape}, which does not fit the rest of the model."
                )


def named_arrays(value: Any, tensors: dict[str, np.ndarray]) -> Any:
    """Replace the names of arrays in nested lists and dicts by the arrays."""
    if isinstance(value, dict) and set(value) == {"array"}:
        return tensors.get(value["array"]) if isinstance(value["array"], str) else None
    if isinstance(value, dict):
        return {name: named_arrays(part, tensors) for name, part in value.items()}
    return [named_arrays(part, tensors) for part in value] if isinstance(value, list) else value


def read_problem(stored: Any, tensors: dict[str, np.ndarray], model: Any) -> Problem | None:
    """Return the problem of a model that holds its data and node ids, None if it does not."""
    if stored is None:
        return None
    if not isinstance(stored, dict) or not hasattr(model, "_fit_inputs"):
        raise ValueError("it names nodes without the features and the graph of its fit.")
    tree = named_arrays(stored, tensors)
    ids, names = (unpack_texts(tree.get(name)) for name in ("node_ids", "feature_names"))
    inputs, codes = model._fit_inputs, model.fit_codes
    features = None
    if stored.get("has_features") is True and inputs.X.shape[1]:
        features = scale_features(inputs.X, -model._feature_exponent)
    width = 0 if features is None else features.shape[1]
    if len(ids) != len(codes) or len(set(ids)) != len(ids) or len(names) not in (0, width):
        raise ValueError(
            "the ids of its nodes or the names of its features do not fit the rest of the model."
        )
    kinds = unpack_kinds(tree.get("kinds"), ids)
    return Problem(ids, inputs.A, features, model.fit_answers, feature_names=tuple(names), kinds=kinds)


def _read_model(description: Any) -> Any:
    """Create an unfitted estimator; raise if its class or a parameter is unknown."""
    if not isinstance(description, dict) or not isinstance(description.get("params"), dict):
        raise ValueError("it does not describe a model.")
    name, known = description.get("class"), storable()
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"it names the class {quoted(name)}, which is not a method of gssl.")
    kind = known[name]
    hints = typing.get_type_hints(kind.__init__)
    params = {}
    for key, value in description["params"].items():
        if key not in inspect.signature(kind).parameters:
            raise ValueError(f"a {name} has no parameter {quoted(key)}.")
        params[key] = _read_param(value)
        if not fits_hint(value, int | None if key == "random_state" else hints.get(key, Any)):
            raise ValueError(f"the parameter {key!r} of its {name} is {quoted(value)}.")
    model = kind(**params)
    model._check_parameters()
    return model


def _read_param(value: Any) -> Any:
    """Decode a parameter: a plain value, a list of them, a dict stored as pairs, or a model."""
    if not isinstance(value, dict):
        return value
    if set(value) != {"pairs"}:
        return _read_model(value)
    try:
        return dict(value["pairs"])
    except (TypeError, ValueError) as error:
        raise ValueError("one of its parameters is not made of pairs.") from error

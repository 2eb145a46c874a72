"""Save fitted models to one file: arrays as safetensors, the rest as JSON, no executable code.

:data:`FITTED` lists the attributes that each class has after fit. A new method with only those of its base
class needs no entry; :func:`save` raises on attributes that are not listed.
"""

import inspect
import json
import math
import sys
import typing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import sklearn
from safetensors import SafetensorError, safe_open
from scipy.sparse import csr_array, issparse

from gssl import methods
from gssl.datasets.numpy_files import csr_from_parts
from gssl.files import write_all
from gssl.io.atomic import whole_file
from gssl.io.model_checks import check_parts, check_steps
from gssl.io.table_reading import find_files
from gssl.methods.inputs import FittedParameters
from gssl.selection import AutoClassifier, CalibratedClassifier, Entry, Leaderboard

FORMAT = "gssl-model"
VERSION = 2
# dtypes of stored arrays, as named by NumPy and by safetensors
_DTYPES = {"<f4": "F32", "<f8": "F64", "<i4": "I32", "<i8": "I64", "|b1": "BOOL"}
# no float64 needs a larger power of two
_MOST_SCALED = 1100
# kinds of values that are stored as plain JSON, and their names in errors
_PLAIN = {
    "whole": "a whole number from 0 on",
    "exponent": f"a whole number from -{_MOST_SCALED} to {_MOST_SCALED}",
    "flag": "true or false",
    "text": "a text",
}
_PLAIN_TYPES: dict[str, Any] = {"whole": int, "exponent": int, "flag": bool, "text": str}


@dataclass(frozen=True)
class Fitted:
    """An attribute of a fitted model; a letter in ``shape`` stands for one size throughout the model."""

    name: str
    # float, bool: an array; code: an int64 array from −1 to below c; class: an array of classes, stored as
    # codes; matrix: an array, a CSR matrix or None; whole: an int from 0 on; exponent: an int; flag, text;
    # texts: an array of str; table: a leaderboard; model: a fitted model; transient: not stored
    kind: str
    shape: tuple[str, ...] = ()
    optional: bool = False


_INPUT = (
    Fitted("n_features_in_", "whole", optional=True),
    Fitted("feature_names_in_", "texts", ("d",), optional=True),
)
_EMBEDDING = Fitted("embedding_", "float", ("n", "d"), optional=True)
_N_ITER = Fitted("n_iter_", "whole")
_COEF = Fitted("coef_", "float", ("d", "c"))


def _transient(*names: str) -> tuple[Fitted, ...]:
    return tuple(Fitted(name, "transient", optional=True) for name in names)


# by class name; a model has the attributes of all its base classes
FITTED: dict[str, tuple[Fitted, ...]] = {
    # a file has the parameters of fit as its parameters
    "FittedParameters": _transient("_fit_parameters"),
    "Embedder": (*_INPUT, _N_ITER, _EMBEDDING, Fitted("_fitted_on_graph", "flag")),
    "GraphClassifier": (
        *_INPUT,
        _N_ITER,
        Fitted("_fit_codes", "code", ("n",)),
        Fitted("_fit_features", "matrix", ("n", "d")),
        Fitted("_feature_exponent", "exponent", optional=True),
        Fitted("label_distributions_", "float", ("n", "c")),
        Fitted("transduction_", "class", ("n",)),
        Fitted("reached_", "bool", ("n",)),
        Fitted("informed_", "bool", ("n",)),
        Fitted("_priors", "matrix", ("priors", "c")),
        *_transient("_unweighed", "_fit_inputs", "cv_results_", "best_params_", "best_score_"),
    ),
    "OGC": (
        _COEF,
        # computed on first use; models of earlier versions lack them and cannot predict
        Fitted("_anchored", "bool", ("n",), optional=True),
        Fitted("_anchor_scores", "float", ("k", "a", "c"), optional=True),
        Fitted("_unseen_coef", "float", ("d", "c"), optional=True),
        *_transient("_steps", "_replayed", "_smoothing"),
    ),
    "ManifoldRegularization": (_COEF,),
    "CorrectAndSmooth": (Fitted("base_", "model"),),
    "EmbeddingClassifier": (
        Fitted("embedder_", "model"),
        Fitted("head_", "model"),
        *_transient("embedding_"),
    ),
    "CalibratedClassifier": (
        Fitted("classifier_", "model"),
        Fitted("held_out_distributions_", "float", ("h", "c")),
        Fitted("held_out_codes_", "code", ("h",)),
        # recomputed from the held-out labels
        *_transient("calibration_", "coverage_"),
    ),
    "AutoClassifier": (
        *(
            Fitted(name, "float", ("t", "d", "c"), optional=True)
            for name in ("coef_", "unit_coef_", "standardized_coef_")
        ),
        Fitted("link_coef_", "float", ("t", "l", "c"), optional=True),
        Fitted("intercept_", "float", ("c",), optional=True),
        Fitted("column_scales_", "float", ("2", "d"), optional=True),
        Fitted("propagation_", "model", optional=True),
        Fitted("leaderboard_", "table"),
        Fitted("explain_", "text"),
        Fitted("self_training_", "flag", optional=True),
        Fitted("_leave_one_out", "float", ("m", "c")),
        *_transient("_fitted_average"),
    ),
    "LinearHead": (*_INPUT, _COEF, Fitted("intercept_", "float", ("c",))),
    "LogisticHead": (_N_ITER,),
    "AdamHead": (Fitted("best_epoch_", "whole"),),
}


def fitted_attributes(kind: type) -> tuple[Fitted, ...]:
    """List the fitted attributes of a class, except ``classes_``."""
    found: dict[str, Fitted] = {}
    for base in reversed(kind.__mro__):
        found |= {attribute.name: attribute for attribute in FITTED.get(base.__name__, ())}
    return tuple(found.values())


def _storable() -> dict[str, Any]:
    known = {name: getattr(methods, name) for name in vars(methods)["__all__"]}
    return {**known, "AutoClassifier": AutoClassifier, "CalibratedClassifier": CalibratedClassifier}


def save(
    model: Any, path: str | Path, *, embedding: bool = True, settings: dict[str, str] | None = None
) -> None:
    """Save a fitted model, atomically.

    Parameters
    ----------
    model : fitted estimator of :mod:`gssl.methods`
        Its parameters must be numbers, text, None or such estimators: a random generator cannot be saved, and
        neither can a head from another library.
    path : path
        Usually ends in ``.gssl``.
    embedding : bool, default=True
        Whether to keep the ``embedding_`` of an embedder; that of a classifier is never kept.
    settings : dict of str, optional
        Texts to store with the model, such as how features were prepared: see :func:`read_settings`.

    Examples
    --------
    >>> import gssl, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "m.gssl"
    >>> X, A = [[1.0, 0.0], [0.0, 1.0]], [[0, 1], [1, 0]]
    >>> save(gssl.OGC(random_state=0).fit(X, ["spy", "cook"], adjacency=A), file)
    >>> load(file).predict(X, adjacency=A).tolist() == load(file).transduction_.tolist()
    True
    """
    writer = _Writer(embedding)
    metadata = {
        "format": FORMAT,
        "version": VERSION,
        # looked up, because modules of the library do not import gssl itself
        "gssl": sys.modules["gssl"].__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "model": writer.describe(model),
        "settings": settings or {},
    }
    with whole_file(path) as part, part.open("wb", buffering=0) as file:
        _write_tensors(file, writer.tensors, {FORMAT: json.dumps(metadata, allow_nan=False)})


def load(path: str | Path) -> Any:
    """Load a model written by :func:`save`; every part is checked before use.

    Parameters
    ----------
    path : path

    Returns
    -------
    fitted estimator

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "m.gssl"
    >>> _ = file.write_bytes(b"something else")
    >>> load(file)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: ...m.gssl is not a saved model, or not a whole one: save it again with gssl.save.
    """
    metadata, tensors = _read_file(path)
    try:
        return _Reader(metadata.get("model"), tensors).model
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    except (RecursionError, OverflowError, MemoryError) as error:
        raise ValueError(f"{path} is damaged: its numbers or its nesting are too large.") from error


def read_settings(path: str | Path) -> dict[str, str]:
    """Return the settings that :func:`save` stored with a model.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict of str

    Examples
    --------
    >>> import gssl, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "m.gssl"
    >>> head = gssl.RidgeHead().fit([[1.0], [-1.0]], ["a", "b"])
    >>> save(head, file, settings={"normalize": "l1"})
    >>> read_settings(file)
    {'normalize': 'l1'}
    """
    settings = _read_file(path, arrays=False)[0].get("settings", {})
    if not isinstance(settings, dict):
        raise ValueError(f"{path} is damaged: its settings are not named texts.")
    return {str(key): str(value) for key, value in settings.items()}


def _read_file(path: str | Path, arrays: bool = True) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a file, or only its description; raise unless it is a model in the current format."""
    (file,) = find_files(Path(path))
    text, tensors = "{}", {}
    try:
        with safe_open(file, framework="np") as stored:
            header = stored.metadata() or {}
            if FORMAT in header:
                text = header[FORMAT]
                keys = stored.keys() if arrays else ()
                tensors = {key: stored.get_tensor(key) for key in keys}
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise ValueError(
            f"{file} is not a saved model, or not a whole one: save it again with gssl.save."
        ) from error
    try:
        metadata = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: its description is not JSON; save it again.") from error
    version = metadata.get("version") if isinstance(metadata, dict) else None
    if not isinstance(version, int) or metadata.get("format") != FORMAT:
        raise ValueError(f"{path} is a safetensors file but not a gssl model: save one with gssl.save.")
    if version != VERSION:
        advice = "update gssl" if version > VERSION else "fit the model again and save it"
        raise ValueError(
            f"{path} is a model of format {version}, written by gssl {metadata.get('gssl')}, and this "
            f"version reads format {VERSION}: {advice}."
        )
    return metadata, tensors


def _write_tensors(file: Any, tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    """Write a safetensors file: the length of the header, the header as JSON, then the arrays.

    The library's own writer copies every array, and a killed process would leave its temporary file.
    """
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    # wide types first, so that every array is aligned
    ordered = sorted(tensors.items(), key=lambda named: -named[1].itemsize)
    for key, array in ordered:
        start, end = end, end + array.nbytes
        header[key] = {"dtype": _DTYPES[array.dtype.str], "shape": array.shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    write_all(file, np.frombuffer(len(text).to_bytes(8, "little") + text, np.uint8))
    for _, array in ordered:
        write_all(file, array)


class _Writer:
    """Describe models for JSON and collect their arrays; an array shared by models is stored once."""

    def __init__(self, embedding: bool) -> None:
        self.embedding = embedding
        self.tensors: dict[str, np.ndarray] = {}
        # keep the array alive: Python would reuse its id
        self._keys: dict[int, tuple[str, Any]] = {}

    def describe(self, model: Any, prefix: str = "") -> dict[str, Any]:
        model = model._as_fitted() if isinstance(model, FittedParameters) else model
        description = _write_unfitted(model)
        name, known = type(model).__name__, fitted_attributes(type(model))
        for attribute in known:
            # a cached property is computed now, if the model has what it needs, and stored with the rest
            cached = isinstance(getattr(type(model), attribute.name, None), cached_property)
            if attribute.kind != "transient" and cached:
                getattr(model, attribute.name, None)
        held = {key: value for key, value in vars(model).items() if not key.startswith("_sklearn")}
        strange = set(held) - set(description["params"]) - {a.name for a in known} - {"classes_"}
        if strange:
            raise ValueError(
                f"this {name} has the attribute {min(strange)!r}, which gssl.save does not know: add it to "
                "FITTED in gssl/io/models.py."
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
            a.name: self._write(a, held, f"{prefix}{a.name}")
            for a in known
            if a.name in held and a.kind != "transient" and (self.embedding or a.name != "embedding_")
        }
        return description

    def _write(self, attribute: Fitted, held: dict[str, Any], key: str) -> Any:
        value = held[attribute.name]
        match attribute.kind:
            case "model":
                return self.describe(value, f"{key}.")
            case "whole" | "exponent" | "flag" | "text":
                return _PLAIN_TYPES[attribute.kind](value)
            case "texts":
                return [str(text) for text in value]
            case "table":
                return value.to_records()
            case "class":
                return self._store(np.searchsorted(held["classes_"], value).astype(np.int64), key)
            case "matrix" if value is None:
                return None
            case "matrix" if issparse(value):
                matrix, parts = csr_array(value), ("data", "indices", "indptr")
                stored = {part: self._store(getattr(matrix, part), f"{key}.{part}") for part in parts}
                return {**stored, "shape": [int(size) for size in matrix.shape]}
        return self._store(value, key)

    def _store(self, array: Any, key: str) -> str:
        if id(array) not in self._keys:
            # files are in C order and little-endian
            little = array.dtype.newbyteorder("<")
            self.tensors[key] = np.ascontiguousarray(array, dtype=little)
            self._keys[id(array)] = key, array
        return self._keys[id(array)][0]


def _write_unfitted(model: Any) -> dict[str, Any]:
    name, known = type(model).__name__, _storable()
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


class _Reader:
    """Rebuild a model from an unchecked description and arrays."""

    def __init__(self, description: Any, tensors: dict[str, np.ndarray]) -> None:
        self.tensors = tensors
        self.sizes = {"2": 2}
        self.model = model = _read_model(description)
        name, fitted = type(model).__name__, description.get("fitted")
        if not isinstance(fitted, dict):
            raise ValueError(f"it does not say what its {name} learned.")
        if hasattr(model, "predict"):
            model.classes_ = _read_classes(description.get("classes"))
            self.sizes["c"] = len(model.classes_)
        known = {attribute.name: attribute for attribute in fitted_attributes(type(model))}
        for key in fitted.keys() - known.keys():
            raise ValueError(f"a {name} has no {key!r}.")
        for key, attribute in known.items():
            if key in fitted:
                setattr(model, key, self._read(attribute, fitted[key]))
            elif not attribute.optional:
                raise ValueError(f"{key!r} of its {name} is missing.")
        # last, because uses_features may depend on the fitted attributes
        if getattr(model, "uses_features", True) and not hasattr(model, "n_features_in_"):
            raise ValueError(f"'n_features_in_' of its {name} is missing.")
        check_parts(model)
        if isinstance(model, FittedParameters):
            model._keep_parameters()

    def _read(self, attribute: Fitted, value: Any) -> Any:
        match attribute.kind:
            case "model":
                return _Reader(value, self.tensors).model
            case "transient":
                raise ValueError(f"{attribute.name!r} is nothing that a saved model holds.")
            case "table":
                return _read_table(attribute.name, value)
            case "whole" | "exponent" | "flag" | "text":
                return self._plain(attribute, value)
            case "texts":
                return self._texts(attribute, value)
            case "matrix":
                return self._matrix(attribute, value)
        array = self._array(attribute, {"float": "f", "bool": "b"}.get(attribute.kind, "i"), value)
        if attribute.kind not in ("code", "class"):
            return array
        low = -1 if attribute.kind == "code" else 0
        inside = not array.size or low <= array.min() <= array.max() < self.sizes["c"]
        if array.dtype != np.int64 or not inside:
            raise ValueError(f"{attribute.name!r} names classes that are not there.")
        return array if attribute.kind == "code" else self.model.classes_[array]

    def _plain(self, attribute: Fitted, value: Any) -> Any:
        fits = type(value) is _PLAIN_TYPES[attribute.kind]
        if attribute.kind in ("whole", "exponent"):
            low, high = (0, math.inf) if attribute.kind == "whole" else (-_MOST_SCALED, _MOST_SCALED)
            fits = fits and low <= value <= high
        if not fits:
            raise ValueError(f"{attribute.name!r} is {value!r}, not {_PLAIN[attribute.kind]}.")
        if attribute.name == "n_features_in_":
            self.sizes["d"] = value
        return value

    def _texts(self, attribute: Fitted, value: Any) -> np.ndarray:
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise ValueError(f"{attribute.name!r} is not a list of names.")
        self._check_shape(attribute, (len(value),))
        return np.array(value, dtype=object)

    def _array(self, attribute: Fitted, kind: str, key: Any) -> np.ndarray:
        if not isinstance(key, str) or key not in self.tensors:
            raise ValueError(f"the numbers of {attribute.name!r} are missing.")
        array = self.tensors[key]
        # no method computes in half precision
        if array.dtype.kind != kind or (kind == "f" and array.dtype.itemsize < 4):
            raise ValueError(f"{attribute.name!r} is stored as {array.dtype}, which does not fit.")
        if kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{attribute.name!r} holds NaN or infinity.")
        self._check_shape(attribute, array.shape)
        return array

    def _matrix(self, attribute: Fitted, value: Any) -> Any:
        if value is None:
            return None
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

    def _check_shape(self, attribute: Fitted, shape: tuple[int, ...]) -> None:
        if len(shape) != len(attribute.shape):
            raise ValueError(f"{attribute.name!r} has {len(shape)} dimensions, not {len(attribute.shape)}.")
        for letter, size in zip(attribute.shape, shape, strict=True):
            if size != self.sizes.setdefault(letter, size):
                raise ValueError(
                    f"{attribute.name!r} has shape {shape}, which does not fit the rest of the model."
                )


def _read_model(description: Any) -> Any:
    """Create an unfitted estimator; raise if its class or a parameter is unknown."""
    if not isinstance(description, dict) or not isinstance(description.get("params"), dict):
        raise ValueError("it does not describe a model.")
    name, known = description.get("class"), _storable()
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"it names the class {name!r}, which is no method of gssl.")
    kind = known[name]
    hints = typing.get_type_hints(kind.__init__)
    params = {}
    for key, value in description["params"].items():
        if key not in inspect.signature(kind).parameters:
            raise ValueError(f"a {name} has no parameter {key!r}.")
        params[key] = _read_param(value)
        if not _fits(value, int | None if key == "random_state" else hints.get(key, Any)):
            raise ValueError(f"the parameter {key!r} of its {name} is {value!r}.")
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


def _fits(value: Any, hint: Any) -> bool:
    if hint is float or hint is int:
        number = isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
        # NumPy takes no integers beyond 64 bits
        return number and (math.isfinite(value) if isinstance(value, float) else -(2**63) <= value < 2**63)
    if hint == int | None:
        return value is None or (_fits(value, int) and value >= 0)
    if typing.get_origin(hint) is Literal:
        return value in typing.get_args(hint)
    if isinstance(value, list):
        return all(isinstance(part, bool | int | float | str) for part in value)
    return value is None or isinstance(value, bool | int | float | str | dict)


def _read_classes(stored: Any) -> np.ndarray:
    try:
        dtype = np.dtype(stored["dtype"])
        if dtype.kind not in "Uiufb":
            raise TypeError(dtype)
        # a damaged dtype may claim texts of any length, which every class would take in memory
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


def _read_table(name: str, value: Any) -> Leaderboard:
    kinds = typing.get_type_hints(Entry)
    try:
        entries = [Entry(**row) for row in value]
        fit = all(type(getattr(e, key)) is kind for e in entries for key, kind in kinds.items())
    except TypeError:
        fit = False
    if not fit:
        raise ValueError(f"{name!r} is not a table of models.")
    return Leaderboard(entries)

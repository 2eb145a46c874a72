"""Save fitted models to one file: arrays as safetensors, the rest as JSON, no executable code."""

import json
import sys
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from safetensors import SafetensorError, safe_open
from scipy.sparse import csr_array, issparse

from gssl.files import write_all
from gssl.io.atomic import whole_file
from gssl.io.model_attributes import PLAIN_TYPES, Fitted, fitted_attributes, storable
from gssl.io.model_checks import check_steps
from gssl.io.model_data import input_bytes, is_in_files, pack_graph, pack_kinds, pack_recipe, pack_texts
from gssl.io.model_reading import Reader, read_problem
from gssl.io.problem import Problem
from gssl.io.table_reading import find_files
from gssl.methods.inputs import FittedParameters
from gssl.methods.labels import UNLABELLED
from gssl.selection import AutoClassifier, CalibratedClassifier
from gssl.wording import quoted, reason

FORMAT = "gssl-model"
VERSION = 3
# format 2 lacks the data of fit, and is read as well
_OLDEST = 2
# dtypes of stored arrays, as named by NumPy and by safetensors
_DTYPES = {"<f4": "F32", "<f8": "F64", "<i4": "I32", "<i8": "I64", "|b1": "BOOL", "|u1": "U8"}


def save(
    model: Any,
    path: str | Path,
    *,
    embedding: bool = True,
    problem: "Problem | bool" = False,
    settings: dict[str, str] | None = None,
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
    problem : Problem or bool, default=False
        Whether to store the features and the graph of fit as well, so that :func:`gssl.audit`,
        :func:`gssl.why`, :func:`gssl.suggest` and ``update_labels`` work on the loaded model. If the
        :class:`Problem` of the fit is given, also its node ids and the names of its features. An
        ``AutoClassifier`` whose coefficients would take more space than features and graph stores these in
        any case, and computes the coefficients when they are first needed.
    settings : dict of str, optional
        Texts to store with the model, such as how features were prepared: see :func:`read_settings`.

    Examples
    --------
    >>> import gssl, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "m.gssl"
    >>> X, A = [[1.0, 0.0], [0.0, 1.0]], [[0, 1], [1, 0]]
    >>> save(gssl.OGC(random_state=0).fit(X, ["spy", "cook"], adjacency=A), file, problem=True)
    >>> load(file).predict(X, adjacency=A).tolist() == load(file).transduction_.tolist()
    True
    >>> gssl.suggest(load(file)).tolist()
    []
    """
    writer = _Writer(embedding, _stores_inputs(model, problem))
    metadata = {
        "format": FORMAT,
        "version": VERSION,
        # looked up, because modules of the library do not import gssl itself
        "gssl": sys.modules["gssl"].__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "model": writer.describe(model),
        "problem": writer.describe_problem(problem, model),
        "settings": settings or {},
    }
    with whole_file(path) as part, part.open("wb", buffering=0) as file:
        _write_tensors(file, writer.tensors, {FORMAT: json.dumps(metadata, allow_nan=False)})


def _stores_inputs(model: Any, problem: "Problem | bool") -> bool:
    """Return whether to store features and graph; raise if the model does not hold those of ``problem``."""
    wanted, inputs = problem is not False, getattr(model, "_fit_inputs", None)
    if not wanted:
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
    return True


def _outgrows_inputs(model: Any) -> bool:
    """Return whether coefficients that can be computed again would take more space than the inputs."""
    if isinstance(model, CalibratedClassifier):
        return _outgrows_inputs(model.classifier_)
    recipe = isinstance(model, AutoClassifier) and hasattr(model, "_recipe")
    if not recipe or not hasattr(model, "_fit_inputs"):
        return False
    inputs = model._fit_inputs
    return bool(model._n_coefficients * inputs.X.dtype.itemsize > input_bytes(inputs))


@dataclass(frozen=True, eq=False)
class Saved:
    """What a file holds: a model, the texts stored with it, and the problem that it was fitted to, if any."""

    model: Any
    settings: dict[str, str]
    problem: Problem | None


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
    return load_all(path).model


def load_problem(path: str | Path) -> Problem | None:
    """Load the problem that :func:`save` stored with a model.

    Parameters
    ----------
    path : path

    Returns
    -------
    Problem or None
        None if the file has no node ids: save the model with ``problem=``, as ``gssl classify --save`` does.

    Examples
    --------
    >>> import gssl, tempfile
    >>> from gssl.io import from_scipy
    >>> file = Path(tempfile.mkdtemp()) / "m.gssl"
    >>> problem = from_scipy([[0, 1], [1, 0]], y=["spy", "cook"])
    >>> model = gssl.LabelPropagation().fit(None, problem.y, adjacency=problem.adjacency)
    >>> save(model, file, problem=problem)
    >>> load_problem(file)
    Problem(nodes=2, edges=1, features=no, labels=2)
    """
    return load_all(path).problem


def load_all(path: str | Path) -> Saved:
    """Load everything in a file, each part checked."""
    metadata, tensors = _read_file(path)
    try:
        model = Reader(metadata.get("model"), tensors).model
        problem = read_problem(metadata.get("problem"), tensors, model)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {reason(error)}.") from error
    except (RecursionError, OverflowError, MemoryError) as error:
        raise ValueError(f"{path} is damaged: its numbers or its nesting are too large.") from error
    return Saved(model, _settings(metadata, path), problem)


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
    return _settings(_read_file(path, arrays=False)[0], path)


def _settings(metadata: dict[str, Any], path: str | Path) -> dict[str, str]:
    settings = metadata.get("settings", {})
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
    if not _OLDEST <= version <= VERSION:
        advice = "update gssl" if version > VERSION else "fit the model again and save it"
        raise ValueError(
            f"{path} is a model of format {quoted(version)}, written by gssl {quoted(metadata.get('gssl'))}, "
            f"and this version reads format {VERSION}: {advice}."
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
    """Describe models for JSON and collect their arrays; equal arrays are stored once."""

    def __init__(self, embedding: bool, inputs: bool) -> None:
        self.embedding, self.inputs = embedding, inputs
        self.tensors: dict[str, np.ndarray] = {}
        self._keys: dict[tuple[Any, ...], str] = {}

    def describe(self, model: Any, prefix: str = "") -> dict[str, Any]:
        model = model._as_fitted() if isinstance(model, FittedParameters) else model
        description = _write_unfitted(model)
        name, known = type(model).__name__, fitted_attributes(type(model))
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
                "FITTED in gssl/io/model_attributes.py."
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

    def describe_problem(self, problem: "Problem | bool", model: Any) -> dict[str, Any] | None:
        """Describe the ids and names of a problem; its features and graph belong to the model."""
        if not isinstance(problem, Problem):
            return None
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

    def _stores(self, model: Any, attribute: Fitted) -> bool:
        """Return whether an attribute goes into the file, or can be computed from those that do."""
        if attribute.kind == "transient" or (attribute.name == "embedding_" and not self.embedding):
            return False
        if attribute.kind in ("inputs", "recipe"):
            return self.inputs
        if attribute.name == "label_distributions_" and isinstance(model, CalibratedClassifier):
            return model.__dict__.get("_priors") is not None
        return not (attribute.name.endswith("coef_") and self.inputs and _outgrows_inputs(model))

    def _write(self, attribute: Fitted, held: dict[str, Any], key: str) -> Any:
        value = held[attribute.name]
        match attribute.kind:
            case "model":
                return self.describe(value, f"{key}.")
            case "whole" | "exponent" | "flag" | "text":
                return PLAIN_TYPES[attribute.kind](value)
            case "texts":
                return [str(text) for text in value]
            case "table":
                return value.to_records()
            case "recipe":
                n_labels = int((held["_fit_codes"] != UNLABELLED).sum())
                return self._tree(pack_recipe(value, n_labels, held["_fit_inputs"].X.dtype), key)
            case "inputs":
                X = self._write(Fitted("X", "matrix"), {"X": value.X}, f"{key}.X")
                return {"X": X, "A": self._tree(pack_graph(value.A), f"{key}.A")}
            case "class":
                return self._store(np.searchsorted(held["classes_"], value).astype(np.int64), key)
            case _ if value is None and attribute.or_none:
                return None
            case "distribution":
                return self._store(value.astype(np.float32), key)
            case "matrix" if issparse(value):
                matrix, parts = csr_array(value), ("data", "indices", "indptr")
                if matrix.nnz <= np.iinfo(np.int32).max and max(matrix.shape) <= np.iinfo(np.int32).max:
                    # half of the bytes of long indices
                    narrow = (part.astype(np.int32, copy=False) for part in (matrix.indices, matrix.indptr))
                    matrix = csr_array((matrix.data, *narrow), shape=matrix.shape)
                stored = {part: self._store(getattr(matrix, part), f"{key}.{part}") for part in parts}
                return {**stored, "shape": [int(size) for size in matrix.shape]}
        return self._store(value, key)

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

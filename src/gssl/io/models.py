"""Save fitted models to one file: arrays as safetensors, the rest as JSON, no executable code."""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from safetensors import SafetensorError, safe_open

from gssl.checksums import CHECKSUMS, array_checksum, read_sealed, seal
from gssl.files import write_all
from gssl.io.atomic import whole_file
from gssl.io.model_data import is_in_files
from gssl.io.model_reading import Reader, read_problem
from gssl.io.model_writing import Writer
from gssl.io.preparation import Preparation
from gssl.io.problem import Problem, positions_of
from gssl.io.table_reading import find_file
from gssl.methods.state import current
from gssl.selection import AutoClassifier
from gssl.selection.auto_sets import AutoLabelSets
from gssl.wording import quoted, reason

FORMAT = "gssl-model"
VERSION = 4
# format 3 has no checksums, and format 2 lacks the data of fit; both are read
_OLDEST = 2
# the setting that says how features were prepared
_PREPARATION = "preparation"
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
        Texts to store with the model: see :func:`read_settings`. How the features of the problem were
        prepared is stored with them.

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
    # several labels per node belong to a model inside
    model = current(model)
    writer = Writer(getattr(model, "label_sets_", model), problem, embedding)
    metadata = {
        "format": FORMAT,
        "version": VERSION,
        # looked up, because modules of the library do not import gssl itself
        "gssl": sys.modules["gssl"].__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "model": writer.model,
        "problem": writer.problem,
        "settings": _preparation_text(problem) | (settings or {}),
        CHECKSUMS: {key: array_checksum(array) for key, array in writer.tensors.items()},
    }
    text = seal(json.dumps(metadata, allow_nan=False).encode()).decode()
    with whole_file(path) as part, part.open("wb", buffering=0) as file:
        _write_tensors(file, writer.tensors, {FORMAT: text})


def save_fit(model: Any, path: str | Path, problem: Problem) -> bool:
    """Save a model with its problem, or without it if its data stay in files; return whether they do."""
    in_files = is_in_files(model._fit_inputs)
    if in_files:
        save(model, path, settings=_preparation_text(problem))
    else:
        save(model, path, problem=problem)
    return in_files


def _preparation_text(problem: "Problem | bool") -> dict[str, str]:
    preparation = problem.preparation if isinstance(problem, Problem) else None
    return {} if preparation is None else {_PREPARATION: preparation.to_json()}


@dataclass(frozen=True, eq=False)
class Saved:
    """What a file holds: a model, the texts stored with it, and the problem that it was fitted to, if any."""

    model: Any
    settings: dict[str, str]
    problem: Problem | None
    # the file, for messages
    name: str

    @property
    def preparation(self) -> Preparation | None:
        """How the features of the fit were prepared, if the file says so."""
        kept = self.settings.get(_PREPARATION)
        return None if kept is None else Preparation.from_json(kept)

    def find_problem(self, tables: Problem) -> Problem:
        """Return the problem of the fit; raise unless the tables have its nodes, in any order, and labels.

        A model without its data has the nodes of the tables, in their order. Tables may be without labels.
        """
        codes, stored = self.model.fit_codes, self.problem
        expected = [None if answer is None else str(answer) for answer in self.model.fit_answers]
        nodes = np.arange(len(codes)) if stored is None else positions_of(tables.node_ids, stored)
        same = len(tables.node_ids) == len(codes) and bool((nodes >= 0).all())
        if same and (stored is None or tables.given.any()):
            same = [expected[k] for k in nodes] == [None if y is None else str(y) for y in tables.y]
        if not same:
            raise ValueError(
                f"{self.name} was fitted to other nodes or labels than these: give those of fit, or leave "
                "out `model`."
            )
        return tables if stored is None else stored


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
        if isinstance(model, AutoLabelSets):
            options = {name: getattr(model, name) for name in ("depth", "directed", "time_budget")}
            model = AutoClassifier(**options).around(model)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {reason(error)}.") from error
    except (RecursionError, OverflowError, MemoryError) as error:
        raise ValueError(f"{path} is damaged: its numbers or its nesting are too large.") from error
    saved = Saved(model, _settings(metadata, path), problem, str(path))
    if problem is None:
        return saved
    return replace(saved, problem=replace(problem, preparation=saved.preparation))


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
    file = find_file(Path(path))
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
        metadata = read_sealed(text.encode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: its description has been changed; save it again.") from error
    version = metadata.get("version") if isinstance(metadata, dict) else None
    if not isinstance(version, int) or metadata.get("format") != FORMAT:
        raise ValueError(f"{path} is a safetensors file but not a gssl model: save one with gssl.save.")
    if not _OLDEST <= version <= VERSION:
        advice = "update gssl" if version > VERSION else "fit the model again and save it"
        raise ValueError(
            f"{path} is a model of format {quoted(version)}, written by gssl {quoted(metadata.get('gssl'))}, "
            f"and this version reads formats {_OLDEST} to {VERSION}: {advice}."
        )
    sums = metadata.get(CHECKSUMS)
    for key, array in tensors.items() if isinstance(sums, dict) else ():
        if sums.get(key) != array_checksum(array):
            raise ValueError(f"{file} is damaged: its {quoted(key)} has been changed; save it again.")
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

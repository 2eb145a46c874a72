"""Graphs in one .npz file each, read without pickle.

The file holds ``edges`` (m × 2), ``num_nodes`` and ``labels`` (−1 unknown), and may hold ``features``
(n × d) or ``feat_data``, ``feat_indices``, ``feat_indptr`` and ``feat_shape`` (CSR), ``class_names``, and
``train_masks``, ``val_masks`` and ``test_masks`` (folds × n), which become the splits ``"fold0"``,
``"fold1"``, …. Without features, X = I.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from gssl.datasets.dataset import PARTS, Dataset, adjacency_from_edges, default_names
from gssl.io.numpy_files import csr_from_parts, read_npz
from gssl.wording import reason, shortened

_REQUIRED = ("edges", "num_nodes", "labels")
_FEATURES = ("feat_data", "feat_indices", "feat_indptr", "feat_shape")
_MASKS = tuple(f"{part}_masks" for part in PARTS)


def load_npz(path: str | Path, name: str | None = None) -> Dataset:
    """Read a graph from an .npz file; its name defaults to the stem of the path."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}; check the path.")
    arrays = read_arrays(path, {*_REQUIRED, "features", *_FEATURES, *_MASKS, "class_names"})
    with name_file(path, "correct the file"):
        return _build(arrays, name or path.stem)


def read_arrays(path: Path, names: set[str]) -> dict[str, NDArray[Any]]:
    """Read arrays of an .npz file; errors name the file."""
    with name_damaged(path):
        return read_npz(path, names)


@contextmanager
def name_damaged(path: Path) -> Iterator[None]:
    """Name the file in the error if it cannot be read."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path} is not a readable .npz file of plain arrays ({reason(error)}).") from error


@contextmanager
def name_file(path: Path, advice: str) -> Iterator[None]:
    """Add the path before the message of a ValueError, and advice after it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {reason(error)}; {advice}.") from error


def _build(arrays: dict[str, NDArray[Any]], name: str) -> Dataset:
    for key in _REQUIRED:
        if key not in arrays:
            raise ValueError(f"the array {key!r} is missing")
    labels = arrays["labels"]
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise ValueError(f"labels are {labels.dtype} of shape {labels.shape}, not one whole number per node")
    stated = arrays["num_nodes"]
    if stated.size != 1 or stated.item() != labels.size:
        shown = shortened(stated.item()) if stated.size == 1 else f"a list of {stated.size}"
        raise ValueError(f"num_nodes is {shown} but there are {labels.size} labels")
    n_nodes = labels.size
    return Dataset(
        name=name,
        adjacency=adjacency_from_edges(arrays["edges"], n_nodes),
        features=_features(arrays, n_nodes),
        labels=labels,
        node_ids=default_names(n_nodes),
        class_names=_class_names(arrays),
        splits=_folds(arrays, n_nodes),
    )


def _features(arrays: dict[str, NDArray[Any]], n_nodes: int) -> csr_array | NDArray[Any]:
    missing = [key for key in _FEATURES if key not in arrays]
    if "features" in arrays:
        if len(missing) < len(_FEATURES):
            raise ValueError("there are dense features and sparse ones (feat_…): keep one of them")
        return _dense_features(arrays["features"], n_nodes)
    if len(missing) == len(_FEATURES):
        return eye_array(n_nodes, format="csr")
    if missing:
        raise ValueError(f"the array {missing[0]!r} is missing, but other feature arrays exist")
    shape = arrays["feat_shape"]
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape[0] != n_nodes or shape[1] < 0:
        raise ValueError(f"feat_shape is {shape.ravel()[:4].tolist()} but there are {n_nodes} nodes")
    data, indices, indptr = (arrays[key] for key in _FEATURES[:3])
    return csr_from_parts(data, indices, indptr, (n_nodes, int(shape[1])))


def _dense_features(features: NDArray[Any], n_nodes: int) -> NDArray[Any]:
    if features.ndim != 2 or features.dtype.kind not in "biuf" or len(features) != n_nodes:
        raise ValueError(
            f"features are {features.dtype} of shape {features.shape}, not a row of numbers for each of "
            f"{n_nodes} nodes"
        )
    return features.astype(np.result_type(features.dtype, np.float32), copy=False)


def number_classes(labels: NDArray[Any]) -> tuple[str, ...]:
    """Return the names "0", "1", … up to the highest label."""
    # more classes than nodes means damaged labels, and naming them all could exhaust memory
    return tuple(default_names(min(int(labels.max(initial=-1)) + 1, labels.size)).tolist())


def _class_names(arrays: dict[str, NDArray[Any]]) -> tuple[str, ...]:
    if "class_names" not in arrays:
        return number_classes(arrays["labels"])
    names = arrays["class_names"]
    if names.ndim != 1 or names.dtype.kind != "U":
        raise ValueError(f"class_names are {names.dtype} of shape {names.shape}, not a list of names")
    return tuple(names.tolist())


def _folds(arrays: dict[str, NDArray[Any]], n_nodes: int) -> dict[str, dict[str, NDArray[np.int64]]]:
    masks = {part: arrays[f"{part}_masks"] for part in PARTS if f"{part}_masks" in arrays}
    n_folds = {len(mask) if mask.ndim else 0 for mask in masks.values()}
    for part, mask in masks.items():
        if mask.dtype != np.bool_ or mask.ndim != 2 or mask.shape[1] != n_nodes or len(n_folds) != 1:
            raise ValueError(
                f"{part}_masks are {mask.dtype} of shape {mask.shape}, not true or false "
                f"for each of {n_nodes} nodes with a row per fold"
            )
    return {
        f"fold{fold}": {part: np.flatnonzero(mask[fold]) for part, mask in masks.items()}
        # a graph without nodes may claim any number of empty folds
        for fold in range(max(n_folds, default=0) if n_nodes else 0)
    }

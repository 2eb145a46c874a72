"""Fitted models in one file: numbers as safetensors, the rest as JSON, nothing that could run."""

import json
import sys
from pathlib import Path
from typing import Any

from gssl.io.atomic import whole_file
from gssl.io.paths import find_files

FORMAT = "gssl-model"
VERSION = 2


def save(
    model: Any, path: str | Path, *, embedding: bool = True, settings: dict[str, str] | None = None
) -> None:
    """Save a fitted model, whole or not at all.

    Parameters
    ----------
    model : fitted estimator of :mod:`gssl.methods`
        Its parameters must be numbers, text, None or such estimators: a random generator cannot be saved, and
        neither can a head from another library.
    path : path
        By custom ending in ``.gssl``.
    embedding : bool, default=True
        Whether to keep the ``embedding_`` of an embedder; that of a classifier is kept only where walks
        made it, for it cannot be computed again.

    settings : dict of str, optional
        How the features were made, or whatever else must not be forgotten: see :func:`read_settings`.

    Examples
    --------
    >>> import gssl, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "m.gssl"
    >>> X, A = [[1.0, 0.0], [0.0, 1.0]], [[0, 1], [1, 0]]
    >>> save(gssl.OGC(random_state=0).fit(X, ["spy", "cook"], adjacency=A), file)
    >>> load(file).predict(X, adjacency=A).tolist() == load(file).transduction_.tolist()
    True
    """
    import numpy
    import safetensors.numpy
    import sklearn

    from gssl.io.model_writing import describe

    description, tensors = describe(model, embedding=embedding)
    metadata = {
        "format": FORMAT,
        "version": VERSION,
        # the package itself lies below every room, so it is not imported here
        "gssl": sys.modules["gssl"].__version__,
        "numpy": numpy.__version__,
        "scikit-learn": sklearn.__version__,
        "model": description,
        "settings": settings or {},
    }
    with whole_file(path) as part:
        safetensors.numpy.save_file(tensors, part, metadata={FORMAT: json.dumps(metadata, allow_nan=False)})


def load(path: str | Path) -> Any:
    """Load a model that :func:`save` wrote; every part is checked before it is used.

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
    from gssl.io.model_checks import outdated
    from gssl.io.model_reading import rebuild

    metadata, tensors = _checked(path)
    old = outdated(metadata.get("model"), metadata["version"])
    if old is not None:
        raise ValueError(
            f"{path} holds {'an' if old[0] == 'A' else 'a'} {old} in format {metadata['version']}, written "
            f"by gssl {metadata.get('gssl')}, which this version would read otherwise than it was meant: fit "
            "the model again and save it."
        )
    try:
        return rebuild(metadata.get("model"), tensors)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    except (RecursionError, OverflowError, MemoryError) as error:
        raise ValueError(f"{path} is damaged: its numbers or its nesting have no bounds.") from error


def read_settings(path: str | Path) -> dict[str, str]:
    """Give the settings that :func:`save` was told beside the model.

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
    settings = _checked(path)[0].get("settings", {})
    if not isinstance(settings, dict):
        raise ValueError(f"{path} is damaged: its settings are not named texts.")
    return {str(key): str(value) for key, value in settings.items()}


def _checked(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a file and refuse it unless it says that it is a model of a format we know."""
    (file,) = find_files(Path(path))
    metadata, tensors = _read(file)
    if metadata.get("format") != FORMAT or not isinstance(metadata.get("version"), int):
        raise ValueError(f"{path} is a safetensors file but not a gssl model: save one with gssl.save.")
    if metadata["version"] > VERSION:
        raise ValueError(
            f"{path} is a model of format {metadata['version']}, written by gssl {metadata.get('gssl')}, and "
            f"this version reads up to {VERSION}: update gssl."
        )
    return metadata, tensors


def _read(file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="np") as stored:
            header = stored.metadata() or {}
            text = header.get(FORMAT)
            if text is None:
                return {}, {}
            # the numbers only of a file that says it is a model
            tensors = {key: stored.get_tensor(key) for key in stored.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise ValueError(
            f"{file} is not a saved model, or not a whole one: save it again with gssl.save."
        ) from error
    try:
        metadata = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: its description is not JSON; save it again.") from error
    return metadata if isinstance(metadata, dict) else {}, tensors

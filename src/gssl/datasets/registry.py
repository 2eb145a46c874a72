"""Datasets by name."""

from difflib import get_close_matches
from pathlib import Path

from gssl.datasets.dataset import Dataset
from gssl.datasets.embedded import load_cora, load_digits_graph, load_karate
from gssl.datasets.location import find_or_fetch, search_folders
from gssl.datasets.npz_graphs import load_npz
from gssl.datasets.planetoid import load_planetoid

_EMBEDDED = {"cora": load_cora, "digits": load_digits_graph, "karate": load_karate}
_PLANETOID = ("planetoid/cora", "planetoid/citeseer", "planetoid/pubmed")


def load(name: str | Path, *, data_dir: str | Path | None = None, download: bool = False) -> Dataset:
    """Load a dataset by name, or a graph from a path that ends in .npz.

    Parameters
    ----------
    name : str or path
        ``"cora"``, ``"digits"`` and ``"karate"`` come with the package. ``"planetoid/cora"``,
        ``"planetoid/citeseer"``, ``"planetoid/pubmed"`` and ``"graphs/<name>"`` are files, searched for in
        ``GSSL_DATA_DIR``, ``../shared/data`` and the user's cache.
    data_dir : path, optional
        Search this folder only.
    download : bool
        Download Planetoid files that are not found; otherwise the network is never used.

    Examples
    --------
    >>> load("karate").n_nodes
    34
    """
    text = str(name)
    if text.endswith(".npz"):
        return load_npz(Path(text).expanduser())
    folder, _, graph = text.partition("/")
    if folder == "graphs" and graph and Path(graph).name == graph:
        return load_npz(find_or_fetch(f"{text}.npz", data_dir, download), name=text)
    if text in _EMBEDDED:
        return _EMBEDDED[text]()
    if text in _PLANETOID:
        return load_planetoid(graph, data_dir=data_dir, download=download)
    names = list_datasets(data_dir=data_dir)
    close = get_close_matches(text, names, n=1)
    suggestion = f" (did you mean {close[0]!r}?)" if close else ""
    raise ValueError(
        f"There is no dataset {text!r}{suggestion}; there are {', '.join(names)}, and paths ending in .npz."
    )


def list_datasets(*, data_dir: str | Path | None = None) -> tuple[str, ...]:
    """Return the names that :func:`load` accepts; those under ``graphs/`` are files in the search folders.

    Examples
    --------
    >>> list_datasets()[:4]
    ('cora', 'digits', 'karate', 'planetoid/cora')
    """
    graphs = {
        f"graphs/{file.stem}" for folder in search_folders(data_dir) for file in folder.glob("graphs/*.npz")
    }
    return (*_EMBEDDED, *_PLANETOID, *sorted(graphs))

"""Datasets by name."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

from gssl.datasets.cora import load_cora
from gssl.datasets.dataset import Dataset
from gssl.datasets.digits import load_digits_graph
from gssl.datasets.download import find_or_fetch
from gssl.datasets.karate import load_karate
from gssl.datasets.location import search_places
from gssl.datasets.npz_graphs import load_npz
from gssl.datasets.planetoid import load_planetoid
from gssl.datasets.reddit import load_reddit, read_reddit, sibling_links
from gssl.datasets.synthetic_reddit import make_synthetic_reddit


def _planetoid(name: str, data_dir: str | Path | None, download: bool) -> Dataset:
    return load_planetoid(name.removeprefix("planetoid/"), data_dir=data_dir, download=download)


def _graph(name: str, data_dir: str | Path | None, download: bool) -> Dataset:
    return load_npz(find_or_fetch(f"{name}.npz", data_dir, download), name=name)


_LOADERS: dict[str, Callable[[str, str | Path | None, bool], Dataset]] = {
    "cora": lambda *_: load_cora(),
    "digits": lambda *_: load_digits_graph(),
    "karate": lambda *_: load_karate(),
    "planetoid/cora": _planetoid,
    "planetoid/citeseer": _planetoid,
    "planetoid/pubmed": _planetoid,
    "reddit": lambda name, data_dir, _: load_reddit(name, data_dir=data_dir),
    "reddit-dgl": lambda name, data_dir, _: load_reddit(name, data_dir=data_dir),
    "synthetic/reddit": lambda *_: make_synthetic_reddit(),
}


def load(name: str | Path, *, data_dir: str | Path | None = None, download: bool = False) -> Dataset:
    """Load a dataset by name, or a graph from a path that ends in .npz.

    Parameters
    ----------
    name : str or path
        ``"cora"``, ``"digits"`` and ``"karate"`` come with the package; ``"planetoid/cora"``,
        ``"planetoid/citeseer"``, ``"planetoid/pubmed"`` and ``"graphs/<name>"`` are files, looked for in
        ``GSSL_DATA_DIR``, ``../shared/data`` and the user's cache, and so are ``"reddit"`` and
        ``"reddit-dgl"`` (two file forms, see ``gssl.datasets.reddit``). ``"synthetic/reddit"`` is drawn, a
        tenth of Reddit's size. A path to ``reddit.npz`` or ``reddit_data.npz`` needs the file of links
        beside it.
    data_dir : path, optional
        Look in this folder only.
    download : bool
        Fetch Planetoid files that are nowhere to be found; otherwise the network is never used.

    Examples
    --------
    >>> load("karate").n_nodes
    34
    """
    text = str(name)
    if text.endswith(".npz"):
        path = Path(text).expanduser()
        links = sibling_links(path)
        return load_npz(path) if links is None else read_reddit(path, links)
    folder, _, graph = text.partition("/")
    if folder == "graphs" and graph and Path(graph).name == graph:
        return _graph(text, data_dir, download)
    if text in _LOADERS:
        return _LOADERS[text](text, data_dir, download)
    names = list_datasets(data_dir=data_dir)
    close = get_close_matches(text, names, n=1)
    suggestion = f" (did you mean {close[0]!r}?)" if close else ""
    raise ValueError(
        f"There is no dataset {text!r}{suggestion}; there are {', '.join(names)}, and paths ending in .npz."
    )


def list_datasets(*, data_dir: str | Path | None = None) -> tuple[str, ...]:
    """Names that :func:`load` knows; those under ``graphs/`` are the files found in the places searched.

    Examples
    --------
    >>> list_datasets()[:4]
    ('cora', 'digits', 'karate', 'planetoid/cora')
    """
    found = {
        f"graphs/{file.stem}" for place in search_places(data_dir) for file in place.glob("graphs/*.npz")
    }
    return (*_LOADERS, *sorted(found))

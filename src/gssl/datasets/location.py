"""Where dataset files are looked for."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """Folder for downloaded files: ``GSSL_CACHE_DIR``, or ``gssl`` in the user's cache folder.

    Examples
    --------
    >>> cache_dir().is_absolute()
    True
    """
    chosen = os.environ.get("GSSL_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache").absolute() / "gssl"


def search_places(data_dir: str | Path | None = None) -> list[Path]:
    """Folders that are searched, first to last; a given ``data_dir`` is the only one.

    Examples
    --------
    >>> [place.name for place in search_places("mine")]
    ['mine']
    """
    # whoever names a folder means that folder: other data must not stand in for it silently
    if data_dir is not None:
        return [Path(data_dir).expanduser()]
    places = [cache_dir()]
    shared = Path("../shared/data")
    if shared.is_dir():
        places.insert(0, shared.resolve())
    named = os.environ.get("GSSL_DATA_DIR")
    if named:
        places.insert(0, Path(named).expanduser())
    return places


def find_file(relative: str, data_dir: str | Path | None = None) -> Path:
    """First file of that name in the places searched.

    Parameters
    ----------
    relative : str
        Such as ``"graphs/actor.npz"``.
    data_dir : path, optional
        The one folder to search.

    Raises
    ------
    FileNotFoundError
        Naming every folder searched.

    Examples
    --------
    >>> find_file("graphs/none.npz", data_dir="nowhere")
    Traceback (most recent call last):
    FileNotFoundError: graphs/none.npz is not in nowhere; put it there, or name its folder with data_dir= or
    GSSL_DATA_DIR (it has no public address to download it from).
    """
    places = search_places(data_dir)
    for place in places:
        if (place / relative).is_file():
            return place / relative
    looked = ", ".join(str(place) for place in places)
    public = relative.startswith("planetoid/")
    download = ", or pass download=True" if public else " (it has no public address to download it from)"
    raise FileNotFoundError(
        f"{relative} is not in {looked}; put it there, or name its folder with data_dir= "
        f"or GSSL_DATA_DIR{download}."
    )

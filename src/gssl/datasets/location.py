"""Dataset files: search folders, and downloads checked against a known SHA-256."""

import os
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType

PLANETOID_URL = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/"


def cache_dir() -> Path:
    """Return the folder for downloads: ``GSSL_CACHE_DIR``, or ``gssl`` in the user's cache folder."""
    chosen = os.environ.get("GSSL_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache").absolute() / "gssl"


def search_folders(data_dir: str | Path | None = None) -> list[Path]:
    """Return the folders to search, in order; only ``data_dir`` if it is given."""
    # no fallback: other data must not silently replace those of a given folder
    if data_dir is not None:
        return [Path(data_dir).expanduser()]
    folders = [cache_dir()]
    shared = Path("../shared/data")
    if shared.is_dir():
        folders.insert(0, shared.resolve())
    named = os.environ.get("GSSL_DATA_DIR")
    if named:
        folders.insert(0, Path(named).expanduser())
    return folders


def find_file(relative: str, data_dir: str | Path | None = None) -> Path:
    """Return the first match of a relative path, such as ``"graphs/actor.npz"``, in the search folders."""
    folders = search_folders(data_dir)
    for folder in folders:
        if (folder / relative).is_file():
            return folder / relative
    searched = ", ".join(str(folder) for folder in folders)
    public = relative.startswith("planetoid/")
    download = ", or pass download=True" if public else " (it has no public address to download it from)"
    raise FileNotFoundError(
        f"{relative} is not in {searched}; put it there, or name its folder with data_dir= "
        f"or GSSL_DATA_DIR{download}."
    )


def find_or_fetch(relative: str, data_dir: str | Path | None = None, download: bool = False) -> Path:
    """Return the path of a dataset file; download it if it is not found and the caller allows it."""
    try:
        return find_file(relative, data_dir)
    except FileNotFoundError:
        if not download:
            raise
    return fetch(relative)


def fetch(relative: str, base_url: str = PLANETOID_URL) -> Path:
    """Download a dataset file whose address and hash are known."""
    name = relative.removeprefix("planetoid/")
    sha256 = known_hashes().get(name)
    if sha256 is None:
        raise FileNotFoundError(
            f"{relative} has no public address to download it from; put the file in a folder "
            "and name that with data_dir= or GSSL_DATA_DIR."
        )
    return retrieve(base_url + name, sha256, relative)


def retrieve(url: str, sha256: str, relative: str) -> Path:
    """Download a file unless it is cached; keep it only if its hash is right."""
    if len(sha256) != 64:
        raise ValueError(f"{relative} has no known SHA-256, so it is not downloaded.")
    try:
        import pooch
    except ImportError as error:
        raise ImportError("Downloads need pooch; run `pip install gssl[datasets]`.") from error
    # pooch would announce each file on stderr
    pooch.get_logger().setLevel("WARNING")
    target = cache_dir() / relative
    try:
        pooch.retrieve(
            url,
            known_hash=f"sha256:{sha256}",
            fname=target.name,
            path=target.parent,
            downloader=pooch.HTTPDownloader(timeout=30),
        )
    except ValueError as error:
        raise ValueError(
            f"{url} does not have the expected SHA-256 {sha256}, so it was not kept; "
            "try again, or get the file elsewhere and name its folder with data_dir=."
        ) from error
    except OSError as error:
        raise ConnectionError(
            f"{url} could not be downloaded to {target.parent} ({type(error).__name__}); check the network, "
            "or get the file elsewhere and name its folder with data_dir=."
        ) from error
    return target


@cache
def known_hashes() -> Mapping[str, str]:
    """Return the SHA-256 of the published Planetoid files by name."""
    table = resources.files("gssl.datasets").joinpath("data", "planetoid.sha256").read_text()
    return MappingProxyType({name: sha256 for sha256, name in map(str.split, table.splitlines())})

"""Downloads into the user's cache, each checked against a known SHA-256."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from gssl.datasets.location import cache_dir, find_file

PLANETOID_URL = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/"


def retrieve(url: str, sha256: str, relative: str) -> Path:
    """Download one file into the cache, whole and with the right hash, or not at all.

    A file that is in the cache already, with that hash, is not downloaded again.

    Parameters
    ----------
    url : str
    sha256 : str
        64 hexadecimal digits; there is no download without them.
    relative : str
        Its place under :func:`gssl.datasets.location.cache_dir`.

    Examples
    --------
    >>> retrieve("https://example.org/x", sha256="", relative="x")
    Traceback (most recent call last):
    ValueError: x has no SHA-256 to be checked against, so it is not downloaded.
    """
    if len(sha256) != 64:
        raise ValueError(f"{relative} has no SHA-256 to be checked against, so it is not downloaded.")
    try:
        import pooch
    except ImportError as error:
        raise ImportError("Downloads need pooch; run `pip install gssl[datasets]`.") from error
    # pooch announces each file on stderr, which belongs to the caller
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


def fetch(relative: str, base_url: str = PLANETOID_URL) -> Path:
    """Download a dataset file whose address and hash are known.

    Examples
    --------
    >>> fetch("graphs/actor.npz")
    Traceback (most recent call last):
    FileNotFoundError: graphs/actor.npz has no public address to download it from; put the file in a folder
    and name that with data_dir= or GSSL_DATA_DIR.
    """
    sha256 = _known_hashes().get(relative)
    if sha256 is None:
        raise FileNotFoundError(
            f"{relative} has no public address to download it from; put the file in a folder "
            "and name that with data_dir= or GSSL_DATA_DIR."
        )
    return retrieve(base_url + relative.removeprefix("planetoid/"), sha256, relative)


def find_or_fetch(relative: str, data_dir: str | Path | None = None, download: bool = False) -> Path:
    """Path of a dataset file, downloaded only if it is nowhere and the caller allows it.

    Examples
    --------
    >>> find_or_fetch("graphs/none.npz", data_dir="nowhere")
    Traceback (most recent call last):
    FileNotFoundError: graphs/none.npz is not in nowhere; put it there, or name its folder with data_dir= or
    GSSL_DATA_DIR (it has no public address to download it from).
    """
    try:
        return find_file(relative, data_dir)
    except FileNotFoundError:
        if not download:
            raise
    return fetch(relative)


@cache
def _known_hashes() -> dict[str, str]:
    table = resources.files("gssl.datasets").joinpath("data", "planetoid.sha256").read_text()
    return {f"planetoid/{name}": sha256 for sha256, name in map(str.split, table.splitlines())}

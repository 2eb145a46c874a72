from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from gssl.datasets import download, load

CONTENT = b"2692\n2532\n"


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GSSL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "cache"


def serve(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "index.txt").write_bytes(CONTENT)
    yield from serve(tmp_path / "served")


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_right_hash_lands_in_the_cache(cache: Path, address: str, capfd: pytest.CaptureFixture[str]):
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    path = download.retrieve(address + "index.txt", sha256, "planetoid/index.txt")
    assert path == cache / "planetoid/index.txt"
    assert path.read_bytes() == CONTENT
    assert files(cache) == [path]
    assert capfd.readouterr() == ("", "")
    # a second call is served from the cache, whatever the address
    assert download.retrieve("http://127.0.0.1:9/none", sha256, "planetoid/index.txt") == path


def test_wrong_hash_leaves_nothing(cache: Path, address: str):
    with pytest.raises(ValueError, match=r"index\.txt does not have the expected SHA-256 0000.*not kept"):
        download.retrieve(address + "index.txt", "0" * 64, "planetoid/index.txt")
    assert files(cache) == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/index.txt", "absent.txt"])
def test_no_network_or_no_file_is_one_sentence(cache: Path, address: str, url: str):
    with pytest.raises(ConnectionError, match=r"could not be downloaded .*; check the network, or get"):
        download.retrieve(url if ":" in url else address + url, "0" * 64, "planetoid/index.txt")
    assert files(cache) == []


def test_missing_pooch_names_the_extra(cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install gssl\[datasets\]"):
        download.fetch("planetoid/ind.cora.x")


def test_the_network_is_used_only_when_allowed(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    def fetch(relative: str) -> Path:
        asked.append(relative)
        raise ConnectionError(relative)

    monkeypatch.setattr(download, "fetch", fetch)
    with pytest.raises(FileNotFoundError):
        load("planetoid/cora", data_dir=tmp_path)
    assert asked == []
    with pytest.raises(ConnectionError):
        load("planetoid/cora", data_dir=tmp_path, download=True)
    assert asked == ["planetoid/ind.cora.allx"]


def test_graphs_without_an_address_say_so(cache: Path, tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"graphs/actor\.npz has no public address"):
        load("graphs/actor", data_dir=tmp_path, download=True)


def test_known_hashes_are_those_of_the_real_files(data_dir: Path):
    real = sorted((data_dir / "planetoid").glob("ind.*"))
    assert len(real) == 24
    for path in real:
        known = download._known_hashes()[f"planetoid/{path.name}"]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == known


def test_a_whole_dataset_by_download(
    cache: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    for address in serve(data_dir / "planetoid"):
        monkeypatch.setattr(download, "fetch", partial(download.fetch, base_url=address))
        data = load("planetoid/cora", data_dir=tmp_path / "empty", download=True)
    assert data.n_edges == 5278
    assert len(files(cache)) == 7

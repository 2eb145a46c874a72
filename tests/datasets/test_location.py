import hashlib
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from gssl.datasets import load, location

CONTENT = b"2692\n2532\n"


def put(folder: Path, label: int) -> None:
    (folder / "graphs").mkdir(parents=True)
    np.savez(folder / "graphs" / "pair.npz", edges=[[0, 1]], num_nodes=2, labels=[0, label])


def test_places_are_searched_in_order(away: Path, monkeypatch: pytest.MonkeyPatch):
    put(away / "cache", 1)
    assert location.find_file("graphs/pair.npz") == away / "cache/graphs/pair.npz"
    put(away / "shared/data", 1)
    assert location.find_file("graphs/pair.npz") == away / "shared/data/graphs/pair.npz"
    put(away / "named", 1)
    monkeypatch.setenv("GSSL_DATA_DIR", str(away / "named"))
    assert location.find_file("graphs/pair.npz") == away / "named/graphs/pair.npz"
    put(away / "given", -1)
    assert location.find_file("graphs/pair.npz", away / "given") == away / "given/graphs/pair.npz"
    assert load("graphs/pair", data_dir=away / "given").labels.tolist() == [0, -1]


def test_not_found_says_where_and_what_to_do(away: Path, monkeypatch: pytest.MonkeyPatch):
    put(away / "cache", 1)
    with pytest.raises(FileNotFoundError, match=r"graphs/pair\.npz is not in elsewhere;"):
        load("graphs/pair", data_dir="elsewhere")
    monkeypatch.setenv("GSSL_DATA_DIR", "/no/such")
    with pytest.raises(FileNotFoundError) as error:
        load("planetoid/cora")
    assert str(error.value) == (
        f"planetoid/ind.cora.allx is not in /no/such, {away}/cache; "
        "put it there, or name its folder with data_dir= or GSSL_DATA_DIR, or pass download=True."
    )
    with pytest.raises(FileNotFoundError, match=r"graphs/actor\.npz is not in .* \(it has no public address"):
        load("graphs/actor")
    with pytest.raises(FileNotFoundError, match=r"graphs/actor\.npz has no public address"):
        load("graphs/actor", data_dir=away, download=True)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install gssl\[datasets\]"):
        load("planetoid/cora", data_dir=away, download=True)


def test_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("GSSL_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert location.cache_dir() == Path("/caches/gssl")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert location.cache_dir() == Path.home() / ".cache" / "gssl"
    monkeypatch.setenv("GSSL_CACHE_DIR", "/mine")
    assert location.search_folders()[-1] == Path("/mine")


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
    path = location.retrieve(address + "index.txt", sha256, "planetoid/index.txt")
    assert path == cache / "planetoid/index.txt"
    assert path.read_bytes() == CONTENT
    assert files(cache) == [path]
    assert capfd.readouterr() == ("", "")
    # a second call uses the cache, whatever the address
    assert location.retrieve("http://127.0.0.1:9/none", sha256, "planetoid/index.txt") == path


@pytest.mark.parametrize(
    ("url", "sha256", "error", "message"),
    [
        ("http://127.0.0.1:9/index.txt", "0" * 64, ConnectionError, "could not be downloaded .*; check"),
        ("absent.txt", "0" * 64, ConnectionError, "could not be downloaded .*; check the network, or get"),
        ("index.txt", "0" * 64, ValueError, r"index\.txt does not have the expected SHA-256 0000.*not kept"),
        ("index.txt", "", ValueError, r"index\.txt has no known SHA-256, so it is not downloaded"),
    ],
)
def test_a_failed_download_is_one_sentence_and_leaves_nothing(
    cache: Path, address: str, url: str, sha256: str, error: type[Exception], message: str
):
    with pytest.raises(error, match=message):
        location.retrieve(url if ":" in url else address + url, sha256, "planetoid/index.txt")
    assert files(cache) == []


def test_known_hashes_are_those_of_the_real_files(data_dir: Path):
    real = sorted((data_dir / "planetoid").glob("ind.*"))
    assert len(real) == 24
    for path in real:
        known = location.known_hashes()[path.name]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == known


def test_a_whole_dataset_by_download(
    cache: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    for address in serve(data_dir / "planetoid"):
        monkeypatch.setattr(location, "fetch", partial(location.fetch, base_url=address))
        data = load("planetoid/cora", data_dir=tmp_path / "empty", download=True)
    assert data.n_edges == 5278
    assert len(files(cache)) == 7

"""Malicious files: calls in pickles, false sizes, decompression bombs, and paths to other places.

Each is refused with one sentence before it does harm: nothing is called or written, and memory is limited
by the size of the file.
"""

from __future__ import annotations

import gzip
import os
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import gssl
from gssl.datasets import load
from gssl.datasets.npz_graphs import load_npz
from gssl.datasets.restricted_pickle import read_pickle
from gssl.io import open_table, read_edges, read_features, write_columns
from gssl.io.models import FORMAT, VERSION
from gssl.io.numpy_files import read_npz
from reproduction.reddit_graphs import read_reddit


def npy(shape: str, dtype: str = "<f8", content: bytes = b"") -> bytes:
    """Return an .npy file with an arbitrary header."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


class Touch:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.mark}",)


def test_a_pickle_that_calls_the_shell_does_nothing_wherever_it_is_put(
    tmp_path: Path, assert_read_or_refused: Any
):
    mark = tmp_path / "mark"
    attack = pickle.dumps(Touch(mark), protocol=2)
    pickle.loads(attack)  # noqa: S301 - that it would do harm is the point
    assert mark.exists()
    mark.unlink()
    evil = np.array([Touch(mark)], dtype=object)
    np.save(tmp_path / "e.npy", evil, allow_pickle=True)
    np.savez(tmp_path / "e.npz", ids=evil, features=evil, edges=evil, labels=evil, num_nodes=1)
    for name in ("x.npy", "x.npz", "x.gssl", "x.csv", "x.parquet", "x.jsonl", "ind.x"):
        (tmp_path / name).write_bytes(attack)
    for name in ("e.npy", "x.npy"):
        assert_read_or_refused(lambda path: read_features(path, ids=["a"]), tmp_path / name)
    for name in ("e.npz", "x.npz"):
        assert_read_or_refused(load_npz, tmp_path / name)
        assert_read_or_refused(read_features, tmp_path / name)
    for name in ("x.csv", "x.parquet", "x.jsonl"):
        assert_read_or_refused(read_edges, tmp_path / name)
    assert_read_or_refused(gssl.load, tmp_path / "x.gssl")
    with pytest.raises(ValueError, match=r"ind\.x was not opened"):
        read_pickle(tmp_path / "ind.x")
    assert not mark.exists()


@pytest.mark.parametrize(
    "content",
    [
        # a memo of 2³² entries
        b"\x80\x02]r\xff\xff\xff\xff.",
        # a tuple of 2⁶⁰ leaves, as a key
        b"\x80\x02})" + b"q\x00h\x00\x86" * 60 + b"K\x01s.",
        # one list of a thousand items under a thousand keys
        b"\x80\x02}(K\x00](" + b"K\x01" * 1000 + b"eq\x01"
        + b"".join(b"M" + struct.pack("<H", key) + b"h\x01" for key in range(1, 1000)) + b"u.",
        # a string that claims four gigabytes in nine bytes
        b"\x80\x02B\xff\xff\xff\xff.",
        b"\x80\x02cos\nsystem",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
    ],
)  # fmt: skip
def test_pickles_that_would_fill_the_memory_or_never_end(
    tmp_path: Path, content: bytes, assert_read_or_refused: Any
):
    path = tmp_path / "ind.x"
    path.write_bytes(content)
    assert_read_or_refused(read_pickle, path)
    with pytest.raises(ValueError, match=r"ind\.x was not opened"):
        read_pickle(path)


LIES = {
    "more numbers than bytes": npy("(1000000000000,)"),
    "a wide table": npy("(3, 100000000000)"),
    "texts of a gigabyte": npy("(3,)", "<U1000000000"),
    "entries of no bytes": npy("(1000000000000,)", "<U0"),
    "rows of no columns": npy("(1000000000000, 0)"),
    "a negative size": npy("(-1,)"),
    "objects": npy("(1,)", "|O", b"cos\nsystem\n."),
    "too much": npy("(1,)", content=b"x" * 99),
    "no header": b"\x93NUMPY\x01\x00\xff\xff",
}


@pytest.mark.parametrize("lie", LIES)
def test_headers_that_lie_are_refused(tmp_path: Path, assert_read_or_refused: Any, lie: str):
    for suffix in ("npy", "npz"):
        path = tmp_path / f"x.{suffix}"
        path.write_bytes(LIES[lie])
        if suffix == "npz":
            with zipfile.ZipFile(path, "w") as archive:
                for name in ("ids", "features", "labels", "edges", "num_nodes"):
                    archive.writestr(f"{name}.npy", LIES[lie])
            with pytest.raises(ValueError, match="not a readable"):
                load_npz(path)
        with pytest.raises(ValueError, match=r"not a whole NumPy file|Python objects"):
            read_features(path, ids=["a"])
        assert_read_or_refused(lambda path: read_features(path, ids=["a"]), path)


def test_arrays_cannot_claim_columns_nodes_or_folds_without_end(tmp_path: Path):
    path = tmp_path / "x.npz"
    parts = {"data": np.ones(1), "indices": np.array([0]), "indptr": np.array([0, 1])}
    np.savez(path, ids=np.array(["a"]), **parts, shape=np.array([1, 10**12]))
    with pytest.raises(ValueError, match="claims 1,000,000,000,000 columns, and 16,777,216 can be read"):
        read_features(path)
    none = np.empty(0, dtype=np.int64)
    np.savez(path, shape=np.array([10**15] * 2), data=none, row=none, col=none)
    np.savez(tmp_path / "nodes.npz", feats=np.eye(3))
    with pytest.raises(ValueError, match="feats has 3 rows but there are 1000000000000000 nodes"):
        read_reddit(tmp_path / "nodes.npz", path)
    masks = np.empty((2**31, 0), dtype=bool)
    np.savez(path, edges=np.empty((0, 2), dtype=int), num_nodes=0, labels=none, train_masks=masks)
    assert load_npz(path).splits == {}


def test_zip_bombs_are_refused_before_they_unpack(tmp_path: Path, read_in_little_memory: Any):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("features.npy", "w", force_zip64=True) as stream:
            stream.write(npy("(400000000,)"))
            for _ in range(50):
                stream.write(bytes(1 << 20))
        small = archive.getinfo("features.npy")
    # directory and header claim 3.2 GB; packing a real bomb of that size would take too long
    content = path.read_bytes()
    at = content.rindex(b"PK\x01\x02")
    assert struct.unpack_from("<I", content, at + 24)[0] == small.file_size
    path.write_bytes(content[: at + 24] + struct.pack("<I", 3_200_000_128) + content[at + 28 :])
    with pytest.raises(ValueError, match=r"can hold|made to fill the memory"):
        read_npz(path)
    took, outcome = read_in_little_memory(
        "from gssl.io import read_features", f"read_features({str(path)!r}, ids=['a'])"
    )
    assert outcome.startswith("refused: ")
    assert took < 200


def _call(reader: str, path: Path, limit: int) -> tuple[str, str]:
    """Return code that imports a reader, or one of its checks, and code that calls it."""
    if reader.startswith("read_"):
        return f"from gssl.io import {reader}", f"{reader}({str(path)!r})"
    files = "[Path(%r)]" if reader == "refuse_wide_claims" else "Path(%r)"
    return f"from gssl.io.table_reading import {reader}", f"{reader}({files % str(path)}, {limit})"


@pytest.mark.parametrize(
    ("name", "reader", "limit"),
    [
        # what the readers call, with a quarter of their limit
        ("x.csv.gz", "refuse_packed_bomb", 1 << 28),
        pytest.param("x.csv.gz", "read_edges", 1 << 30, marks=pytest.mark.slow),
        pytest.param("x.tsv.gz", "read_labels", 1 << 30, marks=pytest.mark.slow),
        pytest.param("x.csv.gz", "read_features", 1 << 30, marks=pytest.mark.slow),
        pytest.param("x.jsonl.gz", "read_labels", 1 << 30, marks=pytest.mark.slow),
        pytest.param("x.json.gz", "read_features", 1 << 30, marks=pytest.mark.slow),
    ],
)
def test_packed_tables_that_fill_the_memory_are_refused(
    tmp_path: Path, read_in_little_memory: Any, name: str, reader: str, limit: int
):
    """Lines of zeros are compressed 450 times, as concatenated gzip members of a megabyte each."""
    path = tmp_path / name
    line = b"0" * 1023 + b"\n"
    path.write_bytes(gzip.compress(line * 1024) * (limit // 1024**2 + 30))
    took, outcome = read_in_little_memory(*_call(reader, path, limit))
    assert outcome.startswith("refused: ")
    assert f"to more than {limit:,} and may be a decompression bomb" in outcome
    assert took < 200


@pytest.mark.parametrize(
    ("reader", "limit"),
    [
        ("refuse_wide_claims", 1 << 28),
        pytest.param("read_edges", 1 << 30, marks=pytest.mark.slow),
        pytest.param("read_features", 1 << 30, marks=pytest.mark.slow),
        pytest.param("read_labels", 1 << 30, marks=pytest.mark.slow),
    ],
)
def test_parquet_of_few_bytes_and_many_rows_is_refused(
    tmp_path: Path, read_in_little_memory: Any, reader: str, limit: int
):
    """The file has rows of three numbers, slightly more than the limit, in some kilobytes."""
    path = tmp_path / "x.parquet"
    duckdb = pytest.importorskip("duckdb")
    n_rows = limit // 22_000_000 * 1_000_000
    query = f"SELECT 1::BIGINT AS a, 2::BIGINT AS b, 3::BIGINT AS c FROM range({n_rows})"
    duckdb.sql(f"COPY ({query}) TO '{path}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 2000000)")
    assert path.stat().st_size < 160_000
    # DuckDB reserves memory for the stacks of its threads
    took, outcome = read_in_little_memory(*_call(reader, path, limit), megabytes=2048)
    assert f"claims {n_rows:,} rows in" in outcome
    assert took < 200


def test_well_packed_tables_of_ordinary_size_are_read(tmp_path: Path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"id,x\n" + b"".join(b"%d,0\n" % i for i in range(200_000))))
    assert len(read_features(path).ids) == 200_000


@pytest.mark.parametrize("claimed", ["(30000000000,)", "(3000000000,)"])
def test_claims_take_no_memory(tmp_path: Path, read_in_little_memory: Any, claimed: str):
    path = tmp_path / "x.npy"
    path.write_bytes(npy(claimed))
    took, outcome = read_in_little_memory(
        "from gssl.io import read_features", f"read_features({str(path)!r}, ids=['a'])"
    )
    assert "the size in its header is not that of the file" in outcome
    assert took < 200


def test_names_in_an_archive_lead_nowhere(tmp_path: Path):
    folder = tmp_path / "in"
    folder.mkdir()
    path = folder / "x.npz"
    np.savez(path, ids=np.array(["a"]), features=np.eye(1))
    with zipfile.ZipFile(path, "a") as archive:
        for name in ("../x.npy", "/tmp/gssl-x.npy", "ids.npy/../../y.npy"):
            archive.writestr(name, npy("(1,)", content=bytes(8)))
        link = zipfile.ZipInfo("z.npy")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    assert read_features(path).ids.tolist() == ["a"]
    assert [file.name for file in tmp_path.rglob("*")] == ["in", "x.npz"]
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("ids.npy", npy("(1,)", "<U1", "b".encode("utf-32-le")))
    with pytest.raises(ValueError, match="the array 'ids' twice"):
        read_features(path)


def test_links_in_the_file_system_are_followed_or_refused_in_a_sentence(tmp_path: Path):
    np.savez(tmp_path / "real.npz", edges=[[0, 1]], num_nodes=2, labels=[0, 1])
    (tmp_path / "link.npz").symlink_to("real.npz")
    assert load(tmp_path / "link.npz").n_edges == 1
    (tmp_path / "loop.npz").symlink_to("loop.npz")
    (tmp_path / "gone.csv").symlink_to("nowhere.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(FileNotFoundError, match=r"loop\.npz"):
        load(tmp_path / "loop.npz")
    with pytest.raises(FileNotFoundError, match=r"gone\.csv does not exist"):
        read_edges(tmp_path / "gone.csv")
    with pytest.raises(ValueError, match=r"pipe\.csv is not a regular file"):
        read_edges(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match=r"There is no dataset 'graphs/\.\./\.\./etc/passwd'"):
        load("graphs/../../etc/passwd")


@pytest.mark.parametrize("depth", [100, 400, 5000])
def test_a_model_in_a_model_without_end(tmp_path: Path, assert_read_or_refused: Any, depth: int):
    path = tmp_path / "m.gssl"
    opened = '{"class": "EmbeddingClassifier", "params": {"embedder": '
    model = opened * depth + '{"class": "SGC", "params": {}}' + "}}" * depth
    text = f'{{"format": "{FORMAT}", "version": {VERSION}, "model": {model}}}'
    safetensors.numpy.save_file({"x": np.ones(1)}, path, metadata={FORMAT: text})
    assert_read_or_refused(gssl.load, path)
    with pytest.raises(ValueError, match="is damaged: "):
        gssl.load(path)


def test_a_table_that_claims_more_rows_than_it_has(tmp_path: Path, assert_read_or_refused: Any):
    path = tmp_path / "e.parquet"
    write_columns(path, {"source": ["a", "b"], "target": ["b", "c"]})
    content = path.read_bytes()
    (length,) = struct.unpack("<I", content[-8:-4])
    foot = len(content) - 8 - length
    refused = 0
    for place in range(foot, len(content) - 4):
        # numbers in the footer are encoded with seven bits per byte
        path.write_bytes(content[:place] + b"\xfe\xff\xff\xff\x7f" + content[place + 5 :])
        assert_read_or_refused(read_edges, path)
        try:
            assert len(read_edges(path).source) == 2
        except ValueError:
            refused += 1
        if refused == 12:
            break
    assert refused == 12


def test_a_table_larger_than_the_memory_it_may_take_is_one_sentence(tmp_path: Path):
    table = open_table("SELECT range AS id, md5(range::VARCHAR) AS text FROM range(1000000)")
    for setting in ("memory_limit = '10MB'", "threads = 1", "temp_directory = ''"):
        table.execute(f"SET {setting}")
    sort = f"CREATE TEMP TABLE t AS SELECT * FROM {table.relation} ORDER BY text"
    with pytest.raises(
        ValueError, match=r"^the query does not fit into the available memory: give a larger .* rows\.$"
    ):
        table.execute(sort)
    for setting in (f"temp_directory = '{tmp_path}'", "max_temp_directory_size = '1MB'"):
        table.execute(f"SET {setting}")
    with pytest.raises(ValueError, match=r"^the query needs more disk space .* another disk\.$"):
        table.execute(sort)


@pytest.mark.parametrize("take", ["fetch_row", "fetch_rows", "fetch_columns"])
def test_a_complaint_about_a_late_row_is_one_sentence_too(take: str):
    late = "SELECT CASE WHEN range = 500000 THEN error('no such row') ELSE range END AS id FROM range(600000)"
    table = open_table(late)
    sql = f"SELECT * FROM {table.relation}" + (" OFFSET 500000" if take == "fetch_row" else "")
    with pytest.raises(ValueError, match=r"^the query cannot be read: no such row; repair it\.$"):
        getattr(table, take)(sql)

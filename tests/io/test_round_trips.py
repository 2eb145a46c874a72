"""Any id and any label comes back from any file as it was."""

import csv

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gssl.io import Predictions, read_features, read_labels, write_embeddings, write_predictions
from gssl.io.table_writing import is_formula

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
HOSTILE = st.sampled_from(
    [
        "007",
        "18446744073709551615",
        "naïve",
        "=cmd()",
        "<script>",
        "-5",
        "+x",
        "1.0",
        "NULL",
        "nan",
        " a ",
        '"',
        "'",
        "\\N",
    ]
)
IDS = st.lists(TEXT | HOSTILE, min_size=1, max_size=12, unique=True)
FEW = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def made(ids, labels):
    n = len(ids)
    texts = np.empty(n, dtype=object)
    texts[:] = ids
    names = np.empty(n, dtype=object)
    names[:] = labels
    flags = np.arange(n) % 2 == 0
    return Predictions(texts, names, np.linspace(0, 1, n), names, flags, ~flags)


def neutral(text):
    return f"'{text}" if is_formula(text) else text


@FEW
@given(ids=IDS, label=TEXT | HOSTILE)
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_parquet_and_json_lines_keep_everything(tmp_path, suffix, ids, label):
    path = tmp_path / f"p{suffix}"
    assert write_predictions(path, made(ids, [label] * len(ids))) == []
    read = read_labels(path)
    assert read.ids.tolist() == ids
    assert read.labels.tolist() == [label] * len(ids)


@FEW
@given(ids=IDS, label=TEXT | HOSTILE)
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_text_files_keep_everything_but_formulas(tmp_path, suffix, ids, label):
    path = tmp_path / f"p{suffix}"
    ids = list(dict.fromkeys(neutral(i) for i in ids))
    write_predictions(path, made(ids, [label] * len(ids)))
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t" if suffix == ".tsv" else ","))
    assert [row["id"] for row in rows] == ids
    assert {row["label"] for row in rows} == {neutral(label)}
    read = read_labels(path)
    assert read.ids.tolist() == ids
    assert read.labels.tolist() == [neutral(label)] * len(ids)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", ".npz", ".npy"])
def test_embeddings_come_back(tmp_path, suffix):
    U = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    ids = ["007", "naïve", "18446744073709551615", "a,b", "<script>"]
    assert write_embeddings(tmp_path / f"u{suffix}", ids, U) == []
    features = read_features(tmp_path / f"u{suffix}")
    assert features.ids.tolist() == ids
    np.testing.assert_array_equal(features.matrix, U)


def test_embeddings_are_refused(tmp_path):
    with pytest.raises(ValueError, match="2 ids for embeddings of shape"):
        write_embeddings(tmp_path / "u.csv", ["a", "b"], np.eye(3))
    with pytest.raises(ValueError, match="must end in"):
        write_embeddings(tmp_path / "u.xlsx", ["a"], np.eye(1))


def test_parquet_has_types(tmp_path):
    write_predictions(tmp_path / "p.parquet", made(["007", "8"], ["a", "b"]))
    schema = pq.read_schema(tmp_path / "p.parquet")
    assert [str(kind) for kind in schema.types] == ["string", "string", "double", "string", "bool", "bool"]
    assert schema.names == ["id", "label", "confidence", "runner_up", "given", "reached"]


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    (tmp_path / "p.csv").write_text("old")

    class Full:
        def register(self, *_):
            pass

        def execute(self, *_):
            raise duckdb.IOException("IO Error: could not write: No space left on device")

    monkeypatch.setattr("gssl.io.table_writing.connect", Full)
    with pytest.raises(OSError, match=r"p\.csv cannot be written: .*No space left"):
        write_predictions(tmp_path / "p.csv", made(["a"], ["x"]))
    assert [file.name for file in tmp_path.iterdir()] == ["p.csv"]
    assert (tmp_path / "p.csv").read_text() == "old"

"""Ids and labels survive a round trip through any file format, and inputs are never overwritten."""

import csv
import resource

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gssl.io import Predictions, assemble, read_edges, read_labels, write_predictions
from gssl.io.dialect import needs_guard
from gssl.io.table_writing import refuse_overwrite

# white space around a cell is dropped by design
TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Z"], exclude_characters="\0"), min_size=1, max_size=8
)
FORMULAS = ["=cmd()", "-5", "+x", "<script>"]
HOSTILE = st.sampled_from(
    ["007", "18446744073709551615", "naïve", "1.0", "NULL", "nan", '"', "'", "\\N", '0"7,\n"a', *FORMULAS]
)
IDS = st.lists(TEXT | HOSTILE, min_size=1, max_size=12, unique=True)
FEW = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def made(ids, labels):
    n = len(ids)
    texts = np.empty(n, dtype=object)
    texts[:] = ids
    names = np.empty(n, dtype=object)
    names[:] = labels
    flags = np.ones(n, dtype=bool)  # only rows with given=true are read as labels
    p = np.linspace(0, 1, n)
    return Predictions(
        texts, names, p, names, p, names, flags, ~flags, np.stack([p, 1 - p], axis=1), ("a", "b")
    )


@FEW
@given(ids=IDS, label=TEXT | HOSTILE)
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_parquet_and_json_lines_keep_everything(tmp_path, suffix, ids, label):
    path = tmp_path / f"p{suffix}"
    assert write_predictions(path, made(ids, [label] * len(ids))) == []
    read = read_labels(path, na=["no marker"])
    assert read.ids.tolist() == ids
    assert read.labels.tolist() == [label] * len(ids)


@FEW
@given(ids=IDS, label=TEXT | HOSTILE)
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_text_files_have_an_apostrophe_before_formulas_alone(tmp_path, suffix, ids, label):
    path = tmp_path / f"p{suffix}"
    write_predictions(path, made(ids, [label] * len(ids)))
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t" if suffix == ".tsv" else ","))
    for text, cell in [*zip(ids, (row["id"] for row in rows), strict=True), (label, rows[0]["label"])]:
        assert cell == (f"'{text}" if needs_guard(text) else text)
        # one behind an apostrophe is shown as it is
        assert cell.startswith("'") or not needs_guard(cell)


def test_parquet_has_types(tmp_path):
    write_predictions(tmp_path / "p.parquet", made(["007", "8"], ["a", "b"]))
    schema = pq.read_schema(tmp_path / "p.parquet")
    assert [str(kind) for kind in schema.types] == [
        *("string", "string", "double", "string", "double", "string", "bool", "bool")
    ]
    assert schema.names == [
        *("id", "label", "confidence", "model_says", "model_confidence", "runner_up", "given", "reached")
    ]


def test_a_full_disk_leaves_what_was_there(tmp_path):
    file = tmp_path / "p.csv"
    file.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, hard))
    try:
        with pytest.raises(OSError, match=r"p\.csv cannot be written: file too large; make room"):
            write_predictions(file, made([f"n{i}" for i in range(999)], ["x"] * 999))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [other.name for other in tmp_path.iterdir()] == ["p.csv"]
    assert file.read_text() == "old"


def test_an_input_is_never_replaced_and_other_outputs_are_free(tmp_path, monkeypatch):
    file = tmp_path / "e.csv"
    file.write_text("a,b\n")
    (tmp_path / "link.csv").symlink_to(file)
    (tmp_path / "hard.csv").hardlink_to(file)
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    for out in ("e.csv", tmp_path / "sub" / ".." / "e.csv", "link.csv", "hard.csv"):
        for source in (file, "e.csv", "*.csv", "**/e.csv", "SELECT * FROM 'e.csv'", 'select * from "e.csv"'):
            with pytest.raises(ValueError, match="is an input"):
                refuse_overwrite(out, [None, "missing.csv", source])
    sources = [file, "*.csv", f"SELECT * FROM '{file}'", None, 7, "SELECT 'x' AS id", "missing.csv"]
    refuse_overwrite(tmp_path / "p.parquet", sources)


@pytest.mark.parametrize(
    ("text", "runs"), [("=1+1", True), ("-5", False), ("-x", True), ("naïve", False), ("@a", True)]
)
def test_what_a_spreadsheet_would_run(text, runs):
    assert needs_guard(text) == runs


def test_the_guard_is_removed_from_every_text_file_and_noted(write):
    file = write("l.csv", "id,label\n'@me,x\n'-5,x\n'tis,y\n'=sum,y\n=sum,y\n")
    labels = read_labels(file)
    assert labels.ids.tolist() == ["@me", "'-5", "'tis", "=sum"]
    note = labels.notes[0].removeprefix(f"{file}: ")
    assert note == (
        "removed the apostrophe of a guarded formula from 2 cells of column 'id', which merged 1 with others."
    )
    json = write("l.jsonl", '{"id":"\'@me","label":"x"}\n')
    assert read_labels(json).ids.tolist() == ["'@me"]


def test_labels_of_ids_that_begin_like_formulas_join_their_edges(tmp_path):
    ids = ["@ann", "=bob", "+cy", "-dan"]
    (tmp_path / "e.csv").write_text("source,target\n" + "".join(f"{node},eve\n" for node in ids))
    write_predictions(tmp_path / "l.csv", made(ids, ["x", "y", "x", "y"]))
    problem = assemble(read_edges(tmp_path / "e.csv"), labels=read_labels(tmp_path / "l.csv"))
    assert dict(zip(problem.node_ids, problem.y, strict=True)) == {
        **dict(zip(ids, "xyxy", strict=True)),
        "eve": None,
    }

"""Features are the same with and without a memory budget, for all kinds of tables and arrays."""

from datetime import time

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse

import gssl
from gssl.graph.mapped import mapped_file
from gssl.io import build_graph_store, read_features
from gssl.io.feature_blocks import take_rows_or_zeros, to_file
from gssl.io.feature_reading import map_features, open_features


@pytest.fixture
def store(tmp_path):
    ids = ["007", "7", "a", "naïve", "z"]
    frame = pd.DataFrame({"source": ids, "target": [*ids[1:], "007"]})
    return build_graph_store(frame, tmp_path / "store")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(5, 7)), columns=[f"x{j}" for j in range(7)])
    table.insert(0, "id", ["z", "a", "007", "naïve", "7"])
    return table


def expected(source, store):
    features = read_features(source)
    rows = dict(zip(features.ids, features.matrix, strict=True))
    return np.array([rows[node] for node in store.node_ids])


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy", "integers", "lists"])
def test_a_file_has_the_numbers_in_the_order_of_the_store(store, frame, tmp_path, kind):
    file = tmp_path / f"f.{'npy' if kind == 'integers' else 'parquet' if kind == 'lists' else kind}"
    values = frame.iloc[:, 1:].to_numpy()
    if kind == "csv":
        frame.to_csv(file, index=False)
    elif kind == "parquet":
        frame.to_parquet(file)
    elif kind == "lists":
        # a label is no feature
        pd.DataFrame({"id": frame["id"], "x": list(values), "label": "spy"}).to_parquet(file)
    else:
        np.save(file, values if kind == "npy" else np.arange(35).reshape(5, 7))
        np.save(tmp_path / "f.ids.npy", frame["id"].to_numpy().astype(str))
    if kind != "lists":
        # bytes for three columns at a time
        assert [len(block.names) for block in open_features(file).blocks(352)] == [3, 3, 1]
    features = map_features(file, store=store, memory_budget=704)
    X, wanted = features.matrix, expected(file, store)
    assert X.tobytes("C") == wanted.astype(np.float32).tobytes("C")
    assert features.ids.tolist() == store.node_ids.tolist()
    assert X.flags.f_contiguous
    assert (X.shape, X.dtype) == ((5, 7), np.float32)
    U = gssl.SGC().fit_transform(wanted, adjacency=store.adjacency)
    assert np.array_equal(gssl.SGC().fit_transform(X, adjacency=store.adjacency), U)


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.iloc[:4],
        lambda f: f.replace({"id": {"z": "y"}}),
        lambda f: pd.concat([f, f.assign(id=["v", "w", "x", "y", "u"])]),
    ],
    ids=["a node without a row", "an unknown id", "more rows"],
)
def test_a_table_of_other_nodes_keeps_its_order(store, frame, change):
    changed = change(frame)
    features = map_features(changed, store=store)
    assert features.ids.tolist() == changed["id"].tolist()
    np.testing.assert_array_equal(features.matrix, changed.iloc[:, 1:].to_numpy(np.float32))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: pd.concat([f, f.iloc[:1]]), "has more than one row for 'z'"),
        (lambda f: f.assign(x3=[1, 2, 1e300, 4, 5]), r"column 'x3' of id '007' is 1e\+300, not a finite"),
        (lambda f: f[["id"]], "has no features beside the column 'id'"),
        (lambda f: f.assign(x3=time(3)), "'x3' is of type TIME"),
        (
            lambda f: f.assign(x3=[[1], [1, 2], [1], [1], [1]]),
            r"column 'x3' of id 'a' is \[1, 2\], not a list of 1 number",
        ),
        (lambda f: f.assign(id=["z", None, *f["id"][2:]]), "row 2: column 'id' has no id"),
    ],
)
def test_bad_features_are_one_sentence(store, frame, tmp_path, change, message):
    change(frame).to_parquet(tmp_path / "f.parquet")
    with pytest.raises(ValueError, match=message):
        map_features(tmp_path / "f.parquet", store=store, strict=True)
    with pytest.raises(ValueError, match="column 'v' of id 'a' is empty, not a list of numbers"):
        map_features(_IDS + "NULL::DOUBLE[] AS v", store=store)


def test_a_query_is_asked_once(tmp_path):
    store = build_graph_store(
        "SELECT i AS source, i + 1 AS target FROM range(50000) AS t(i)", tmp_path / "store"
    )
    query = "SELECT i AS id, any_value(i) AS x, any_value(2 * i) AS y FROM range(50001) AS t(i) GROUP BY i"
    X = map_features(query, store=store, memory_budget="400MB").matrix
    ids = store.node_ids.astype(np.float32)
    assert np.array_equal(X, np.stack([ids, 2 * ids], axis=1))


def test_rows_of_a_file_are_taken_into_a_file():
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    taken = take_rows_or_zeros(to_file([X[:, :1], X[:, 1:]], 3, 2), np.array([2, -1, 0, 0]))
    assert mapped_file(taken) is not None
    assert taken.tolist() == [[4, 5], [0, 0], [0, 1], [0, 1]]


# (how it is read, text of the file); features read "by columns" stay in a file
TEXTS = {
    "wide": ("by columns", "id,x,y\n007,1.5,2\n8,-2,0.1\n"),
    "truths": ("by columns", "id,x,ok\na,1,true\nb,2,false\n"),
    "an id further right": ("by columns", "x,node\n3,b\n4,a\n"),
    "a label": ("by columns", "id,x,label\na,1,spy\nb,2,cook\n"),
    "labels of another name": ("by columns", "id,Class,x\na,1,3\nb,2,4\n"),
    "no names": ("by columns", "1,2,3\n4,5,6\n"),
    "three columns": ("by columns", "id,feature,size\na,1,2\nb,3,4\n"),
    "long, numbers": ("read", "id,feature,value\nb,3,2\na,10,0.5\nb,10,1\n"),
    "long, one row each": ("read", "id,word,count\n1,7,2\n2,7,3\n"),
    "long, names": ("read", "id,feature,value\nb,x,2\na,y,0.5\n"),
    "long, in another order": ("read", "value,term,who\n2,7,1\n3,8,2\n"),
    "categories": ("read", "id,x,job\na,1,spy\nb,2,cook\n"),
    "lists as text": ("by columns", 'id,v\na,"[1, 2]"\nb,"[3, 4.5]"\n'),
    "no rows": ("refused", "id,x\n"),
    "no features": ("refused", "id\na\n"),
    "nothing but a label": ("refused", "id,label\na,1\n"),
    "an empty id": ("refused", "id,x\na,1\n,2\n"),
    "an id twice": ("refused", "id,x\na,1\na,2\n"),
    "a row twice": ("by columns", "id,x,y\na,1,2\nb,2,\na,1,2\n"),
    "a row twice and another": ("refused", "id,x,y\na,1,2\nb,2,3\na,1,2\nb,2,4\n"),
    "one typing error in twenty": (
        "by columns",
        "id,x\nz,1 kg\n" + "".join(f"n{i},{i}\n" for i in range(19)),
    ),
    "texts": ("read", "id,x\n" + "".join(f"n{i},words of text {i}\n" for i in range(9))),
    "an empty cell": ("by columns", "id,x\na,1\nb,\n"),
    "an empty column": ("by columns", "id,x,y\na,1,\nb,2,\n"),
    "a typing error": ("refused", "id,x\na,1\nb,2\nc,oops\n"),
    "not finite": ("refused", "id,x\na,inf\nb,2\n"),
    "too large": ("refused", "id,x\na,1e99\nb,2\n"),
    "long and empty": ("refused", "id,feature,value\na,,\n"),
}

_IDS = "SELECT unnest(['a', 'b']) AS id, "
QUERIES = {
    "lists": ("by columns", _IDS + "unnest([[1.5, 2], [3, 4.5]]) AS v"),
    "lists of fixed length": ("by columns", _IDS + "unnest([[1.5, 2], [3, 4.5]])::DOUBLE[2] AS v"),
    "lists beside numbers": ("by columns", _IDS + "3 AS x, [1, 2] AS v, true AS ok"),
    "empty lists beside numbers": ("by columns", _IDS + "3 AS x, []::DOUBLE[] AS v"),
    "ids of numbers": ("by columns", "SELECT unnest([7.0, 8.0])::DOUBLE AS id, 0.1::DECIMAL(4, 2) AS x"),
    "empty lists": ("read", _IDS + "[]::DOUBLE[] AS v"),
    "an enum": ("read", _IDS + "'MINT'::ENUM('MINT', 'SAGE') AS herb"),
    "no lists": ("refused", _IDS + "NULL::DOUBLE[] AS v"),
    "no list in one row": ("by columns", _IDS + "unnest([[1.0], NULL]) AS v"),
    "a list too short": ("refused", _IDS + "unnest([[1.0, 2.0], [1.0]]) AS v"),
    "a gap in a list": ("by columns", _IDS + "[1.0, NULL] AS v"),
    "lists of words": ("refused", _IDS + "['spy', 'cook'] AS v"),
    "lists of lists": ("refused", _IDS + "[[1.0], [2.0]] AS v"),
    "lists without rows": ("refused", "SELECT 'a' AS id, [1.0] AS v LIMIT 0"),
    "times": ("refused", _IDS + "INTERVAL 3 DAYS AS x"),
    "dates": ("by columns", _IDS + "DATE '2020-01-01' AS x"),
    "no id": ("refused", "SELECT NULL::VARCHAR AS id, 1.0 AS x"),
}

_X = np.array([[1.5, 0.1], [3, 4]])
_AB = np.array(["a", "naïve"])
ARRAYS = {
    "float": ("by columns", _X, _AB),
    "float32 by columns": ("by columns", np.asfortranarray(_X, dtype=np.float32), _AB),
    "float16, bytes swapped": ("by columns", _X.astype(">f2"), _AB),
    "int": ("by columns", np.array([[2**53 + 1, -2], [3, 4]]), _AB),
    "unsigned": ("by columns", np.array([[1, 255], [3, 4]], dtype=np.uint8), _AB),
    "bool": ("by columns", _X > 2, _AB),
    "ids of integers": ("by columns", _X, np.array([7, 2**63 - 1])),
    "no columns": ("read", np.ones((2, 0)), _AB),
    "no rows": ("read", np.ones((0, 2)), _AB[:0]),
    "ids of bytes": ("refused", _X, np.array([b"a", b"b"])),
    "ids of floats": ("refused", _X, np.array([1.0, 2.5])),
    "ids of two axes": ("refused", _X, np.array([["a", "b"]])),
    "too few ids": ("refused", _X, _AB[:1]),
    "an id twice": ("refused", _X, np.array(["a", "a"])),
    "complex": ("refused", _X * 1j, _AB),
    "texts": ("refused", np.array([["1"], ["2"]]), _AB),
    "one axis": ("refused", _X[0], _AB),
    "a gap": ("by columns", np.array([[1, np.nan], [3, 4]]), _AB),
    "not finite": ("refused", np.array([[1, np.inf], [3, 4]]), _AB),
    "too large": ("refused", np.array([[1, 1e99], [3, 4]]), _AB),
}


def assert_read_alike(source, fate, id=None):
    """Assert that both readers give the same result, as expected by ``fate``."""
    if fate == "refused":
        for read in (map_features, read_features):
            with pytest.raises(ValueError, match=r"\w.*\.$") as caught:
                read(source, id=id)
            assert "\n" not in str(caught.value)
        return
    mapped, whole = map_features(source, id=id), read_features(source, id=id)
    assert (mapped_file(mapped.matrix) is not None) == (fate == "by columns")
    matrix, other = (x.toarray() if issparse(x) else x for x in (mapped.matrix, whole.matrix))
    np.testing.assert_array_equal(matrix, other)
    assert matrix.dtype == other.dtype
    assert mapped.ids.tolist() == whole.ids.tolist()
    assert (mapped.names, mapped.name, mapped.notes) == (whole.names, whole.name, whole.notes)


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_are_the_same_read_whole_and_by_columns(kind, suffix, write):
    fate, text = TEXTS[kind]
    path = write("f.csv", text)
    if suffix == "parquet":
        frame = pd.read_csv(path, header=None if kind == "no names" else "infer")
        frame.columns = frame.columns.astype(str)
        path = path.with_suffix(".parquet")
        frame.to_parquet(path)
    assert_read_alike(str(path), fate)
    if kind == "a label":
        note = f"{path}: column 'label' is named like a label and not used as a feature."
        assert map_features(str(path)).notes == [note]
    if kind == "long, one row each":
        # if an id is named, it is wide
        assert_read_alike(str(path), "by columns", id="id")
        assert map_features(str(path), id="id").names == ("word", "count")


@pytest.mark.parametrize("kind", QUERIES)
def test_queries_are_the_same_read_whole_and_by_columns(kind):
    fate, query = QUERIES[kind]
    assert_read_alike(query, fate)


@pytest.mark.parametrize("kind", ARRAYS)
def test_array_files_are_the_same_read_whole_and_by_columns(kind, tmp_path):
    fate, matrix, ids = ARRAYS[kind]
    for name in ("x.npy", "x.npz", "x.csv"):
        for read in (map_features, read_features):
            with pytest.raises(FileNotFoundError, match="does not exist"):
                read(str(tmp_path / name))
    np.save(tmp_path / "x.npy", matrix)
    assert_read_alike(str(tmp_path / "x.npy"), "refused")
    np.save(tmp_path / "x.ids.npy", ids)
    assert_read_alike(str(tmp_path / "x.npy"), fate)

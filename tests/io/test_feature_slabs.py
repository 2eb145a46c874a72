"""Features by columns: the numbers that the in-memory reader gives, in the order of the store."""

import numpy as np
import pandas as pd
import pytest

from gssl.io import build_feature_slabs, build_graph_store, open_feature_slabs, read_features
from gssl.io import feature_slabs as feature_slabs_module
from gssl.scale.memory import SlabPlan


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


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy"])
def test_the_numbers_in_the_order_of_the_store(store, frame, tmp_path, suffix, monkeypatch):
    file = tmp_path / f"f.{suffix}"
    if suffix == "csv":
        frame.to_csv(file, index=False)
    elif suffix == "parquet":
        frame.to_parquet(file)
    else:
        np.save(file, frame.iloc[:, 1:].to_numpy())
        np.save(tmp_path / "f.ids.npy", frame["id"].to_numpy().astype(str))
    # three columns at a time
    monkeypatch.setattr(feature_slabs_module, "plan_slabs", lambda d, load, budget: SlabPlan(d, 3))
    slabs = build_feature_slabs(file, tmp_path / "x.npy", store)
    wanted = expected(file, store)
    assert slabs.matrix.tobytes("C") == wanted.tobytes("C")
    assert slabs.matrix.flags.f_contiguous
    assert (slabs.shape, slabs.dtype) == ((5, 7), np.float32)
    part = slabs.slab(2, 6)
    assert part.flags.c_contiguous
    assert np.array_equal(part, wanted[:, 2:6])
    assert np.array_equal(open_feature_slabs(tmp_path / "x.npy").slab(0, 7), wanted)


def test_lists_and_a_label_that_is_no_feature(store, frame, tmp_path):
    lists = pd.DataFrame({"id": frame["id"], "x": list(frame.iloc[:, 1:].to_numpy()), "label": "spy"})
    lists.to_parquet(tmp_path / "f.parquet")
    slabs = build_feature_slabs(tmp_path / "f.parquet", tmp_path / "x.npy", store)
    assert np.array_equal(slabs.matrix, expected(lists[["id", "x"]], store))


def test_a_method_takes_the_file_as_features(store, frame, tmp_path):
    import gssl

    slabs = build_feature_slabs(frame, tmp_path / "x.npy", store)
    wanted = gssl.SGC().fit_transform(expected(frame, store), adjacency=store.adjacency)
    assert np.array_equal(gssl.SGC().fit_transform(slabs.matrix, adjacency=store.adjacency), wanted)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.iloc[:4], r"has no features for 1 id of .*: '7'; add them"),
        (lambda f: pd.concat([f, f.iloc[:1]]), "has more than one row for 'z'"),
        (lambda f: f.replace({"id": {"z": "y"}}), r"names 1 id that .* does not have: 'y'"),
        (lambda f: f.assign(x3=[1, 2, None, 4, 5]), "column 'x3' of id '007' is not a finite number"),
        (lambda f: f.assign(x3=[1, 2, 1e300, 4, 5]), "column 'x3' of id '007' is not a finite number"),
        (lambda f: f[["id"]], "has no features beside the column 'id'"),
        (lambda f: f.assign(x3=pd.Timestamp("2020-01-01")), "'x3' is of type TIMESTAMP"),
        (lambda f: f.assign(x3=[[1], [1, 2], [1], [1], [1]]), "lists of column 'x3' have 1 to 2 numbers"),
    ],
)
def test_bad_features_are_one_sentence_and_leave_nothing(store, frame, tmp_path, change, message):
    change(frame).to_parquet(tmp_path / "f.parquet")
    with pytest.raises(ValueError, match=message):
        build_feature_slabs(tmp_path / "f.parquet", tmp_path / "x.npy", store)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.parquet", "store"]


def test_a_query_is_asked_once(tmp_path):
    store = build_graph_store(
        "SELECT i AS source, i + 1 AS target FROM range(50000) AS t(i)", tmp_path / "store"
    )
    query = "SELECT i AS id, any_value(i) AS x, any_value(2 * i) AS y FROM range(50001) AS t(i) GROUP BY i"
    slabs = build_feature_slabs(query, tmp_path / "x.npy", store, memory_budget="400MB")
    ids = store.node_ids.astype(np.float32)
    assert np.array_equal(slabs.matrix, np.stack([ids, 2 * ids], axis=1))

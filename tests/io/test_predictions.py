import csv

import numpy as np
import pytest

import gssl
from gssl.io import Prediction, list_predictions, read_features, write_embeddings, write_predictions


@pytest.fixture
def karate():
    data = gssl.datasets.load("karate")
    y = data.mask_labels("default")
    return data, y, gssl.LabelPropagation().fit(data.features, y, adjacency=data.adjacency)


def test_rows_say_what_the_model_says(karate):
    data, y, model = karate
    rows = list_predictions(model, data.node_ids, y != -1, data.class_names)
    assert [row.label for row in rows] == [data.class_names[label] for label in model.transduction_]
    np.testing.assert_allclose([row.confidence for row in rows], model.label_distributions_.max(axis=1))
    assert all(row.runner_up != row.label for row in rows)
    assert [row.id for row in rows if row.given] == ["0", "33"]
    assert all(row.reached for row in rows)


def test_awkward_text_survives_the_file(tmp_path):
    rows = [Prediction(f'0{i}7, "naïve"\n', "a,b", 0.5, "c", True, False) for i in range(3)]
    write_predictions(tmp_path / "new folder" / "p.csv", rows)
    with (tmp_path / "new folder" / "p.csv").open(newline="", encoding="utf-8") as stream:
        read = list(csv.DictReader(stream))
    assert [row["id"] for row in read] == [row.id for row in rows]
    assert read[0]["label"] == "a,b"
    assert (read[0]["given"], read[0]["reached"]) == ("true", "false")


def test_a_failed_write_leaves_what_was_there(tmp_path):
    file = tmp_path / "p.csv"
    file.write_text("old")

    def rows():
        yield Prediction("1", "a", 0.5, "b", False, True)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_predictions(file, rows())
    assert file.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["p.csv"]


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

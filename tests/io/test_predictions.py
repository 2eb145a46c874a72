import csv

import numpy as np
import pytest

import gssl
from gssl.io import Prediction, list_predictions, read_features, tabulate, write_embeddings, write_predictions
from gssl.io.predictions import withhold


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


def test_a_given_label_stays_and_the_model_says_what_it_would_without_it():
    """One label of karate is deliberately wrong."""
    data = gssl.datasets.load("karate")
    y = data.labels.copy()
    y[20:30] = -1
    y[0] = 1 - y[0]
    model = gssl.EmbeddingClassifier(gssl.SSGC()).fit(data.features, y, adjacency=data.adjacency)
    rows = list_predictions(model, data.node_ids, y != -1, data.class_names)
    given = np.flatnonzero(y != -1)
    assert [rows[i].label for i in given] == [data.class_names[y[i]] for i in given]
    assert rows[0].model_says == data.class_names[1 - y[0]]
    assert rows[0].confidence == pytest.approx(1 - rows[0].model_confidence)
    assert rows.doubted[0] == max(rows.doubted, key=lambda i: rows.model_confidence[i])
    assert 0 in rows.doubted
    open_nodes = np.flatnonzero(y == -1)
    assert all(rows[i].label == rows[i].model_says for i in open_nodes)
    np.testing.assert_array_equal(rows.distributions[open_nodes], model.label_distributions_[open_nodes])
    # distributions of nodes with a given label come from a fit without it
    assert not np.allclose(rows.distributions[given], model.label_distributions_[given])


def test_abstaining_keeps_what_the_model_says():
    rows = tabulate(["a", "b"], np.array([[0.6, 0.4], [0.3, 0.7]]), ["x", "y"], labels=np.array([-1, 0]))
    kept = withhold(rows, 0.9)
    assert (kept[0].label, kept[0].model_says, kept[0].runner_up) == ("", "x", "y")
    assert (kept[1].label, kept[1].model_says) == ("x", "y")


def test_probabilities_are_a_column_for_each_class(tmp_path):
    rows = tabulate(["a"], np.array([[0.25, 0.75]]), ["x", "__proto__, y"])
    write_predictions(tmp_path / "new folder" / "p.csv", rows, probabilities=True)
    with (tmp_path / "new folder" / "p.csv").open(newline="", encoding="utf-8") as stream:
        row = next(csv.DictReader(stream))
    assert (row["p_x"], row["p___proto__, y"]) == ("0.2500", "0.7500")


def test_rows_are_written_whole_or_not_at_all(tmp_path):
    file = tmp_path / "p.csv"
    file.write_text("old")
    row = Prediction('007, "naïve"\n', "a,b", 0.5, "a,b", 0.5, "c", True, False)

    def rows():
        yield row
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_predictions(file, rows())
    assert file.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["p.csv"]
    write_predictions(file, [row])
    with file.open(newline="", encoding="utf-8") as stream:
        [read] = csv.DictReader(stream)
    assert (read["id"], read["label"], read["given"], read["reached"]) == (row.id, "a,b", "true", "false")


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

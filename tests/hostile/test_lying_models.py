"""Whole models with one part that does not fit the others: refused in a sentence that names the part."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from safetensors import safe_open
from scipy.sparse import csr_array

import gssl
from gssl.io.models import FORMAT

NODES = 12
X = csr_array(np.eye(NODES) + np.eye(NODES, k=1))
A = np.eye(NODES, k=1) + np.eye(NODES, k=-1)
Y = np.array(["a", "b"] * 5 + [None, None], dtype=object)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    made = {
        "auto": gssl.AutoClassifier(),
        "embedding": gssl.EmbeddingClassifier(gssl.SGC()),
        "calibrated": gssl.CalibratedClassifier(gssl.LabelSpreading(), random_state=0),
        "smoothed": gssl.CorrectAndSmooth(depth=2),
    }
    for name, model in made.items():
        gssl.save(model.fit(X, Y, adjacency=A), folder / f"{name}.gssl")
    return {name: folder / f"{name}.gssl" for name in made}


@pytest.fixture
def rewritten(models: dict[str, Path], tmp_path: Path) -> Callable[[str, Any], Path]:
    """Write a model anew with its description, or its numbers, changed."""

    def rewrite(name: str, change: Any) -> Path:
        with safe_open(models[name], framework="np") as stored:
            metadata = json.loads(stored.metadata()[FORMAT])
            tensors = {key: stored.get_tensor(key) for key in stored.keys()}  # noqa: SIM118
        change(metadata["model"], tensors)
        path = tmp_path / f"{name}.gssl"
        safetensors.numpy.save_file(tensors, path, metadata={FORMAT: json.dumps(metadata)})
        return path

    return rewrite


@pytest.mark.parametrize("name", ["auto", "embedding", "calibrated", "smoothed"])
def test_what_was_saved_is_what_is_loaded(models: dict[str, Path], name: str):
    model = gssl.load(models[name])
    np.testing.assert_array_equal(model.classes_, ["a", "b"])
    assert model.predict(X, adjacency=A).tolist() == model.transduction_.tolist()


def set_to(*path: str, value: Any) -> Any:
    """Change one place of a description."""

    def change(model: Any, tensors: Any) -> None:
        for key in path[:-1]:
            model = model[key]
        model[path[-1]] = value

    return change


def without(*path: str) -> Any:
    def change(model: Any, tensors: Any) -> None:
        for key in path[:-1]:
            model = model[key]
        model.pop(path[-1], None)

    return change


def no_heads(model: Any, tensors: Any) -> None:
    for name in ("coef_", "logistic_coef_", "propagation_"):
        model["fitted"].pop(name, None)


def unlabelled_judges(model: Any, tensors: Any) -> None:
    tensors[model["fitted"]["held_out_codes_"]][:] = -1


def other_classes(model: Any, tensors: Any) -> None:
    model["fitted"]["classifier_"]["classes"]["values"] = ["a", "c"]


def wide_head(model: Any, tensors: Any) -> None:
    head = model["fitted"]["head_"]["fitted"]
    head["n_features_in_"] = NODES + 1
    tensors[head["coef_"]] = np.zeros((NODES + 1, 2))


def head_of_others(model: Any, tensors: Any) -> None:
    model["fitted"]["head_"]["classes"] = {"dtype": "<i8", "values": [0, 9]}


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("embedding", set_to("params", "head", value={"pairs": 7}), "not made of pairs"),
        ("embedding", set_to("params", "head", value={"pairs": [[1]]}), "not made of pairs"),
        ("embedding", set_to("params", "depth", value=2), "a EmbeddingClassifier has no parameter 'depth'"),
        ("embedding", set_to("class", value="os.system"), "names the class 'os.system'"),
        ("embedding", set_to("params", value=None), "does not describe a model"),
        ("embedding", set_to("fitted", value=[]), "does not say what its EmbeddingClassifier learned"),
        ("embedding", set_to("fitted", "coef_", value="x"), "a EmbeddingClassifier has no 'coef_'"),
        (
            "embedding",
            set_to("fitted", "embedding_", value="x"),
            "'embedding_' is nothing that a saved model",
        ),
        ("embedding", set_to("fitted", "_fit_features", value={}), "'_fit_features' has no shape"),
        (
            "embedding",
            set_to("fitted", "_fit_features", value={"shape": [NODES, NODES], "data": "x"}),
            "the numbers of '_fit_features' are missing",
        ),
        ("embedding", set_to("fitted", "reached_", value="x"), "the numbers of 'reached_' are missing"),
        ("embedding", set_to("fitted", "feature_names_in_", value=[1]), "is not a list of names"),
        ("embedding", set_to("fitted", "feature_names_in_", value=["x"]), "does not fit the rest"),
        ("embedding", set_to("fitted", "n_iter_", value=-1), "'n_iter_' is -1, not a whole number"),
        ("embedding", set_to("fitted", "n_iter_", value=True), "'n_iter_' is True, not a whole number"),
        ("embedding", without("fitted", "reached_"), "'reached_' of its EmbeddingClassifier is missing"),
        (
            "embedding",
            without("fitted", "n_features_in_"),
            "'n_features_in_'.* is missing|features and the model",
        ),
        ("embedding", set_to("classes", "values", value=["a", "a"]), "not a list of different values"),
        ("embedding", set_to("classes", "values", value=["b", "a"]), "classes are not in order"),
        ("embedding", set_to("classes", "dtype", value="O"), "not a list of text or numbers"),
        ("embedding", wide_head, "'head_' has 13 features and the model 12"),
        ("embedding", head_of_others, "its head knows other classes"),
        ("auto", set_to("fitted", "explain_", value=7), "'explain_' is 7, not a text"),
        (
            "auto",
            set_to("fitted", "leaderboard_", value=[{"x": 1}]),
            "'leaderboard_' is not a table of models",
        ),
        ("auto", set_to("fitted", "leaderboard_", value=7), "'leaderboard_' is not a table of models"),
        ("auto", no_heads, "AutoClassifier has nothing that predicts"),
        ("calibrated", unlabelled_judges, "'held_out_codes_' names classes that are not there"),
        ("calibrated", other_classes, "its classifier knows other classes than the model"),
    ],
)
def test_one_part_that_does_not_fit(rewritten: Any, answer: Any, name: str, change: Any, message: str):
    path = rewritten(name, change)
    answer(gssl.load, path)
    with pytest.raises(ValueError, match=f"is damaged: .*({message})"):
        gssl.load(path)


def test_settings_that_are_none(models: dict[str, Path], tmp_path: Path):
    with safe_open(models["embedding"], framework="np") as stored:
        metadata = json.loads(stored.metadata()[FORMAT])
        tensors = {key: stored.get_tensor(key) for key in stored.keys()}  # noqa: SIM118
    metadata["settings"] = ["l1"]
    safetensors.numpy.save_file(tensors, tmp_path / "m.gssl", metadata={FORMAT: json.dumps(metadata)})
    from gssl.io.models import read_settings

    with pytest.raises(ValueError, match=r"m\.gssl is damaged: its settings are not named texts"):
        read_settings(tmp_path / "m.gssl")

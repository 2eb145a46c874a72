"""Classifiers by name are those of the command line."""

import numpy as np
import pytest

import gssl
from gssl.cli.arguments import EMBEDDERS, METHODS
from gssl.selection import classifier, embedder
from gssl.selection.choice import classifier_names, embedder_names


def test_every_method_of_the_command_line_has_a_name():
    assert sorted(METHODS) == sorted(["auto", *classifier_names()])
    assert sorted(EMBEDDERS) == sorted(embedder_names())


@pytest.mark.parametrize("method", METHODS)
def test_every_method_classifies(method):
    """Three rings of ten nodes, one per class, with features that tell the classes."""
    codes = np.arange(30) % 3
    A = np.zeros((30, 30))
    for step in (3, 6):
        A[np.arange(30), (np.arange(30) + step) % 30] = 1.0
    X = np.random.default_rng(0).random((30, 3)) / 4 + 0.5 * np.eye(3)[codes]
    y = np.where(np.arange(30) < 9, codes, -1)
    model = classifier(method).fit(X, y, adjacency=A + A.T)
    assert model.transduction_.tolist() == codes.tolist()


def test_a_seed_goes_to_every_part_that_takes_one():
    assert classifier("ogc", random_state=3).random_state == 3
    model = classifier("ggcm", random_state=3, calibrate=False)
    assert (model.random_state, model.embedder.random_state) == (3, 3)


@pytest.mark.parametrize(
    ("method", "calibrate", "kind"),
    [
        ("auto", None, gssl.CalibratedClassifier),
        ("auto", False, gssl.AutoClassifier),
        ("ogc", None, gssl.OGC),
        ("ogc", True, gssl.CalibratedClassifier),
        ("ggcm", None, gssl.CalibratedClassifier),
        ("ggcm", False, gssl.EmbeddingClassifier),
    ],
)
def test_what_is_cheap_is_calibrated_unless_the_caller_says(method, calibrate, kind):
    assert type(classifier(method, calibrate=calibrate)) is kind


def test_a_time_budget_is_for_auto():
    assert classifier(time_budget=2.0).classifier.time_budget == 2.0
    with pytest.raises(ValueError, match="`time_budget` works with `method` auto only: leave it out for ogc"):
        classifier("ogc", time_budget=2.0)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="there is no method 'magic': choose one of correctandsmooth, g2cn"):
        classifier("magic")
    with pytest.raises(ValueError, match="there is no method 'ogc': choose one of g2cn"):
        embedder("ogc")

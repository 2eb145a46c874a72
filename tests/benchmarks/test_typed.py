"""The problems of typed links are those of their publications."""

import numpy as np
import pytest

from benchmarks.accuracy.relations import relation_problems
from gssl.datasets.location import find_file


@pytest.fixture(scope="module")
def problems():
    try:
        find_file("relations/het_acm.npz")
    except FileNotFoundError:
        pytest.skip("the graphs with typed links are not here: set GSSL_DATA_DIR")
    return {(p.name, p.split, p.measure): p for p in relation_problems(range(1))}


def test_every_problem_has_its_split_and_several_kinds_of_links_or_directions(problems):
    assert len({name for name, *_ in problems}) == 7
    for problem in problems.values():
        assert len(problem.relations) > 1 or problem.directed
        known = np.isnan(problem.y) if problem.y.dtype.kind == "f" else problem.y == -1
        # no answer of a test node is given
        assert known[problem.test].all()


def test_papers_have_as_many_labels_per_class_as_the_split_says(problems):
    for budget in (20, 40, 60):
        problem = problems["het_acm", f"{budget} per class", "macro F1"]
        assert np.bincount(problem.y[problem.y >= 0]).tolist() == [budget] * 3
        assert len(problem.test) == 1000

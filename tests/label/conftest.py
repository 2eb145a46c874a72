from contextlib import closing

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.io import Problem
from gssl.label.journal import Journal
from gssl.label.session import Session

CLASSES = ("ash", "birch", "cedar")


def build(n=90, seed=0, labels=0):
    """Return three groups of nodes, their features and links, and the class of each node."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    same = truth[:, None] == truth
    upper = np.triu(rng.random((n, n)) < np.where(same, 0.2, 0.01), 1)
    X = (rng.standard_normal((n, 12)) + 2.0 * np.eye(12)[truth]).astype(np.float32)
    y = np.full(n, None, dtype=object)
    y[:labels] = [CLASSES[code] for code in truth[:labels]]
    ids = np.array([f"n{i}" for i in range(n)], dtype=object)
    A = csr_array((upper | upper.T).astype(np.float64))
    names = tuple(f"leaf {k}" for k in range(12))
    return Problem(ids, A, X, y, feature_names=names), [CLASSES[code] for code in truth]


@pytest.fixture
def make_problem():
    return build


@pytest.fixture
def problem():
    return build()[0]


@pytest.fixture
def truth():
    return build()[1]


@pytest.fixture
def numbers(problem):
    """Return a number for each node, which follows from its features and some noise."""
    X = problem.features
    return (10.0 + 3.0 * X[:, 0] - 2.0 * X[:, 1] + 0.1 * X[:, 5]).astype(np.float64)


@pytest.fixture
def session(problem, tmp_path, request):
    answers = getattr(request, "param", "classes")
    journal = Journal(tmp_path / "labels.csv.journal", answers)
    yield Session(problem, journal, layout=False, answers=answers)
    journal.close()


@pytest.fixture
def label(session, truth, numbers):
    """Return a function that labels nodes with their true classes or numbers."""
    labels = truth if session.labelling.kind.answers == "classes" else numbers.tolist()

    def label(*nodes):
        for node in nodes:
            session.act({"do": "label", "nodes": [node], "label": labels[node]}, session.version)

    return label


@pytest.fixture
def reopen(problem, tmp_path):
    """Return a function that goes on from a journal in a new session."""

    def reopen(problem=problem, answers="classes"):
        with closing(Journal(tmp_path / "labels.csv.journal", answers)) as journal:
            return Session(problem, journal, layout=False, answers=answers)

    return reopen

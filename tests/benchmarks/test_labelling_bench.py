import numpy as np

import gssl
from benchmarks.rows import labelling
from gssl.io import Problem
from gssl.label.session import Session


def test_the_oracle_labels_through_the_session(monkeypatch):
    monkeypatch.setattr(labelling, "BUDGETS", (4, 8))
    data = gssl.datasets.load("karate")
    problem = Problem(data.node_ids.astype(object), data.adjacency, None, np.full(34, None, dtype=object))
    truth = [f"c{code}" for code in data.labels]
    session = Session(problem, layout=False)
    for order in ("suggested", "random"):
        points = list(labelling.simulate(session, truth, order, seed=0))
        assert [point.budget for point in points] == [4, 8]
        assert points[1].accuracy > 0.75
        assert points[1].share == session.opinion.answer.hits.mean()
        assert points[1].estimate == session.state()["accuracy"]["share"]
        codes = session.labelling.codes
        assert all(session.labelling.classes[code] == truth[node] for node, code in codes.items())
        assert len(codes) == 8


def test_the_synthetic_graph_has_500_labels_and_classes_in_its_links():
    problem, truth = labelling.synthetic(2000, 8, 4)
    assert int(problem.given.sum()) == 500
    u, v = problem.adjacency.nonzero()
    names = np.array(truth)
    assert round((names[u] == names[v]).mean(), 2) == 0.64
    assert problem.adjacency.diagonal().sum() == 0

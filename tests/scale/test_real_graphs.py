"""Predictions in memory, within a budget and on a cluster are the same on well-known graphs."""

import warnings

import numpy as np
import pytest
from tests.problems import use_label_space

import gssl

distributed = pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")

METHODS = {
    "OGC": lambda: gssl.OGC(random_state=0),
    "OGC, all columns": lambda: gssl.OGC(random_state=0, max_iter=12),
    "GGC": lambda: gssl.EmbeddingClassifier(gssl.GGC(depth=4)),
    "GGCM": lambda: gssl.EmbeddingClassifier(gssl.GGCM()),
    "SGC": lambda: gssl.EmbeddingClassifier(gssl.SGC()),
    "SSGC": lambda: gssl.EmbeddingClassifier(gssl.SSGC(depth=8)),
    "LabelSpreading": lambda: gssl.LabelSpreading(),
}
QUICK = ("OGC", "OGC, all columns", "GGCM", "LabelSpreading")


def _load(name):
    if name == "synthetic":
        return gssl.datasets.make_block_graph(200_000, 2_000_000, 64, 8, features="dense", random_state=0)
    if name == "cora":
        return gssl.datasets.load("cora").normalized()
    try:
        return gssl.datasets.load(name).normalized()
    except Exception as error:
        pytest.skip(f"{name} is not here: {str(error).splitlines()[0]}")


def _labels(data):
    split = "public" if "public" in data.splits else "default"
    if split in data.splits:
        return data.mask_labels(split)
    chosen = gssl.datasets.draw_split(data.labels, per_class=20, n_val=500, random_state=0)["train"]
    y = np.full(len(data.labels), -1)
    y[chosen] = data.labels[chosen]
    return y


def _same_columns(found, expected, step=512):
    """Compare large embeddings a block of columns at a time."""
    assert found.shape == expected.shape
    for start in range(0, found.shape[1], step):
        part = slice(start, start + step)
        np.testing.assert_allclose(found[:, part], expected[:, part], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        # other filters have the same code path as GGCM
        *(("cora", method) for method in QUICK),
        *(pytest.param("cora", method, marks=pytest.mark.slow) for method in METHODS if method not in QUICK),
        *(
            pytest.param(name, method, marks=pytest.mark.slow)
            for name in ("planetoid/pubmed", "graphs/coauthor_cs", "synthetic")
            for method in METHODS
        ),
    ],
)
def test_predictions_are_the_same_anywhere(client, name, method, monkeypatch):
    if method == "OGC, all columns":
        use_label_space(monkeypatch, gssl.OGC, False)
    data = _load(name)
    y = _labels(data)
    n, d = data.features.shape
    # a quarter of the embeddings, plus the graph and the scores
    budget = int(n * d * data.features.dtype.itemsize / 4 + data.adjacency.nnz * 16 + n * 40 * len(set(y)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = METHODS[method]().fit(data.features, y, adjacency=data.adjacency)
        for settings in ({"memory": budget}, {"client": client}):
            with gssl.execution(**settings):
                found = METHODS[method]().fit(data.features, y, adjacency=data.adjacency)
                embedding = None if method == "LabelSpreading" else found.embedding_
            assert (found.transduction_ == plain.transduction_).all()
            np.testing.assert_allclose(found.label_distributions_, plain.label_distributions_, atol=1e-4)
            assert found.n_iter_ == plain.n_iter_
            if embedding is not None:
                _same_columns(embedding, plain.embedding_)

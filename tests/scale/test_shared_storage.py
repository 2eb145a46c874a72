"""A graph store on storage that all workers see is opened by each of them, never sent."""

import numpy as np
import pytest

import gssl
from gssl.io import build_graph_store
from gssl.methods.ogc import Iteration

pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")
cloudpickle = pytest.importorskip("cloudpickle", reason="the extra 'distributed' is not installed")

_NODES, _EDGES = 20_000, 200_000


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A graph and features in files, and labels."""
    folder = tmp_path_factory.mktemp("shared")
    edges = f"SELECT hash(i) % {_NODES} AS src, hash(-i) % {_NODES} AS dst FROM range({_EDGES}) t(i)"
    build_graph_store(edges, folder / "graph")
    store = gssl.io.open_graph_store(folder / "graph")
    n = store.adjacency.shape[0]
    np.save(folder / "X.npy", np.random.default_rng(0).random((n, 32), dtype=np.float32))
    y = np.where(np.arange(n) % 200 == 0, np.arange(n) // 200 % 3, -1)
    return np.load(folder / "X.npy", mmap_mode="r"), y, store.adjacency, folder


@pytest.fixture
def sent(monkeypatch):
    """Note how many bytes everything has that is sent to workers."""
    from gssl.scale.team import Team

    sizes, send = [], Team.send

    def note(self, array, to=None):
        pickled = cloudpickle.dumps(array)
        sizes.append(len(pickled))
        return send(self, array, to)

    monkeypatch.setattr(Team, "send", note)
    return sizes


def _mapped():
    """Tell on a worker the files that the graph of the last run lies in."""
    from gssl.graph.mapped import mapped_file
    from gssl.scale import worker

    A_hat = next(reversed(worker._runs.values())).work._filters.A_hat
    return [str(mapped_file(array).path) for array in (A_hat.indptr, A_hat.indices)]


@pytest.mark.usefixtures("direct")
def test_workers_of_ogc_map_the_graph_and_read_their_columns(stored, client, sent, monkeypatch):
    X, y, A, folder = stored
    plain = gssl.OGC(random_state=0, max_iter=4).fit(np.array(X), y, adjacency=A, memory_budget="1GB")
    seen, step = [], Iteration.step

    def look(self, problem, embedding, state, k):
        seen.extend(client.run(_mapped).values())
        return step(self, problem, embedding, state, k)

    monkeypatch.setattr(Iteration, "step", look)
    found = gssl.OGC(random_state=0, max_iter=4).fit(X, y, adjacency=A, client=client)
    names = [str(folder / "graph" / f"{name}.npy") for name in ("indptr", "indices")]
    assert seen == [names] * 2 * found.n_iter_
    # the scales of the nodes are sent, links and features are not
    assert len(sent) == 1
    assert sent[0] < 8 * len(X) < A.indices.nbytes
    assert np.array_equal(found.label_distributions_, plain.label_distributions_)


def test_workers_of_ggcm_are_sent_no_links(stored, client, sent):
    X, _, A, _ = stored
    expected = gssl.GGCM(depth=3).fit(np.array(X), adjacency=A).embedding_
    found = gssl.GGCM(depth=3).fit(X, adjacency=A, client=client).embedding_
    # the scales of nodes and of their negatives
    assert len(sent) == 1
    assert sent[0] < 16 * len(X) < A.indices.nbytes
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)

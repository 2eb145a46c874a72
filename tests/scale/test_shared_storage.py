"""Workers open a graph store on shared storage themselves; it is never sent."""

import numpy as np
import pytest

import gssl
from gssl.io import build_graph_store
from gssl.scale.cluster import Cluster

distributed = pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")
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
    """Record the size of each task's arguments, without futures, whose data stay on the workers."""
    sizes, submit = [], Cluster.submit

    def note(self, function, s, *arguments, **options):
        plain = [part for part in arguments if not isinstance(part, distributed.Future)]
        sizes.append(len(cloudpickle.dumps(plain)))
        return submit(self, function, s, *arguments, **options)

    monkeypatch.setattr(Cluster, "submit", note)
    return sizes


@pytest.mark.usefixtures("direct")
def test_workers_of_ogc_map_the_graph_and_read_their_columns(stored, client, sent):
    X, y, A, _ = stored
    with gssl.execution(memory="1GB"):
        plain = gssl.OGC(random_state=0, max_iter=4).fit(np.array(X), y, adjacency=A)
    with gssl.execution(client=client):
        found = gssl.OGC(random_state=0, max_iter=4).fit(X, y, adjacency=A)
    # only the scales of the nodes are sent, not links or features
    assert 4 * len(X) < max(sent) < 8 * len(X) < A.indices.nbytes
    assert sum(size > len(X) for size in sent) == 1
    assert np.array_equal(found.label_distributions_, plain.label_distributions_)


def test_workers_of_ggcm_are_sent_no_links(stored, client, sent):
    X, _, A, _ = stored
    expected = gssl.GGCM(depth=3).fit(np.array(X), adjacency=A).embedding_
    with gssl.execution(client=client):
        found = gssl.GGCM(depth=3).fit(X, adjacency=A).embedding_
    # only the scales of nodes and of negatives are sent
    assert max(sent) < 16 * len(X) < A.indices.nbytes
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)

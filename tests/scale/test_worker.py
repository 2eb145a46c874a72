"""Functions run on workers do not change their inputs, and little data is sent."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.graph.mapped import mapped_file
from gssl.operators import Filters, Pull, complement_negatives, get_threads, normalized_adjacency, set_threads
from gssl.scale import worker
from gssl.scale.columns import transposed_product
from gssl.scale.memory import available_memory
from gssl.scale.worker import FileColumns, FileSlab, PackedFilters

pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")


@pytest.fixture
def stored(tmp_path):
    """A graph whose links are in files."""
    A = csr_array(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    A_hat = normalized_adjacency(A, np.float32)
    for name in ("indptr", "indices"):
        np.save(tmp_path / f"{name}.npy", getattr(A_hat, name).astype(np.int32))
    indptr, indices = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("indptr", "indices"))
    mapped = csr_array((np.broadcast_to(np.float32(1), indices.shape), indices, indptr), shape=(3, 3))
    return A, Filters(normalized_adjacency(mapped, np.float32), complement_negatives(mapped, np.float32))


def test_a_graph_in_files_travels_by_name_and_is_mapped_again(stored):
    A, filters = stored
    packed = PackedFilters.of(filters, lambda file: True)
    assert packed.opened is packed.opened
    again = pickle.loads(pickle.dumps(packed))  # noqa: S301
    assert again.A_hat.indices.size == again.N_hat.indices.size == 0
    assert mapped_file(again.opened.A_hat.indices).path == mapped_file(filters.A_hat.indices).path
    U = np.eye(3, dtype=np.float32)
    expected = normalized_adjacency(A, np.float32) @ U
    np.testing.assert_array_equal(again.opened.A_hat @ U, expected)
    np.testing.assert_array_equal(again.opened.N_hat @ U, filters.N_hat @ U)
    unseen = pickle.loads(pickle.dumps(PackedFilters.of(filters, lambda file: False)))  # noqa: S301
    assert unseen.files == {}
    np.testing.assert_array_equal(unseen.opened.A_hat @ U, expected)


def test_columns_in_a_file_are_read_by_whoever_needs_them(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    X = np.load(tmp_path / "x.npy", mmap_mode="r")
    part = worker.part_of(mapped_file(X), slice(1, 3))
    assert part.read().tolist() == np.eye(3)[:, 1:].tolist()
    assert worker.part_of(np.eye(3), slice(1, 2)).tolist() == [[0], [1], [0]]
    (tmp_path / "x.npy").unlink()
    with pytest.raises(FileNotFoundError, match=r"x\.npy does not exist on a worker that joined later"):
        FileColumns(part.file, slice(0, 1)).read()


def test_an_array_is_handed_over_in_a_file_that_its_receiver_deletes(tmp_path):
    U = np.arange(6.0).reshape(3, 2)
    part = pickle.loads(pickle.dumps(worker.hand_over(U[:, ::-1], tmp_path / "u")))  # noqa: S301
    assert isinstance(part, FileColumns)
    assert (tmp_path / "u").exists()
    np.testing.assert_array_equal(worker.take_over(part), U[:, ::-1])
    assert not (tmp_path / "u").exists()


def test_an_array_is_sent_where_it_cannot_be_handed_over(tmp_path):
    U, sparse = np.eye(2), csr_array(np.eye(2))
    assert worker.hand_over(U, None) is U
    assert worker.hand_over(U, tmp_path / "nowhere" / "u") is U
    assert worker.hand_over(sparse, tmp_path / "u") is sparse
    assert worker.take_over(U) is U


def test_a_worker_that_does_not_see_the_columns_says_so(tmp_path):
    part = worker.hand_over(np.eye(2), tmp_path / "u")
    job = [lambda U, filters, columns: 2 * U, None]
    result = worker.embed(job, part, slice(0, 2), tmp_path)
    assert worker.take_over(result).tolist() == [[2, 0], [0, 2]]
    assert worker.take_over(worker.embed(job, np.eye(2), slice(0, 2))).tolist() == [[2, 0], [0, 2]]
    (tmp_path / "u").unlink()
    assert worker.embed(job, part, slice(0, 2), tmp_path) is None
    with pytest.raises(FileNotFoundError, match="does not exist on a worker that joined later"):
        worker.embed(job, part, slice(0, 2))


def test_a_slab_in_a_file_is_pickled_by_content_and_removed_after_use():
    U = np.arange(6.0).reshape(3, 2)
    slab = FileSlab(U)
    path = slab._path
    again = pickle.loads(pickle.dumps(slab))  # noqa: S301
    assert again._path != path
    assert slab.__sizeof__() == U.nbytes
    mapped = np.asarray(slab)
    del slab
    assert not path.exists()
    np.testing.assert_array_equal(mapped, U)
    np.testing.assert_array_equal(np.asarray(again), U)


@pytest.mark.parametrize("in_file", [False, True])
def test_a_step_does_not_write_to_what_it_is_given(stored, in_file):
    _, filters = stored
    rng = np.random.default_rng(0)
    X = rng.random((3, 4)).astype(np.float32)
    # a view of a buffer, like arrays that Dask has received
    given = np.frombuffer(X.tobytes(), X.dtype).copy().reshape(3, 4)
    W = rng.random((6, 2)).astype(np.float32)
    pull = Pull(np.array([1]), np.ones((1, 2), np.float32), W)
    U = worker.load(csr_array(given) if in_file else given, in_file)
    assert isinstance(U, FileSlab) == in_file
    packed = PackedFilters.of(filters, lambda file: True)
    moved = worker.advance(U, packed, [(0.5, pull), (1.0, None), (0.25, pull)], slice(2, 6), in_file)
    assert isinstance(moved, FileSlab) == in_file
    np.testing.assert_array_equal(given, X)
    np.testing.assert_array_equal(np.asarray(U), X)
    A_hat, expected = filters.A_hat.toarray(), X.astype(np.float64)
    for beta, pulled in ((0.5, 1), (1.0, 0), (0.25, 1)):
        expected = beta * A_hat @ expected + (1 - beta) * expected
        expected[1] += pulled * W[2:].sum(axis=1)
    np.testing.assert_allclose(np.asarray(moved), expected, rtol=1e-5)
    total = np.ones((3, 2))
    scores = worker.add_product(moved, W[2:], total)
    np.testing.assert_allclose(scores, 1 + expected @ W[2:], rtol=1e-5)
    assert (total == 1).all()
    rows = worker.pick(moved, np.array([2, 0]))
    np.testing.assert_allclose(transposed_product(rows, W[:2]), expected[[2, 0]].T @ W[:2], rtol=1e-5)


def test_a_worker_in_the_process_of_its_client_keeps_its_threads():
    set_threads(2)
    try:
        assert worker.run_on_one_thread(os.getpid(), get_threads) == 2
    finally:
        set_threads(None)


def test_a_worker_knows_its_room_its_network_and_the_files_it_sees(tmp_path):
    assert 0 < worker.memory_share(2) <= available_memory()
    assert worker.network() == worker.network()
    file = tmp_path / "x"
    file.write_bytes(b"1234")
    known = file.stat()
    assert worker.sees(str(file), 4, known.st_mtime_ns)
    assert not worker.sees(str(file), 5, known.st_mtime_ns)
    assert not worker.sees(str(Path("no such file")), 4, 0)

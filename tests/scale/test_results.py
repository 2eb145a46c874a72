"""A result is one array with a mask of finished columns, wherever it is."""

import gc
from pathlib import Path

import numpy as np
import pytest

from gssl.scale.memory import SlabPlan
from gssl.scale.results import Results, reserve_array, write_columns
from gssl.scale.run_folder import RunFolder


@pytest.mark.parametrize("where", ["memory", "temporary file", "resume folder"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [0, 1, 5])
def test_slabs_are_put_in_any_order(tmp_path, where, dtype, n_rows):
    U = np.random.default_rng(0).random((n_rows, 40)).astype(dtype)
    kept = RunFolder(tmp_path) if where == "resume folder" else None
    results = Results(SlabPlan(40, 17), 8 if where == "temporary file" else 10**6, kept)
    assert results.todo == [0, 1, 2]
    for s in (2, 0, 1):
        results.put(s, U[:, results.plan.slabs[s]])
    whole = results.whole()
    assert isinstance(whole, np.memmap) == (where == "temporary file" and n_rows > 0)
    assert whole.dtype == dtype
    np.testing.assert_array_equal(whole, U)


def test_a_temporary_file_goes_with_the_last_reference_to_its_columns():
    results = Results(SlabPlan(4, 2), max_bytes=8)
    for s in (0, 1):
        results.put(s, np.full((3, 2), float(s)))
    column = results.whole()[:, 2]
    path = Path(results.whole().filename)
    del results
    gc.collect()
    assert path.exists()
    assert column.tolist() == [1, 1, 1]
    del column
    gc.collect()
    assert not path.exists()


def test_finished_columns_are_reused_whatever_slabs_they_came_in(tmp_path):
    results = Results(SlabPlan(6, 2), 100, RunFolder(tmp_path))
    results.put(2, np.array([[5.0, 6.0]]))
    results.put(0, np.array([[1.0, 2.0]]))
    assert (np.load(tmp_path / "finished.npy") > 0).tolist() == [True, True, False, False, True, True]
    again = Results(SlabPlan(6, 1), 100, RunFolder(tmp_path))
    assert again.todo == [2, 3]
    assert Results(SlabPlan(6, 3), 100, RunFolder(tmp_path)).todo == [0, 1]
    again.put(2, np.array([[3.0]]))
    again.put(3, np.array([[4.0]]))
    assert again.whole().tolist() == [[1, 2, 3, 4, 5, 6]]
    large = Results(SlabPlan(6, 6), 8, RunFolder(tmp_path))
    assert large.todo == []
    assert isinstance(large.whole(), np.memmap)


def test_columns_are_marked_only_when_they_are_on_disk(tmp_path, monkeypatch):
    results = Results(SlabPlan(4, 2), 100, RunFolder(tmp_path))
    results.put(0, np.array([[1.0, 2.0]]))

    def fail(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("gssl.scale.results.write_columns", fail)
    with pytest.raises(KeyboardInterrupt):
        results.put(1, np.array([[3.0, 4.0]]))
    assert Results(SlabPlan(4, 2), 100, RunFolder(tmp_path)).todo == [1]


def test_columns_of_a_file_can_be_written_again(tmp_path):
    U = np.random.default_rng(0).random((5, 40))
    for _ in range(2):
        file = reserve_array(tmp_path / "u.npy", U.shape, U.dtype)
    write_columns(file, slice(0, 40), U, durable=False)
    write_columns(file, slice(3, 4), 2 * U[:, 3:4], durable=True)
    written = np.load(tmp_path / "u.npy")
    assert written[:, 3].tolist() == (2 * U[:, 3]).tolist()
    np.testing.assert_array_equal(np.delete(written, 3, axis=1), np.delete(U, 3, axis=1))

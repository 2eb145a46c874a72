"""Only a gssl.execution block determines where a fit runs."""

import threading

import pytest

import gssl
from gssl.scale.execution import InMemory, current_execution, current_settings, part_of_run, without_resume


def test_a_plain_fit_runs_in_memory():
    assert isinstance(current_execution(gssl.OGC()), InMemory)


def test_a_back_end_is_that_of_the_block():
    backend = pytest.importorskip("gssl.torch.backend", reason="torch is not installed")
    with gssl.execution(backend="torch", device="cpu"):
        assert isinstance(current_execution(gssl.SGC()), backend.TorchExecution)
        # a method that does not know it runs in memory
        assert isinstance(current_execution(gssl.CorrectAndSmooth()), InMemory)


def test_an_inner_block_changes_what_it_names_and_nothing_else(tmp_path):
    with gssl.execution(memory="2 GB", resume=tmp_path):
        with gssl.execution(memory="1 GB"):
            assert current_settings().memory == 10**9
            assert current_settings().resume == tmp_path
        assert current_settings().memory == 2 * 10**9
    assert current_settings().memory is None


def test_a_block_ends_with_an_error():
    with pytest.raises(KeyError), gssl.execution(memory="1GB"):
        raise KeyError
    assert current_settings().memory is None


def test_another_thread_is_another_block():
    seen = []
    with gssl.execution(memory="1GB"):
        thread = threading.Thread(target=lambda: seen.append(current_settings().memory))
        thread.start()
        thread.join()
    assert seen == [None]


def test_a_fit_inside_a_fit_has_a_folder_of_its_own(tmp_path):
    with part_of_run("ogc"):
        assert current_settings().resume is None
    with gssl.execution(resume=tmp_path):
        with part_of_run("ogc"):
            assert current_settings().resume == tmp_path / "ogc"
        with without_resume():
            assert current_settings().resume is None
        assert current_execution(gssl.OGC(), resumes=False).resume is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "jax"}, 'backend must be "numba" or "torch", not \'jax\''),
        ({"device": "cuda"}, "device='cuda' needs backend=\"torch\""),
        ({"backend": "torch", "memory": "1GB"}, 'memory, client and resume need backend="numba"'),
        ({"memory": "much"}, "'much' is not an amount of memory"),
        ({"client": "tcp://host:8786"}, "not a Dask client"),
    ],
)
def test_what_cannot_be_is_refused_at_once(options, message):
    with pytest.raises((ValueError, TypeError), match=message), gssl.execution(**options):
        pass


def test_a_method_that_needs_all_columns_says_so(tmp_path):
    message = (
        "CorrectAndSmooth cannot run on some columns at a time: fit it without memory, client and resume"
    )
    with gssl.execution(resume=tmp_path), pytest.raises(ValueError, match=message):
        current_execution(gssl.CorrectAndSmooth())

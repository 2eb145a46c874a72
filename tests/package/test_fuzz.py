"""Every target of scripts/fuzz.py runs, and an attempt is a function of its seed."""

import pytest
from tests.package.scripts import load_script

fuzz = load_script("fuzz")


@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_a_few_attempts_find_nothing(target):
    seeds = range(2) if target == "states" else range(5)
    assert [fuzz.attempt(target, seed) for seed in seeds] == [""] * len(seeds)
    if fuzz.PAGE:
        fuzz.PAGE.pop().server.shutdown()


def test_an_error_is_a_finding():
    assert "KeyError: 'nowhere'" in fuzz.attempt("nowhere", 0)

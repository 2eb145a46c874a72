"""Every requirement has a lower bound, so the oldest versions can be installed and tested."""

import pytest
from tests.package.scripts import load_script

oldest = load_script("oldest")


def test_a_lower_bound_becomes_a_pin():
    assert oldest.oldest("scikit-learn>=1.6") == "scikit-learn==1.6"


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy>=2.2,<3", "numpy==2.2"])
def test_other_requirements_are_refused(requirement):
    with pytest.raises(ValueError, match="lower bound"):
        oldest.oldest(requirement)


def test_every_requirement_and_every_library_of_the_tests_has_one():
    names = [pin.split("==")[0] for pin in oldest.oldest_versions()]
    assert {"numpy", "scipy", "click", "jinja2", *oldest.LIBRARIES} <= set(names)


def test_libraries_that_only_tests_use_can_be_left_out():
    assert [pin for pin in oldest.oldest_versions(()) if pin.split("==")[0] in oldest.LIBRARIES] == []

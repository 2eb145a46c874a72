import pytest

from gssl.wording import ClassName, is_missing_text


@pytest.mark.parametrize("text", ["", "  ", "NA", " null\t", "?"])
def test_markers_of_missing_values_may_have_white_space_around_them(text):
    assert is_missing_text(text)
    assert not is_missing_text(ClassName(text))


@pytest.mark.parametrize("text", ["0", "none", "x NA"])
def test_other_texts_are_values(text):
    assert not is_missing_text(text)

import numpy as np
import pytest

from gssl.selection import masked_labels


@pytest.mark.parametrize(
    ("y", "nothing"),
    [
        ([3, 3, 7, 7, 7, -1], -1),
        (np.array([3, 3, 7, 7, 7, 9], dtype=np.uint8), -1),
        (["a", "a", "b", "b", "b", None], None),
        ([2.0, 2.0, 1.0, 1.0, 1.0, np.nan], None),
    ],
)
def test_every_label_is_hidden_once_and_the_others_stay(y, nothing):
    given = list(y)
    if nothing == -1 and given[-1] == 9:
        given, y = given[:5], np.asarray(y)[:5]
    seen = []
    for masked, hidden in masked_labels(y, n_folds=2):
        assert all(masked[i] == nothing for i in hidden)
        kept = [i for i in range(5) if i not in hidden]
        assert [masked[i] for i in kept] == [given[i] for i in kept]
        assert {given[i] for i in kept} == set(given[:5])
        seen += hidden.tolist()
    assert sorted(seen) == [0, 1, 2, 3, 4]


def test_a_class_with_one_label_is_never_hidden():
    hidden = np.concatenate([nodes for _, nodes in masked_labels([0, 0, 1], n_folds=2)])
    assert sorted(hidden.tolist()) == [0, 1]

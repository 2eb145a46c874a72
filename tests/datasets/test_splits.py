from __future__ import annotations

import numpy as np
import pytest

from gssl.datasets import draw_split

LABELS = np.array([0] * 30 + [1] * 40 + [2] * 20 + [-1] * 10)


def test_every_class_has_the_same_share_of_training():
    split = draw_split(LABELS, per_class=5, n_val=10, n_test=20)
    assert np.bincount(LABELS[split["train"]]).tolist() == [5, 5, 5]
    assert [split[part].size for part in ("train", "val", "test")] == [15, 10, 20]
    together = np.concatenate(list(split.values()))
    assert np.unique(together).size == together.size
    assert (LABELS[together] >= 0).all()


def test_test_takes_all_that_is_left():
    split = draw_split(LABELS, per_class=20, n_val=7)
    assert split["test"].size == 90 - 60 - 7
    assert np.array_equal(np.sort(np.concatenate(list(split.values()))), np.arange(90))


def test_same_seed_same_split():
    first, again, other = (draw_split(LABELS, 5, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(first["train"], again["train"])
    assert not np.array_equal(first["train"], other["train"])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((21, 0, None), "Class 2 has 20 labelled nodes but per_class=21"),
        ((20, 20, 11), "20 validation and 11 test nodes were asked for but 30 labelled nodes are left"),
        ((20, 31, None), "31 validation"),
        ((-1, 0, None), "fewer than 0"),
    ],
)
def test_too_much_is_refused(sizes: tuple[int, int, int | None], message: str):
    with pytest.raises(ValueError, match=message):
        draw_split(LABELS, *sizes)

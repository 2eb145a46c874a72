import numpy as np
import pytest

from gssl.label.accuracy_estimate import estimate_accuracy


def draw(n, seed):
    """Return confidences, and hits that are more frequent than they say."""
    rng = np.random.default_rng(seed)
    confidences = rng.uniform(0.3, 0.99, n)
    right = 1 / (1 + np.exp(-(0.5 + 1.2 * np.log(confidences / (1 - confidences)))))
    return confidences, (rng.random(n) < right).astype(float)


def test_labels_that_are_harder_than_most_do_not_lower_the_estimate():
    within = 0
    for seed in range(20):
        confidences, hits = draw(5_000, seed)
        # labels are of the least certain nodes, mostly
        rng, nodes = np.random.default_rng(seed), np.argsort(confidences)
        hard, any_ = nodes[:2000][rng.permutation(2000)[:300]], rng.permutation(5_000)[:60]
        asked = np.unique(np.concatenate([hard, any_]))
        share, error = estimate_accuracy(confidences[asked], hits[asked], np.delete(confidences, asked))
        truth = np.delete(hits, asked).mean()
        assert hits[asked].mean() < truth - 0.1
        assert error < 0.05
        within += abs(share - truth) < 2 * error
    assert within >= 17


def test_of_labels_drawn_at_random_it_is_about_their_share():
    confidences, hits = draw(2000, 3)
    share, error = estimate_accuracy(confidences[:300], hits[:300], confidences[300:])
    assert share == pytest.approx(hits[:300].mean(), abs=0.03)
    p = (300 * share + 1) / 302
    assert error >= np.sqrt(p * (1 - p) / 302)


def test_few_labels_that_are_all_right_leave_room_for_doubt():
    share, error = estimate_accuracy(np.full(8, 0.9), np.ones(8), np.full(50, 0.5))
    assert 0.4 < share < 0.9
    assert error > 0.1


def test_without_other_nodes_it_is_the_share_of_hits():
    assert estimate_accuracy(np.full(4, 0.9), np.array([1, 1, 1, 0]), np.empty(0))[0] == 0.75

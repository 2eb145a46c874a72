"""Linear heads agree with their equations."""

import numpy as np
import pytest

import gssl


def make_rows(m, d, c, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(m) % c
    return np.eye(d)[codes % d] + 0.7 * rng.standard_normal((m, d)), codes


def softmax(Z):
    P = np.exp(Z - Z.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("c", [2, 3, 5])
@pytest.mark.parametrize("penalty", [0.01, 1.0])
def test_the_logistic_head_is_at_the_minimum_of_its_equation(c, penalty):
    """W and b follow from log P, linear in U up to a constant per row; both sum to zero over classes."""
    U, codes = make_rows(40, 6, c)
    head = gssl.LogisticHead(penalty=penalty, tol=1e-10).fit(U, codes)
    scores = np.log(head.predict_proba(np.vstack([np.zeros(6), np.eye(6)])))
    scores -= scores.mean(axis=1, keepdims=True)
    b, W = scores[0], scores[1:] - scores[0]
    residual = softmax(U @ W + b) - np.eye(c)[codes]
    s = np.sum(U**2) / 40
    np.testing.assert_allclose(U.T @ residual / 40 + penalty * s * W, 0, atol=1e-6)
    np.testing.assert_allclose(residual.mean(axis=0), 0, atol=1e-6)


@pytest.mark.parametrize("head", [gssl.LogisticHead(), gssl.RidgeHead()])
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_scale_of_features_changes_nothing(head, scale):
    U, codes = make_rows(30, 6, 3)
    new, _ = make_rows(50, 6, 3, seed=1)
    P = head.fit(U, codes).predict_proba(new)
    scaled = head.fit(scale * U, codes).predict_proba(scale * new)
    np.testing.assert_allclose(scaled, P, atol=1e-6)
    np.testing.assert_array_equal(scaled.argmax(axis=1), P.argmax(axis=1))


@pytest.mark.parametrize(("m", "d"), [(8, 20), (20, 20), (40, 5)], ids=["dual", "square", "primal"])
def test_the_ridge_head_is_its_closed_form(m, d):
    U, codes = make_rows(m, d, 3)
    head = gssl.RidgeHead(penalty=0.3).fit(U, codes)
    ridge, Y = 0.3 * np.sum(U**2), np.eye(3)[codes]
    np.testing.assert_allclose(head.coef_, U.T @ np.linalg.inv(U @ U.T + ridge * np.eye(m)) @ Y, atol=1e-12)
    np.testing.assert_allclose(head.coef_, np.linalg.inv(U.T @ U + ridge * np.eye(d)) @ U.T @ Y, atol=1e-12)


def test_the_ridge_heads_distribution_is_the_nearest_one():
    """No distribution on a fine grid is nearer to UW."""
    U, codes = make_rows(20, 4, 3)
    head = gssl.RidgeHead().fit(U, codes)
    P, Z = head.predict_proba(3 * U), 3 * U @ head.coef_
    grid = [(i / 60, j / 60, 1 - (i + j) / 60) for i in range(61) for j in range(61 - i)]
    nearest = np.min(np.sum((Z[:, None] - np.array(grid)) ** 2, axis=2), axis=1)
    assert (np.sum((Z - P) ** 2, axis=1) <= nearest + 1e-12).all()
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-14)
    assert (P >= 0).all()


def adam_by_hand(U, codes, epochs, seed, learning_rate=0.2, weight_decay=1e-5):
    """Run Adam by scalar operations, and yield W and b after every epoch."""
    d, c = U.shape[1], codes.max() + 1
    start = np.random.default_rng(seed).uniform(-1 / np.sqrt(d), 1 / np.sqrt(d), size=(d + 1, c))
    theta, first, second = start.copy(), np.zeros_like(start), np.zeros_like(start)
    for t in range(1, epochs + 1):
        P = softmax(U @ theta[:d] + theta[d])
        before = theta.copy()
        for j in range(c):
            error = P[:, j] - (codes == j)
            for i in range(d + 1):
                g = np.mean(error * (U[:, i] if i < d else 1.0)) + weight_decay * before[i, j]
                first[i, j] = 0.9 * first[i, j] + (1 - 0.9) * g
                second[i, j] = 0.999 * second[i, j] + (1 - 0.999) * g * g
                m_hat, v_hat = first[i, j] / (1 - 0.9**t), second[i, j] / (1 - 0.999**t)
                theta[i, j] -= learning_rate * m_hat / (np.sqrt(v_hat) + 1e-8)
        yield theta[:d].copy(), theta[d].copy()


def test_the_adam_head_is_adam():
    U, codes = make_rows(12, 4, 3)
    *_, (W, b) = adam_by_hand(U, codes, 30, seed=2, learning_rate=0.1, weight_decay=0.05)
    head = gssl.AdamHead(learning_rate=0.1, epochs=30, weight_decay=0.05, random_state=2).fit(U, codes)
    np.testing.assert_allclose(head.coef_, W, atol=1e-10)
    np.testing.assert_allclose(head.intercept_, b, atol=1e-10)
    np.testing.assert_allclose(head.predict_proba(U), softmax(U @ W + b), atol=1e-10)
    assert head.best_epoch_ == 30


def test_validation_only_picks_the_epoch():
    """The first epoch with the best validation accuracy is kept; W is that of a fit with as many epochs."""
    U, codes = make_rows(12, 4, 3)
    U_val, val_codes = make_rows(15, 4, 3, seed=1)
    epochs = list(adam_by_hand(U, codes, 40, seed=0))
    accuracy = [np.mean((U_val @ W + b).argmax(axis=1) == val_codes) for W, b in epochs]
    best = int(np.argmax(accuracy))
    assert 0 < best < 39
    assert accuracy.count(accuracy[best]) > 1
    head = gssl.AdamHead(epochs=40, random_state=0).fit(U, codes, validation=(U_val, val_codes))
    assert head.best_epoch_ == best + 1
    np.testing.assert_allclose(head.coef_, epochs[best][0], atol=1e-10)
    np.testing.assert_allclose(head.intercept_, epochs[best][1], atol=1e-10)
    shorter = gssl.AdamHead(epochs=best + 1, random_state=0).fit(U, codes)
    np.testing.assert_array_equal(shorter.coef_, head.coef_)


def test_validation_nodes_of_a_classifier_train_nothing(problem):
    held_out = [8, 20, 32]
    model = gssl.EmbeddingClassifier(gssl.SGC(), head="adam", random_state=0)
    model.fit(problem.X, problem.y, adjacency=problem.A, validation=held_out)
    training = np.setdiff1d(np.flatnonzero(problem.y >= 0), held_out)
    U = model.embedding_
    head = gssl.AdamHead(random_state=0, epochs=model.head_.best_epoch_).fit(U[training], problem.y[training])
    np.testing.assert_array_equal(model.head_.coef_, head.coef_)
    mask = np.isin(np.arange(36), held_out)
    again = model.fit(problem.X, problem.y, adjacency=problem.A, validation=mask)
    np.testing.assert_array_equal(again.head_.coef_, head.coef_)


@pytest.mark.parametrize(
    ("head", "validation", "message"),
    [
        ("adam", [1], "node 1, which has no label"),
        ("adam", [0, 4, 8, 12, 16, 20, 24, 28, 32], "fewer than two classes"),
        ("adam", [99], "99"),
        ("adam", np.ones(7, dtype=bool), "validation"),
        ("ridge", [0], 'of use to the "adam" head only'),
        ("forest", None, "head must be"),
    ],
)
def test_bad_heads_and_validation_nodes_are_refused(problem, head, validation, message):
    model = gssl.EmbeddingClassifier(gssl.SGC(), head=head)
    with pytest.raises(ValueError, match=message):
        model.fit(problem.X, problem.y, adjacency=problem.A, validation=validation)


@pytest.mark.parametrize("nobody", [[], np.zeros(36, dtype=bool)])
def test_no_validation_nodes_are_like_no_validation(problem, nobody):
    model = gssl.EmbeddingClassifier(gssl.SGC(), head="adam", random_state=0)
    P = model.fit(problem.X, problem.y, adjacency=problem.A).label_distributions_
    model.fit(problem.X, problem.y, adjacency=problem.A, validation=nobody)
    np.testing.assert_array_equal(model.label_distributions_, P)

"""Several labels per node: read as matrices or sets, predicted with honest probabilities, and stored."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import block_diag, csr_array
from sklearn.metrics import average_precision_score
from tests.problems import communities_with_sets

import gssl
from gssl.io import list_sets
from gssl.methods.label_sets import is_label_sets

N, KNOWN = 500, 250


@pytest.fixture(scope="module")
def problem():
    X, A, truth = communities_with_sets()
    return X, A, truth, np.where(np.arange(N)[:, None] < KNOWN, truth, np.nan)


@pytest.fixture(scope="module")
def model(problem):
    X, A, _, Y = problem
    return gssl.AutoClassifier(depth=4).fit(X, Y, adjacency=A)


def precision(model, truth):
    return average_precision_score(truth[KNOWN:], model.label_distributions_[KNOWN:], average="macro")


def test_links_and_features_both_tell_labels(problem, model):
    X, A, truth, Y = problem
    nodes = np.random.default_rng(0).permutation(N)
    alone = gssl.AutoClassifier(depth=4).fit(X, Y, adjacency=A[nodes][:, nodes])
    assert precision(model, truth) > precision(alone, truth) + 0.1
    assert model.label_distributions_.shape == model.transduction_.shape == (N, 4)
    assert set(np.unique(model.transduction_)) == {0, 1}
    assert "The graph makes hidden labels more likely than features alone." in model.explain_


def test_probabilities_are_calibrated(problem, model):
    _, _, truth, _ = problem
    P, Y = model.label_distributions_[KNOWN:].ravel(), truth[KNOWN:].ravel()
    for low in (0.0, 0.25, 0.5, 0.75):
        part = np.floor(4.0 * P) == 4.0 * low
        assert abs(P[part].mean() - Y[part].mean()) < 0.1


def test_the_score_is_the_share_of_nodes_whose_labels_are_all_right(problem, model):
    X, A, truth, Y = problem
    right = (model.transduction_ == truth).all(axis=1)[:KNOWN].mean()
    assert model.score(X, Y, adjacency=A) == pytest.approx(right)


def test_sets_of_names_frames_and_matrices_say_the_same(problem, model):
    X, A, _, Y = problem
    names = np.array(["a", "b", "c", "d"])
    sets = [None if np.isnan(row).any() else set(names[row == 1]) for row in Y]
    by_name = gssl.AutoClassifier(depth=4).fit(X, sets, adjacency=A)
    assert by_name.classes_.tolist() == names.tolist()
    frame = gssl.AutoClassifier(depth=4).fit(X, pd.DataFrame(Y, columns=names), adjacency=A)
    for other in (by_name, frame):
        np.testing.assert_allclose(other.label_distributions_, model.label_distributions_, atol=1e-8)


def test_the_first_node_may_have_one_label():
    assert is_label_sets([("a",), None, ("a", "b")])
    assert is_label_sets([("a",), ("b",)])
    assert not is_label_sets([["a"], ["b"]])
    assert not is_label_sets([[1.0], [2.0]])
    assert not is_label_sets(["a", "b"])


def test_single_cells_may_be_unknown(problem, model):
    X, A, truth, Y = problem
    gaps = Y.copy()
    gaps[np.random.default_rng(0).random(Y.shape) < 0.2] = np.nan
    fitted = gssl.AutoClassifier(depth=4).fit(X, gaps, adjacency=A)
    assert precision(fitted, truth) > precision(model, truth) - 0.05


def test_held_out_probabilities_do_not_know_the_label(problem):
    X, A, _, Y = problem
    noise = Y.copy()
    noise[:KNOWN, 0] = np.random.default_rng(3).random(KNOWN) < 0.5
    fitted = gssl.AutoClassifier(depth=4).fit(X, noise, adjacency=A)
    held_out = fitted.label_sets_.held_out_probabilities[:, 0]
    said = average_precision_score(noise[:KNOWN, 0], held_out)
    assert said < noise[:KNOWN, 0].mean() + 0.12


def test_new_nodes_are_predicted_with_those_of_fit(problem, model):
    X, A, _, _ = problem
    new_X, new_A, new_truth = communities_with_sets(seed=7, n=100)
    grown = csr_array(block_diag([A, new_A], format="csr"))
    P = model.predict_proba(np.vstack([X, new_X]), adjacency=grown)[N:]
    assert average_precision_score(new_truth[:, 2], P[:, 2]) > 0.7


def test_only_a_new_fit_changes_between_one_class_and_several_labels(problem):
    X, A, truth, Y = problem
    model = gssl.AutoClassifier(depth=4).fit(X, Y, adjacency=A)
    one = np.where(np.arange(N) < KNOWN, truth[:, 0], -1)
    with pytest.raises(ValueError, match="cannot change between one class and several labels"):
        model.update_labels(one)
    single = model.fit(X, one, adjacency=A)
    assert single.transduction_.shape == (N,)
    assert not hasattr(single, "label_sets_")


def test_a_table_holds_labels_and_probabilities(problem, model):
    _, _, _, Y = problem
    table = list_sets(model, [f"n{k}" for k in range(N)])
    assert table.labels[0] == "; ".join(str(k) for k in np.flatnonzero(Y[0]))
    assert table.given.sum() == KNOWN
    assert list(table.columns())[-4:] == ["p_0", "p_1", "p_2", "p_3"]
    np.testing.assert_allclose(table.columns()["p_2"][KNOWN:], model.label_distributions_[KNOWN:, 2])


def test_without_features_links_alone_tell(problem):
    _, A, truth, Y = problem
    fitted = gssl.AutoClassifier(depth=2).fit(None, Y, adjacency=A)
    found = average_precision_score(truth[KNOWN:, 0], fitted.label_distributions_[KNOWN:, 0])
    assert found > truth[:, 0].mean() + 0.2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda Y: np.where(np.arange(4) == 1, 2.0, Y), "y holds 2 at row 0, column 1"),
        (lambda Y: np.where(np.arange(4) == 3, np.nan, Y), "nothing is known about the label '3'"),
        (lambda Y: Y[1:], "y has 499 rows but X has 500"),
        (lambda Y: np.where(np.isnan(Y), Y, 1.0), "all known nodes have the same labels"),
        (
            lambda Y: [{"sport", "art"}, "music", *[None] * (N - 2)],
            "y holds the text 'music' among sets",
        ),
    ],
)
def test_wrong_labels_get_one_sentence(problem, change, message):
    X, A, _, Y = problem
    with pytest.raises(ValueError, match=message):
        gssl.AutoClassifier(depth=2).fit(X, change(Y), adjacency=A)


def test_weights_and_priors_of_classes_are_not_for_several_labels(problem):
    X, A, _, Y = problem
    with pytest.raises(ValueError, match="class_weight and priors are for one class per node"):
        gssl.AutoClassifier(priors="uniform").fit(X, Y, adjacency=A)


def test_a_label_that_all_known_nodes_agree_about_is_named(problem):
    X, A, _, Y = problem
    agreed = np.where((np.arange(4) == 1) & ~np.isnan(Y), 0.0, Y)
    with pytest.warns(
        gssl.GraphWarning, match="all known nodes agree about 1 label, which cannot be learnt: '1'"
    ):
        fitted = gssl.AutoClassifier(depth=2).fit(X, agreed, adjacency=A)
    assert fitted.label_distributions_[:, 1].max() < 0.1


def test_tools_for_one_class_say_so(model):
    for tool in (lambda: gssl.why(model, 0), lambda: gssl.selection.learning_curve(model)):
        with pytest.raises(ValueError, match="supports one class per node"):
            tool()


def test_a_notebook_shows_the_labels(model):
    assert "<th>label</th>" in model._repr_html_()


@pytest.mark.parametrize("size", [30, 300])
@pytest.mark.parametrize("kind", ["stars", "cliques"])
def test_neighbours_in_common_do_not_give_hidden_labels_away(kind, size):
    rng, n = np.random.default_rng(0), 300
    block = np.ones((size, size)) if kind == "cliques" else np.zeros((size, size))
    block[0] = block[:, 0] = 1.0
    A = np.kron(np.eye(n // size), block)
    np.fill_diagonal(A, 0.0)
    X, truth = rng.normal(size=(n, 4)), rng.integers(0, 2, size=(n, 3)).astype(float)
    known = np.arange(n) % 10 < 7
    fitted = gssl.AutoClassifier(depth=2).fit(X, np.where(known[:, None], truth, np.nan), adjacency=A)
    held_out = fitted.label_sets_.held_out_probabilities
    assert ((held_out > 0.5) == (truth[known] > 0.5)).mean() < 0.6


def test_tuples_of_one_label_are_sets_too(problem):
    X, A, _, Y = problem
    sets = np.full(N, None, dtype=object)
    for node in range(KNOWN):
        sets[node] = tuple(str(k) for k in np.flatnonzero(Y[node])) or ("none",)
    sets[0] = ("0",)
    assert gssl.AutoClassifier(depth=2).fit(X, sets, adjacency=A).transduction_.shape == (N, 5)
    with pytest.raises(ValueError, match="AutoClassifier predicts several labels, others one class"):
        gssl.OGC().fit(X, [set(one or "x") for one in sets], adjacency=A)


def test_names_of_labels_are_compared_by_score_and_kept_in_files(problem, tmp_path):
    X, A, _, Y = problem
    frame = pd.DataFrame(Y, columns=["sport", "art", "chess", "music"])
    fitted = gssl.AutoClassifier(depth=2).fit(X, frame, adjacency=A)
    assert fitted.classes_.tolist() == ["sport", "art", "chess", "music"]
    mixed = frame[["music", "art", "sport", "chess"]]
    assert fitted.score(X, mixed, adjacency=A) == fitted.score(X, frame, adjacency=A)
    with pytest.raises(ValueError, match="y has the label 'law'"):
        fitted.score(X, frame.rename(columns={"art": "law"}), adjacency=A)
    gssl.save(fitted, tmp_path / "m.gssl")
    assert gssl.load(tmp_path / "m.gssl").classes_.tolist() == fitted.classes_.tolist()


def test_cells_that_were_not_given_are_those_of_the_model(problem):
    X, A, _, Y = problem
    gaps = Y.copy()
    gaps[:KNOWN, 1] = np.where(np.arange(KNOWN) < 20, np.nan, gaps[:KNOWN, 1])
    fitted = gssl.AutoClassifier(depth=2).fit(X, gaps, adjacency=A)
    table = list_sets(fitted, np.arange(N))
    said = fitted.label_sets_.decide(fitted.label_sets_.held_out_probabilities)[:20, 1]
    assert [("1" in labels.split("; ")) for labels in table.labels[:20]] == said.tolist()

"""What a notebook shows of problems, models and results."""

import pytest

import gssl
from gssl.io import from_scipy
from gssl.selection import learning_curve


@pytest.fixture(scope="module")
def fitted():
    data = gssl.datasets.load("cora")
    y = [f"<mark>{label}</mark>" if label >= 0 else None for label in data.mask_labels("default")]
    problem = from_scipy(data.adjacency, y, data.features)
    return problem, gssl.AutoClassifier(depth=2).fit(problem)


def test_names_from_data_are_escaped(fitted):
    problem, model = fitted
    audit = gssl.audit(model, changes=0)
    shown = [problem, model, model.leaderboard_, audit, *gssl.why(model, [0]), learning_curve(model)]
    for each in shown:
        assert "<mark>" not in each._repr_html_()
    assert "&lt;mark&gt;" in problem._repr_html_()


def test_a_fitted_model_shows_its_sentence_classes_and_leaderboard(fitted):
    _, model = fitted
    html = model._repr_mimebundle_()["text/html"]
    assert "hidden labels are right" in html
    assert "<details><summary>Leaderboard</summary>" in html
    assert ">20</td>" in html
    assert "explain_" not in gssl.AutoClassifier()._repr_html_()


def test_explanations_and_suggestions_are_shown(fitted):
    problem, model = fitted
    html = gssl.why(model, [0, 5], problem=problem)._repr_html_()
    assert html.count('<svg class="near"') == html.count("<style>") == html.count("<pre>") == 2
    assert "&lt;mark&gt;" in html
    assert gssl.selection.suggestions(model, 3)._repr_html_().count("<tr>") == 4


def test_results_print_in_a_few_lines(fitted):
    problem, model = fitted
    for each in (problem, gssl.audit(model, changes=0), learning_curve(model), gssl.why(model, [0])[0]):
        assert len(repr(each)) < 3000
        assert "array(" not in repr(each)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_results_are_data_frames(fitted, library):
    pytest.importorskip(library)
    _, model = fitted
    for result in (model.leaderboard_, gssl.audit(model, changes=0), learning_curve(model)):
        frame = result.to_frame(library)
        assert len(frame) == len(next(iter(result.to_dict().values())))

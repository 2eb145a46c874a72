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


def test_names_from_data_are_escaped_and_results_print_in_a_few_lines(fitted):
    problem, model = fitted
    why = gssl.why(model, [0, 5], problem=problem)
    results = [problem, gssl.audit(model, changes=0), learning_curve(model), why[0]]
    for each in (*results, why, model, model.leaderboard_):
        assert "<mark>" not in each._repr_html_()
    for each in results:
        assert len(repr(each)) < 3000
        assert "array(" not in repr(each)
    assert "&lt;mark&gt;" in problem._repr_html_()
    html = why._repr_html_()
    assert html.count('<svg class="near"') == html.count("<style>") == html.count("<pre>") == 2
    assert "&lt;mark&gt;" in html
    assert gssl.selection.suggestions(model, 3)._repr_html_().count("<tr>") == 4


def test_a_fitted_model_shows_its_sentence_classes_and_leaderboard(fitted):
    _, model = fitted
    html = model._repr_mimebundle_()["text/html"]
    assert "hidden labels are right" in html
    assert "<details><summary>Leaderboard</summary>" in html
    assert ">20</td>" in html
    assert "explain_" not in gssl.AutoClassifier()._repr_html_()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_results_are_data_frames(fitted, library):
    pytest.importorskip(library)
    _, model = fitted
    for result in (model.leaderboard_, gssl.audit(model, changes=0), learning_curve(model)):
        frame = result.to_frame(library)
        assert len(frame) == len(next(iter(result.to_dict().values())))

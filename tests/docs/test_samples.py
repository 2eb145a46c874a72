"""The manual can be built without a browser."""

import pytest
import sample_labelling
import sample_report

import browser


@pytest.mark.parametrize(
    ("take", "names"),
    [
        (sample_labelling.take_pictures, {"labelling.svg", "labelling-narrow.svg"}),
        (
            lambda folder: sample_report.take_pictures(folder / "report.html", folder),
            {"report.svg", "report-narrow.svg"},
        ),
    ],
    ids=["labelling", "report"],
)
def test_without_a_browser_a_sentence_takes_the_place_of_each_picture(take, names, tmp_path, monkeypatch):
    monkeypatch.setattr(browser.shutil, "which", lambda name: None)
    take(tmp_path)
    pictures = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert set(pictures) == names
    assert all("built without a browser" in text for text in pictures.values())


def test_the_session_of_the_picture_has_labels_of_all_classes(monkeypatch):
    monkeypatch.setattr("gssl.label.session.place_all", lambda rows: rows[:, :2])
    session = sample_labelling.label_cora()
    assert session.state()["labelled"] == sample_labelling.LABELS
    assert len(session.labelling.classes) == 7

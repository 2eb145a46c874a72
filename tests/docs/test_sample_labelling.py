"""The manual can be built without a browser."""

import sample_labelling


def test_without_a_browser_a_sentence_takes_the_place_of_each_picture(tmp_path, monkeypatch):
    monkeypatch.setattr(sample_labelling.shutil, "which", lambda name: None)
    sample_labelling.take_pictures(tmp_path)
    pictures = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert set(pictures) == {"labelling.svg", "labelling-narrow.svg"}
    assert all("built without a browser" in text for text in pictures.values())


def test_the_session_of_the_picture_has_labels_of_all_classes(monkeypatch):
    monkeypatch.setattr("gssl.label.session.place_all", lambda rows: rows[:, :2])
    session = sample_labelling.label_cora()
    assert session.state()["labelled"] == sample_labelling.LABELS
    assert len(session.labelling.classes) == 7

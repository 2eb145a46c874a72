import pytest

from gssl.cli.choice import classifier_names, embedder_names

EMBEDDERS = ["g2cn", "ggc", "ggcm", "heatkernel", "hopfilter", "ndls", "nograph", "ppr", "sgc", "ssgc"]

METHODS = ["auto", "ogc", *EMBEDDERS, "labelpropagation", "labelspreading"]
METHODS += ["manifoldregularization", "correctandsmooth"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method(graph, classify, method):
    assert graph.labels(classify(more=["--method", method])) == graph.truth


def test_embed_offers_what_embeds(run):
    assert sorted(EMBEDDERS) == sorted(embedder_names())
    text = "".join(run("embed", "--help").stdout.split())
    assert f"--method[{'|'.join(EMBEDDERS)}]" in text


def test_the_help_lists_every_method(run):
    assert sorted(METHODS[1:]) == sorted(classifier_names())
    text = run("classify", "--help").stdout
    assert all(name in text for name in METHODS)
    assert "Examples:" in text

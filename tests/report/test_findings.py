from dataclasses import replace

import numpy as np

import gssl
from gssl.evaluation import held_out_if_known
from gssl.io import list_predictions
from gssl.report.findings import class_rows, doubts, headline, reasons
from gssl.selection import audit, why


def test_classes_show_counts_and_how_good_they_are_on_hidden_labels(karate_page):
    rows = class_rows(karate_page.predictions, karate_page.held_out)
    confusion = karate_page.held_out.confusion
    assert sum(row.given for row in rows) == 20
    assert sum(row.predicted for row in rows) == 14
    for row in rows:
        k = confusion.classes.index(row.name)
        assert row.precision == confusion.precision[k]
        assert row.recall == confusion.recall[k]
    without = class_rows(karate_page.predictions, None)
    assert {(row.precision, row.recall) for row in without} == {(None, None)}


def test_a_label_that_the_model_contradicts_is_a_row_and_the_others_are_not(karate_page):
    rows = doubts(karate_page.audit, karate_page.predictions)
    contradicted = np.flatnonzero(karate_page.audit.given != karate_page.audit.says)
    assert [row["id"] for row in rows] == [
        karate_page.predictions.id[node] for node in karate_page.audit.nodes[contradicted]
    ]
    assert [row["p_wrong"] for row in rows] == karate_page.audit.p_wrong[contradicted].tolist()


def test_nodes_that_the_model_leaves_open_are_in_the_headline(karate_page):
    label = karate_page.predictions.label.copy()
    label[12] = ""
    rows = replace(karate_page.predictions, label=label)
    assert "We labelled 13 nodes from 20 labels, and left 1 open" in headline(karate_page.health, rows, None)


def test_classes_may_be_numbers():
    data = gssl.datasets.load("karate")
    y = np.where(np.arange(34) % 3, data.labels, -1)
    model = gssl.AutoClassifier(depth=2).fit(data.features, y, adjacency=data.adjacency)
    predictions = list_predictions(model, data.node_ids, y != -1, held_out=held_out_if_known(model))
    (reason,) = reasons(why(model, 3), predictions, [])
    assert "rather than" in reason["text"]
    assert all(row["given"] in "01" for row in doubts(audit(model, changes=0), predictions))

"""The published numbers in the specifications agree with the source of the paper."""

import os
import re
from pathlib import Path

import pytest

from reproduction.budget import PUBLISHED as BUDGETS
from reproduction.budget import PUBLISHED_LIM, PUBLISHED_MSE
from reproduction.catalogue import ARTEFACTS
from reproduction.dataset_summary import PUBLISHED as SIZES
from reproduction.depth import PUBLISHED as DEPTHS
from reproduction.oversmoothing import PUBLISHED as SMOOTHED
from reproduction.oversmoothing import PUBLISHED_GCN as SMOOTHED_GCN
from reproduction.reconstruction import PUBLISHED as RECONSTRUCTED
from reproduction.reddit import PUBLISHED as REDDIT
from reproduction.running_time import PUBLISHED as TIMES
from reproduction.spec import MEASURES
from reproduction.table1 import ROWS

# label in the paper's source -> artefact
TABLES = {
    "tab_node_classification": "table1",
    "tab_reddit": "reddit",
    "tab_graph_recons_eculid": "reconstruction",
    "tab_datasets": "datasets",
    "tab_karate_sgc_gcn": "karate",
    "tabl_diff_k": "depth",
    "tabl_diff_k_time": "time",
    "tab_node_classification_train_val": "budget",
    "table_lim_trick": "lim",
}
PAPER = (
    Path(os.environ.get("GSSL_DATA_DIR", Path(__file__).parents[3] / "shared" / "data")).parent / "paper.tex"
)


@pytest.fixture(scope="module")
def tables():
    """Return a function that finds a table by a text in it, and returns rows of fields without TeX."""
    if not PAPER.exists():
        pytest.skip("the paper's source is not beside the project")
    text = PAPER.read_text(encoding="utf-8").replace("C\\&S", "C and S")
    bodies = re.findall(r"\\begin\{tabular\}(.*?)\\end\{tabular\}", text, flags=re.S)

    def rows(marker):
        (table,) = [table for table in bodies if marker in table]
        return [[clean(field) for field in line.split("&")] for line in table.split("\\\\")]

    return rows


def clean(field):
    """Reduce a field to a name or a number."""
    words = {
        "\\mygspalg M": "GGCM",
        "\\mygspalg": "GGC",
        "\\myoptalg": "OGC",
        "S$^2$GC": "S²GC",
        "G$^2$CN": "G²CN",
        "C and S": "C&S",
        "OAGS": "OAGS, after its abstract",
        "(ours)": "",
    }
    for word, meant in words.items():
        field = field.replace(word, meant)
    field = re.sub(r"\$?\s*\\pm.*", "", field)
    field = re.sub(
        r"\\(textbf|textcolor\{\w+\}|\w+arrow|midrule|hline|toprule)|\\cmidrule\{.*?\}|[{}$]", "", field
    )
    return field.strip()


def number(field):
    match = re.match(r"[-+]?(\d+(\.\d+)?|\.\d+)(e-\d+)?", field)
    return float(match.group()) if match else None


def test_table_1(tables):
    rows = {row[1]: tuple(map(number, row[-3:])) for row in tables("DeepWalk") if len(row) == 6}
    published = {row.name: row.published for row in ROWS if any(row.published)}
    assert len(published) == 29
    assert {name: rows[name] for name in published} == published


def test_table_2(tables):
    rows = [row for row in tables("FastGCN") if len(row) == 3][1:]
    assert [number(row[2]) for row in rows] == list(REDDIT.values())
    assert [row[1] for row in rows] == [name.removesuffix(", unsupervised") for name in REDDIT]


def test_table_4(tables):
    rows = [row for row in tables("Train/Val/Test Nodes") if len(row) == 7][1:]
    counts = [[*row[2:6], *row[6].split("/")] for row in rows]
    read = [tuple(int(field.replace(",", "")) for field in row) for row in counts]
    assert read == list(SIZES.values())


def test_artefacts_are_numbered_as_in_the_paper():
    if not PAPER.exists():
        pytest.skip("the paper's source is not beside the project")
    text = PAPER.read_text(encoding="utf-8")
    tables = re.findall(r"\\label\{(tabl?e?_\w+)\}", text)
    assert tables == list(TABLES)
    for number, name in enumerate(TABLES.values(), start=1):
        assert f"Table {number}" in ARTEFACTS[name].source
    for number, name in enumerate(("filters", "depth", "karate", "negatives", "ablation"), start=1):
        assert f"Figure {number}" in ARTEFACTS[name].source


def test_table_5(tables):
    rows = [row for row in tables("GCN (k=1024)") if len(row) == 4][1:]
    read = {int(row[0].split()[0]): float(row[1][1:6]) for row in rows if "cdots" not in row[0]}
    assert read == SMOOTHED
    for column, depth in ((2, 64), (3, 1024)):
        read = {int(row[0].split()[0]): number(row[column][1:]) for row in rows if "cdots" not in row[0]}
        assert read == SMOOTHED_GCN[depth]


def test_table_3(tables):
    rows = [row for row in tables("4.341") if len(row) == 8][1:]
    read = [(row[1], tuple(map(number, row[2:]))) for row in rows]
    assert read == [item for group in RECONSTRUCTED.values() for item in group.items()]
    assert len(read) == 12


def test_table_6(tables):
    rows = [row for row in tables("GCN(Drop)") if len(row) == 8][1:]
    read = [(row[1], tuple(map(number, row[2:]))) for row in rows]
    written = [item for group in DEPTHS.values() for item in group.items()]
    assert len(read) == 45
    assert read == written


def test_table_7(tables):
    rows = {row[1]: tuple(map(number, row[2:8])) for row in tables("857.23") if len(row) > 8}
    assert {name: rows[name] for name in TIMES} == TIMES


def test_table_8(tables):
    rows = {row[1]: tuple(map(number, row[2:])) for row in tables("Chg.") if len(row) == 8}
    written = {name: tuple(value for pair in pairs for value in pair) for name, pairs in BUDGETS.items()}
    assert {name: rows[name] for name in written} == written
    assert len(written) == 16


def test_table_9(tables):
    rows = [[number(field) for field in row[1:]] for row in tables("Training MSE Loss") if len(row) == 7]
    assert rows[-2] == [value for pair in PUBLISHED_LIM.values() for value in pair]
    assert rows[-1] == [value for pair in PUBLISHED_MSE.values() for value in pair]


def test_reconstruction_claims_are_about_every_depth():
    """They hold for the published numbers; a worse depth refutes them, and a missing one raises KeyError."""
    claims = ARTEFACTS["reconstruction"].claims
    means = {e.position: e.published for e in ARTEFACTS["reconstruction"].entries if e.published is not None}
    assert len(claims) == 6
    assert all(claim.holds(means) for claim in claims)
    worse = means | {("Cora", "GGCM", "64"): 81.0}
    assert [claim.holds(worse) for claim in claims] == [True, False, True, True, True, True]
    del means["Cora", "GGC", "16"]
    for claim in claims[:2]:
        with pytest.raises(KeyError):
            claim.holds(means)


def test_budget_claims():
    entries = ARTEFACTS["budget"].entries
    means = {e.position: e.published for e in entries if e.column != "change" and e.published is not None}
    heads = {
        e.position: 1.0 + (e.column == "train+validation")
        for e in entries
        if e.row.endswith((" + ridge", " + logistic"))
    }
    claims, networks = ARTEFACTS["budget"].claims[:6], ARTEFACTS["budget"].claims[6:]
    assert [claim.holds(means) for claim in networks] == [True] * 6
    better = means | {("Cora", "GCN", "train+validation"): 90.0}
    assert [claim.holds(better) for claim in networks] == [False] + [True] * 5
    assert [claim.holds(means) for claim in claims[::2]] == [True, True, True]
    assert [claim.holds(means | heads) for claim in claims[1::2]] == [True, True, True]
    lost = means | heads
    lost |= {("Cora", "LP", "train"): 90.0, ("Pubmed", "SGC + ridge", "train+validation"): 1.0}
    assert [claim.holds(lost) for claim in claims] == [False, True, True, True, True, False]


@pytest.mark.parametrize("artefact", ARTEFACTS.values(), ids=list(ARTEFACTS))
def test_a_specification_is_whole(artefact):
    positions = [entry.position for entry in artefact.entries]
    assert len(set(positions)) == len(positions)
    cells = artefact.cells()
    assert cells
    assert {cell.measure for cell in cells} <= set(MEASURES)
    budgets = {entry.budget for entry in artefact.entries if entry.cell is not None}
    for entry in artefact.entries:
        if entry.cell is not None and entry.budget:
            assert entry.budget == entry.cell.budget, entry.position
    assert budgets


def shown(name, column=None):
    """Return the published numbers of an artefact by place."""
    entries = (entry for entry in ARTEFACTS[name].entries if column in (None, entry.column))
    return {entry.position: entry.published for entry in entries if entry.published is not None}


def test_published_numbers_stand_in_their_own_place():
    for k, graph in enumerate(("Cora", "Citeseer", "Pubmed")):
        for row in ROWS:
            if row.published[k] is not None:
                assert shown("table1")["", row.name, graph] == row.published[k]
        for row, pairs in BUDGETS.items():
            both, change = pairs[k]
            assert shown("budget")[graph, row, "train+validation"] == both
            assert shown("budget")[graph, row, "change"] == change
            assert shown("budget")[graph, row, "train"] == pytest.approx(both - change)
        for name, published in (("depth", DEPTHS), ("reconstruction", RECONSTRUCTED)):
            for row, numbers in published[graph].items():
                for depth, number in zip((2, 4, 8, 16, 32, 64), numbers, strict=True):
                    assert shown(name).get((graph, row, str(depth))) == number
        few, many = PUBLISHED_LIM[graph]
        assert shown("lim")[graph, "accuracy %", "anchors: train"] == few
        assert shown("lim")[graph, "accuracy %", "anchors: all labels"] == many
        assert shown("lim")[graph, "accuracy %", "gap"] == pytest.approx(few - many)
    assert {row: number for (_, row, _), number in shown("reddit", "Reddit").items()} == {
        row: number for row, number in REDDIT.items() if number is not None
    }
    assert shown("time")["", "OGC", "64"] == round(61.88 / 2.80, 2)
    assert shown("karate")["", "node 33 / node 11", "SGC, 64 iterations"] == 3.0


def test_less_is_more_is_claimed_of_both_numbers_on_every_graph():
    claims = ARTEFACTS["lim"].claims
    assert [claim.holds(shown("lim")) for claim in claims] == [True, True]
    worse = shown("lim") | {("Pubmed", "accuracy %", "anchors: train"): 80.0}
    assert [claim.holds(worse) for claim in claims] == [False, True]
    lower = shown("lim") | {("Cora", "training MSE", "anchors: train"): 1e-3}
    assert [claim.holds(lower) for claim in claims] == [True, False]


def test_less_is_more_moves_embeddings_by_train_labels_alone():
    for entry in ARTEFACTS["lim"].entries:
        few = entry.column != "anchors: all labels"
        assert entry.cell.settings["anchors"] == (["train"] if few else ["train", "val"])
        assert entry.cell.budget == "train+validation"

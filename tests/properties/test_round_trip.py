"""Whatever gssl writes, gssl reads back unchanged: any ids and classes, by every writer, in every format."""

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import gssl
from gssl.io import (
    Problem,
    build_graph_store,
    open_table,
    read_edges,
    read_features,
    read_labels,
    read_nodes,
    tabulate,
    write_columns,
    write_embeddings,
    write_predictions,
)
from gssl.io.predictions import EMBEDDINGS
from gssl.io.table_writing import TABLES

# readers remove these around cells
SPACES = " \t\n\v\f\r\u00a0\u3000\ufeff"
LETTERS = st.sampled_from("ab07.,;|#%=+-@'\"\\\t\n\r éß数\u00a0\u2028\u0301🦊\x1b") | st.characters(
    exclude_categories=["Cs"]
)
TEXTS = st.text(LETTERS, min_size=1, max_size=8).filter(lambda text: text == text.strip(SPACES))
IDS = st.lists(TEXTS, min_size=2, max_size=6, unique=True)
ODD = [
    *("=x", "'=x", "''=x", "-5", "'-5", "''-5", "-٣", "'-٣", "@me", "'@me", "'+'", "'", "''", "'a"),
    *("#a", "%", '"', "a\r\nb", "a\nb", "#\n,", "a\t,b", "007", "1.0", "1e3", "NULL", "true", "id", "Id"),
]
FEW = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
# no text is a missing label
NONE_MISSING = ["longer than any label here"]


def texts(values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def cycled(names, n):
    return [names[i % len(names)] for i in range(n)]


@FEW
@given(ids=IDS, names=IDS)
@example(ids=ODD, names=ODD)
@pytest.mark.parametrize("suffix", TABLES)
def test_columns_of_text(tmp_path, suffix, ids, names):
    file, labels = tmp_path / f"t{suffix}", cycled(names, len(ids))
    write_columns(file, {"id": texts(ids), "label": texts(labels), "score": np.ones(len(ids))})
    read = read_labels(file, na=NONE_MISSING)
    assert (read.ids.tolist(), read.labels.tolist()) == (ids, labels)
    assert read_nodes(file).ids.tolist() == ids


@FEW
@given(ids=IDS, names=IDS)
@example(ids=ODD, names=ODD)
@pytest.mark.parametrize("suffix", TABLES)
def test_predictions_with_a_probability_of_each_class(tmp_path, suffix, ids, names):
    n, c = len(ids), len(names)
    codes = np.arange(n) % c
    predictions = tabulate(ids, np.eye(c)[codes], names, labels=codes)
    write_predictions(tmp_path / f"p{suffix}", predictions, probabilities=True)
    read = read_labels(tmp_path / f"p{suffix}", na=NONE_MISSING)
    assert (read.ids.tolist(), read.labels.tolist()) == (ids, cycled(names, n))
    says = read_labels(tmp_path / f"p{suffix}", ["id", "runner_up"], na=NONE_MISSING)
    assert says.labels.tolist() == predictions.runner_up.tolist()
    table = open_table(tmp_path / f"p{suffix}")
    read = table.fetch_columns(f"SELECT * FROM {table.relation}")
    shares = [values.astype(float) for values in list(read.values())[-c:]]
    np.testing.assert_array_equal(np.stack(shares, axis=1), predictions.distributions)


@FEW
@given(ids=IDS)
@example(ids=ODD)
@pytest.mark.parametrize("suffix", EMBEDDINGS)
def test_embeddings(tmp_path, suffix, ids):
    U = np.arange(2 * len(ids), dtype=np.float32).reshape(-1, 2) / 7 - 1
    if suffix in (".npy", ".npz") and any(node.endswith("\0") for node in ids):
        with pytest.raises(ValueError, match="cannot keep the NUL at the end of the id"):
            write_embeddings(tmp_path / f"u{suffix}", ids, U)
        return
    write_embeddings(tmp_path / f"u{suffix}", ids, U)
    read = read_features(tmp_path / f"u{suffix}")
    assert read.ids.tolist() == ids
    np.testing.assert_array_equal(read.matrix, U)


@FEW
@given(ids=IDS, names=st.lists(TEXTS, min_size=1, max_size=3, unique=True))
@pytest.mark.parametrize("suffix", TABLES)
def test_labels_given_on_the_page(tmp_path, suffix, ids, names):
    n = len(ids)
    y = texts(cycled(names, n))
    problem = Problem(texts(ids), csr_array((n, n)), None, y)
    gssl.label.Session(problem, layout=False).write(tmp_path / f"l{suffix}")
    read = read_labels(tmp_path / f"l{suffix}", na=NONE_MISSING)
    assert (read.ids.tolist(), read.labels.tolist()) == (ids, y.tolist())


@FEW
@given(ids=IDS)
@example(ids=ODD)
@pytest.mark.parametrize("suffix", TABLES)
def test_edges(tmp_path, suffix, ids):
    others = [*ids[1:], ids[0]]
    write_columns(tmp_path / f"e{suffix}", {"source": texts(ids), "target": texts(others)})
    edges = read_edges(tmp_path / f"e{suffix}")
    wanted = sorted(zip(ids, others, strict=True))
    assert sorted(zip(edges.ids[edges.source], edges.ids[edges.target], strict=True)) == wanted


def test_a_store_of_a_large_file_keeps_ids_guarded_against_formulas(tmp_path):
    ids = texts([f"@n{i}" for i in range(60_000)])
    write_columns(tmp_path / "e.csv", {"source": ids, "target": np.roll(ids, 1)})
    store = build_graph_store(tmp_path / "e.csv", tmp_path / "store")
    assert set(store.node_ids) == set(ids)

"""Whatever gssl writes, gssl reads back unchanged: any ids and classes, by every writer, in every format.

What cannot be kept is refused, or stands with a test of its own under "Round trips" in docs/trust.md.
"""

import gzip
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import gssl
from gssl.io import (
    NumberPredictions,
    Problem,
    SetPredictions,
    build_graph_store,
    from_scipy,
    load_problem,
    open_graph_store,
    open_table,
    read_edges,
    read_features,
    read_labels,
    read_nodes,
    tabulate,
    write_columns,
    write_embeddings,
    write_numbers,
    write_predictions,
    write_sets,
)
from gssl.io.predictions import EMBEDDINGS
from gssl.io.table_writing import TABLES
from gssl.label.journal import Journal
from gssl.label.label_kinds import MAX_NUMBER
from gssl.label.session import Session

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
    # markers of missing values are ids like any others
    *("NA", "nan", "None", "-1", "?"),
]
# Parquet columns of whole floats beyond 2⁵³ alone are refused: they have lost digits
NUMBERS = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=6).filter(
    lambda values: any(value % 1 for value in values) or max(map(abs, values)) <= 2**53
)
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
    if suffix != ".parquet":
        packed = Path(f"{file}.gz")
        packed.write_bytes(gzip.compress(file.read_bytes()))
        assert read_nodes(packed).ids.tolist() == ids


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
@given(numbers=NUMBERS)
@example(numbers=[0.1 + 0.2, 1e300, -5e-324, 1e-17, 2.0**53 + 2, 1e3])
@pytest.mark.parametrize("suffix", TABLES)
def test_predicted_numbers_with_all_digits(tmp_path, suffix, numbers):
    column, yes = np.array(numbers), np.ones(len(numbers), dtype=bool)
    ids = texts([f"n{k}" for k in range(len(numbers))])
    predictions = NumberPredictions(ids, column, column, column, column, yes, yes)
    write_numbers(tmp_path / f"n{suffix}", predictions)
    assert read_labels(tmp_path / f"n{suffix}", answers="numbers").labels.tolist() == numbers


@FEW
@given(ids=IDS, names=st.lists(TEXTS, min_size=1, max_size=4, unique=True))
@pytest.mark.parametrize("suffix", TABLES)
def test_label_sets(tmp_path, suffix, ids, names):
    names = sorted({name.replace("; ", ";") for name in names})
    sets = [tuple(names[: 1 + k % len(names)]) for k in range(len(ids))]
    cells, yes = texts(["; ".join(one) for one in sets]), np.ones(len(ids), dtype=bool)
    P = np.ones((len(ids), len(names))) / 2
    write_sets(tmp_path / f"s{suffix}", SetPredictions(texts(ids), cells, cells, yes, yes, P, tuple(names)))
    read = read_labels(tmp_path / f"s{suffix}", na=NONE_MISSING, answers="sets")
    assert (read.ids.tolist(), read.labels.tolist()) == (ids, sets)


def test_a_label_that_holds_the_separator_of_sets_is_refused(tmp_path):
    cell, yes = texts(["a; b"]), np.ones(1, dtype=bool)
    predictions = SetPredictions(texts(["n"]), cell, cell, yes, yes, np.ones((1, 1)), ("a; b",))
    with pytest.raises(ValueError, match="cannot keep the label 'a; b', because '; ' separates labels"):
        write_sets(tmp_path / "s.csv", predictions)
    assert not list(tmp_path.iterdir())
    write_columns(tmp_path / "l.csv", {"id": texts(["n"]), "label": cell})
    with pytest.raises(ValueError, match=r"the label 'a; b' of id 'n' has '; ' inside, .* rename it"):
        read_labels(tmp_path / "l.csv", answers="sets")


@pytest.mark.parametrize("suffix", TABLES)
def test_what_a_table_cannot_keep_is_refused_or_noted(tmp_path, suffix):
    file = tmp_path / f"t{suffix}"
    write_columns(file, {"id": texts([" a", "b\u3000"]), "label": texts(["NA", " x "])})
    read = read_labels(file)
    assert (read.ids.tolist(), read.labels.tolist()) == (["a", "b"], [None, "x"])
    assert any("removed white space" in note for note in read.notes)
    assert any("taken as no label: 'NA' (1)" in note for note in read.notes)
    write_columns(file, {"id": texts(["a", " a"]), "label": texts(["x", "y"])})
    with pytest.raises(ValueError, match="id 'a' has two labels"):
        read_labels(file)
    write_columns(file, {"id": texts(["", "a"]), "label": texts(["x", "y"])})
    with pytest.raises(ValueError, match="has no id"):
        read_labels(file)
    before = file.read_bytes()
    with pytest.raises((ValueError, OSError)):
        write_columns(file, {"id": texts(["\ud800"])})
    assert file.read_bytes() == before


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


ANY = st.text(LETTERS, min_size=1, max_size=8)
TYPED = st.lists(ANY, min_size=2, max_size=6, unique=True)


@FEW
@given(ids=TYPED, names=TYPED)
@example(ids=[*ODD, " a", "a", "", " "], names=ODD)
def test_a_journal_of_classes(tmp_path, ids, names):
    """Blanks around an id belong to it, as in the graph; a class is stripped when it is typed."""
    file = tmp_path / "l.journal"
    file.unlink(missing_ok=True)
    graph = Problem(texts(ids), csr_array((len(ids),) * 2), None, np.full(len(ids), None, dtype=object))
    with closing(Journal(file)) as journal:
        session = Session(graph, journal, layout=False)
        for node in range(len(ids)):
            action = {"do": "label", "nodes": [node], "label": names[node % len(names)]}
            try:
                session.act(action, session.version)
            except ValueError as error:  # a marker of missing labels, blanks alone or control characters
                assert str(error)  # noqa: PT017
    with closing(Journal(file)) as journal:
        again = Session(graph, journal, layout=False)
    assert again.notes == []
    assert again.labels() == session.labels()


@FEW
@given(numbers=NUMBERS)
def test_a_journal_of_numbers(tmp_path, numbers):
    file = tmp_path / "n.journal"
    file.unlink(missing_ok=True)
    n = len(numbers)
    numbers = [max(-MAX_NUMBER, min(MAX_NUMBER, number)) for number in numbers]
    graph = from_scipy(csr_array((n, n)), node_ids=[f"n{k}" for k in range(n)])
    with closing(Journal(file, "numbers")) as journal:
        session = Session(graph, journal, layout=False, answers="numbers")
        session.act({"do": "import", "labels": [[f"n{k}", numbers[k]] for k in range(n)]}, session.version)
    with closing(Journal(file, "numbers")) as journal:
        again = Session(graph, journal, layout=False, answers="numbers")
    assert again.labels()["value"] == numbers


@FEW
@given(ids=TYPED, names=st.lists(ANY.filter(str.strip), min_size=2, max_size=4, unique=True))
@example(ids=[*ODD, " a", "a"], names=[" a", "a", "=x", "1e3", "007"])
def test_a_model_with_its_problem(tmp_path, ids, names):
    n, kept = len(ids), [name for name in names if not name.endswith("\0")]
    A, X = np.eye(n)[::-1], np.arange(2.0 * n).reshape(n, 2)
    y = texts(cycled(kept or ["a"], n))
    problem = from_scipy(A, y, features=X, node_ids=ids, feature_names=(ids[0], ids[1]))
    try:
        model = gssl.LabelPropagation().fit(problem)
    except ValueError as error:
        assert "one class only" in str(error)  # noqa: PT017
        return
    gssl.save(model, tmp_path / "m.gssl", problem=problem)
    loaded, stored = gssl.load(tmp_path / "m.gssl"), load_problem(tmp_path / "m.gssl")
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.transduction_.tolist() == model.transduction_.tolist()
    assert stored.node_ids.tolist() == ids
    assert stored.y.tolist() == problem.y.tolist()
    assert stored.feature_names == problem.feature_names


@FEW
@given(ids=IDS)
@example(ids=ODD)
def test_a_graph_store(tmp_path, ids):
    others = [*ids[1:], ids[0]]
    write_columns(tmp_path / "e.csv", {"source": texts(ids), "target": texts(others)})
    folder = tmp_path / f"store {len(list(tmp_path.iterdir()))}"
    build_graph_store(tmp_path / "e.csv", folder)
    store = open_graph_store(folder)
    names, A = list(store.node_ids), store.adjacency
    rows = np.repeat(np.arange(len(ids)), np.diff(A.indptr))
    assert sorted(names) == sorted(ids)
    found = {frozenset((names[u], names[v])) for u, v in zip(rows, A.indices, strict=True)}
    assert found == {frozenset(pair) for pair in zip(ids, others, strict=True)}


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

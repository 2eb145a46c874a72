"""Names and values of columns say which is a weight, and whether both ends are the same kind of node."""

import pytest

from gssl.io import build_graph_store, read_edges


def third(write, name, values, **options):
    rows = "".join(f"p{i},q{i},{value}\n" for i, value in enumerate(values))
    return read_edges(write("e.csv", f"source,target,{name}\n{rows}" if name else rows), **options)


@pytest.mark.parametrize(
    "name",
    [
        "distance",
        "dist_km",
        "length",
        "ts",
        "created_at",
        "unixReviewTime",
        "year",
        "cost",
        "edge_id",
        "Time",
    ],
)
def test_a_distance_a_time_or_an_id_is_no_weight_and_a_note_says_so(write, name):
    edges = third(write, name, [3, 1.5])
    assert edges.weights is None
    assert edges.notes == [
        f"{edges.name}: column '{name}' is not used as a weight, because its name is not that of a weight "
        f"(--edge-columns 'source,target,{name}' uses it)."
    ]
    assert third(write, name, [3, 1.5], columns=["source", "target", name]).weights.tolist() == [3.0, 1.5]


@pytest.mark.parametrize("name", ["", "value", "x"])
@pytest.mark.parametrize("times", [[1082040961, 1098777142], [1082040961000, 1098777142000]])
def test_unix_times_in_a_vaguely_named_column_are_no_weights(write, name, times):
    edges = third(write, name, times)
    assert edges.weights is None
    assert "is not used as a weight, because its values look like Unix times" in edges.notes[-1]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("value", [1082040961, 3]),
        ("value", [1082040961.5, 1098777142]),
        ("count", [1082040961, 1098777142]),
        ("weight", [1082040961, 1098777142]),
        ("rating", [3, 4.5]),
        ("time_weight", [0.5, 1]),
    ],
)
def test_other_numbers_and_names_of_strengths_stay_weights(write, name, values):
    assert third(write, name, values).weights.tolist() == [float(value) for value in values]


def test_a_store_leaves_out_the_same_columns(write, tmp_path):
    file = write("e.csv", "source,target,ts\na,b,5\nb,c,7\n")
    store = build_graph_store(file, tmp_path / "store")
    assert not store.weighted
    assert store.notes == read_edges(file).notes

"""Merging sorted parts of pairs gives the same graph as in memory, however they are split."""

from dataclasses import replace

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from gssl.io import assemble, read_edges
from gssl.io.pair_merging import GrowingArray, PairMerging, Pairs, merge_edges

EDGES = st.lists(
    st.tuples(
        st.sampled_from(["a", "B", "007", "7", "é", "zz"]),
        st.sampled_from(["a", "B", "007", "7", "é", "ß"]),
        st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.7, 1.0, 1.0, 3.0]),
    ),
    min_size=1,
    max_size=60,
)


def in_memory(edges, weighted):
    frame = pd.DataFrame(edges, columns=["source", "target", "weight"])
    return assemble(read_edges(frame if weighted else frame[["source", "target"]]))


@settings(max_examples=20, deadline=None)
@given(edges=EDGES, weighted=st.booleans(), length=st.sampled_from([1, 3, 1000]))
def test_any_edges_in_parts_of_any_length(tmp_path_factory, edges, weighted, length):
    problem, folder = in_memory(edges, weighted), tmp_path_factory.mktemp("any")
    number = {node: i for i, node in enumerate(problem.node_ids)}
    links = [(number[a], number[b], w if weighted else 1.0) for a, b, w in edges]
    # if all weights are one, an edge listed twice still has weight one
    plain = max(w for *_, w in links) == 1 and all(w in (0, 1) for *_, w in links)
    kept = [(u, v, 1.0 if plain else w) for u, v, w in links if u != v and w]
    rows = sorted([(u, v, 0, w) for u, v, w in kept] + [(v, u, 1, w) for u, v, w in kept])
    parts = []
    for start in range(0, len(rows), length):
        row, column, side, weight = map(np.array, zip(*rows[start : start + length], strict=True))
        parts.append(Pairs(row << 32 | column << 1 | side, None if plain else weight))
    facts = PairMerging(len(number), not plain).run(
        parts, lambda name, dtype: GrowingArray(folder / f"{name}.npy", dtype)
    )
    A = problem.adjacency
    assert np.load(folder / "indptr.npy").tolist() == A.indptr.tolist()
    assert np.load(folder / "indices.npy").tolist() == A.indices.tolist()
    weights = np.load(folder / "weights.npy") if facts.summed else np.ones(A.nnz)
    assert weights.tobytes() == A.data.tobytes()
    loops, zeros = sum(u == v and w > 0 for u, v, w in links), sum(w == 0 for *_, w in links)
    assert replace(facts, self_loops=loops, zeros=zeros).notes("the table") == problem.notes


def test_pairs_are_sorted_by_key_and_then_by_weight():
    key, weight = np.array([7, 3, 7, 5, 7, 3]), np.array([0.3, 1.0, 0.1, 2.0, 0.2, 0.5])
    ordered = Pairs(key, weight).sorted()
    assert ordered.key.tolist() == [3, 3, 5, 7, 7, 7]
    assert ordered.weight.tolist() == [0.5, 1.0, 2.0, 0.1, 0.2, 0.3]
    assert Pairs(key).sorted().key.tolist() == [3, 3, 5, 7, 7, 7]


def test_no_edges_are_an_empty_graph():
    none = np.empty(0, dtype=np.int64)
    graph, facts = merge_edges(none, none, np.empty(0), 3)
    assert (graph.shape, graph.nnz, facts.isolated) == ((3, 3), 0, 3)
    zero, _ = merge_edges(np.array([0]), np.array([1]), np.zeros(1), 3)
    assert zero.nnz == 0

"""Write the arrays of a graph store from its numbered edges: those of each relation, and of their union."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from gssl.graph.adjacency import ONE_KIND
from gssl.graph.mapped import release_pages
from gssl.io.edge_coding import EdgeCoding
from gssl.io.edge_tables import EdgeFacts, check_weights, left_out_note, relation_title
from gssl.io.graph_store import StoredRelation, map_edges, relation_folder
from gssl.io.pair_merging import GrowingArray, PairMerging, Pairs

# sorted pairs, or entries of all relations, to merge at a time, and at most so many rows
_ENTRIES = 1 << 18
_ROWS = 1 << 17


def merge_sorted(
    coding: EdgeCoding, n_nodes: int, folder: Path, relation: int | None = None, *, directed: bool = False
) -> EdgeFacts:
    """Sort the edges of a relation, from both ends unless they have directions, and write the arrays."""
    table, database = coding.table, coding.database
    coded = f"{database}.coded WHERE u >= 0"
    if relation is not None and len(coding.relations) > 1:
        coded += f" AND relation = {relation}"
    zero, weight = ("weight = 0", ", weight") if coding.weighted else ("false", "")
    self_loops, zeros = table.fetch_row(
        f"SELECT count(*) FILTER (u = v AND NOT {zero}), count(*) FILTER ({zero}) FROM {coded}"
    )
    weighted = bool(weight) and bool(
        table.fetch_row(f"SELECT bool_or(weight NOT IN (0, 1)) OR max(weight) <> 1 FROM {coded}")[0]
    )
    weight = weight if weighted else ""
    name = "sorted" if relation is None else f"{'directed' if directed else 'sorted'}_{relation}"
    if not coding.has(name):
        directions = (
            f"SELECT ({row}::BIGINT << 32) + ({column}::BIGINT << 1) + {mirrored} AS key{weight} "
            f"FROM {coded} AND u <> v AND NOT {zero}"
            for row, column, mirrored in (("u", "v", 0), ("v", "u", 1))[: 1 if directed else 2]
        )
        coding.store(name, f"{' UNION ALL '.join(directions)} ORDER BY ALL")

    def parts() -> Iterator[Pairs]:
        count = table.fetch_row(f"SELECT count(*) FROM {database}.{name}")[0]
        for start in range(0, count, _ENTRIES):
            part = table.fetch_columns(
                f"SELECT * FROM {database}.{name} WHERE rowid >= {start} AND rowid < {start + _ENTRIES}"
            )
            yield Pairs(part["key"], part.get("weight"))

    folder.mkdir(parents=True, exist_ok=True)
    merging = PairMerging(n_nodes, weighted)
    facts = merging.run(parts(), lambda name, dtype: GrowingArray(folder / f"{name}.npy", dtype))
    if not facts.summed:
        (folder / "weights.npy").unlink()
    return replace(facts, self_loops=self_loops, zeros=zeros)


def merge_relations(
    coding: EdgeCoding,
    n_nodes: int,
    folder: Path,
    *,
    directed: bool,
    relation_weight: Mapping[str, float] | None,
) -> tuple[EdgeFacts, list[str], list[StoredRelation]]:
    """Write the arrays of every relation and of the union; return what was odd, and the relations.

    A single relation without directions is not kept beside the union, which is the same.
    """
    names = coding.relations or (ONE_KIND,)
    weights = check_weights(names, relation_weight)
    # of an earlier try
    shutil.rmtree(folder / "relations", ignore_errors=True)
    total, notes = EdgeFacts(), list[str]()
    relations, symmetric = list[StoredRelation](), dict[str, csr_array]()
    for k, name in enumerate(names):
        subfolder = relation_folder(folder, len(relations))
        facts = merge_sorted(coding, n_nodes, subfolder, k, directed=directed)
        total = _sum(total, facts)
        notes += replace(facts, isolated=0).notes(relation_title(name, names, coding.name))
        links = _open(subfolder, n_nodes)
        if not links.nnz:
            notes += [left_out_note(name)] if len(names) > 1 else []
            shutil.rmtree(subfolder)
            continue
        symmetric[name], one_way = links, False
        if directed:
            both = subfolder.parent / f"both{len(relations)}"
            merge_sorted(coding, n_nodes, both, k)
            symmetric[name] = _open(both, n_nodes)
            one_way = not _same(links, symmetric[name])
        n_edges = links.nnz if one_way else links.nnz // 2
        relations.append(StoredRelation(subfolder, name, n_edges, facts.summed, one_way))
    isolated = write_union(folder, symmetric, weights, n_nodes)
    for spare in (folder / "relations").glob("both*"):
        shutil.rmtree(spare)
    if len(relations) < 2 and not any(one.directed for one in relations):
        shutil.rmtree(folder / "relations")
        relations = []
    total = replace(total, isolated=isolated)
    return total, [*notes, *EdgeFacts(isolated=isolated).notes("")], relations


def write_union(
    folder: Path, symmetric: Mapping[str, csr_array], weights: Mapping[str, float], n_nodes: int
) -> int:
    """Write the largest weighted entries of symmetric relations, some rows at a time; count empty rows."""
    isolated, weighted = 0, False
    with ExitStack() as stack:
        indptr, indices, data = (
            stack.enter_context(closing(GrowingArray(folder / f"{name}.npy", dtype)))
            for name, dtype in (("indptr", np.int64), ("indices", np.int32), ("weights", np.float64))
        )
        indptr.append(np.zeros(1))
        start = 0
        while start < n_nodes:
            stop = _last_row(list(symmetric.values()), start, n_nodes)
            union = csr_array((stop - start, n_nodes))
            for name, relation in symmetric.items():
                union = csr_array(union.maximum(_rows(relation, start, stop) * weights[name]))
            union.eliminate_zeros()
            union.sort_indices()
            indptr.append(indices.size + union.indptr[1:])
            indices.append(union.indices)
            data.append(union.data)
            weighted |= bool((union.data != 1).any())
            isolated += int(np.count_nonzero(np.diff(union.indptr) == 0))
            start = stop
    if not weighted:
        (folder / "weights.npy").unlink()
    return isolated


def _last_row(relations: list[csr_array], start: int, n_nodes: int) -> int:
    """Return the end of the next rows to merge."""
    stop = min(start + _ROWS, n_nodes)
    entries = np.zeros(stop - start)
    for A in relations:
        entries += A.indptr[start + 1 : stop + 1] - A.indptr[start]
    return start + max(1, int(np.searchsorted(entries, _ENTRIES, side="right")))


def _rows(A: csr_array, start: int, stop: int) -> csr_array:
    begin, end = int(A.indptr[start]), int(A.indptr[stop])
    parts = A.data[begin:end].copy(), A.indices[begin:end].copy(), A.indptr[start : stop + 1] - begin
    for array in (A.data, A.indices, A.indptr):
        release_pages(array)
    return csr_array(parts, shape=(stop - start, A.shape[1]))


def _open(folder: Path, n_nodes: int) -> csr_array:
    n_entries = int(np.load(folder / "indptr.npy", mmap_mode="r")[-1])
    return map_edges(folder, n_nodes, n_entries, weighted=(folder / "weights.npy").exists(), directed=True)


def _same(A: csr_array, B: csr_array) -> bool:
    """Return whether two graphs in files have the same entries."""
    if A.nnz != B.nnz:
        return False
    pairs = [(A.indptr, B.indptr), (A.indices, B.indices), (A.data, B.data)]
    for a, b in pairs:
        for start in range(0, len(a), _ENTRIES):
            part = slice(start, start + _ENTRIES)
            if not np.array_equal(a[part], b[part]):
                return False
        release_pages(a)
        release_pages(b)
    return True


def _sum(total: EdgeFacts, facts: EdgeFacts) -> EdgeFacts:
    counts = {one.name: getattr(total, one.name) + getattr(facts, one.name) for one in fields(EdgeFacts)}
    return EdgeFacts(**counts | {"summed": total.summed or facts.summed})

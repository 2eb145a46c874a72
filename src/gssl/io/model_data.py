"""The data that a saved model may hold: the graph of fit, ids and names, and the recipe of an average.

Each is packed into plain values and arrays, and every part is checked when it is unpacked.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, triu

from gssl.graph import TypedAdjacency
from gssl.graph.adjacency import is_directed, relations_of, union_of
from gssl.graph.mapped import mapped_file
from gssl.io.edge_sides import NodeKinds
from gssl.io.model_checks import check_distributions, read_array, read_plain
from gssl.io.numpy_files import csr_from_parts
from gssl.methods.softmax import ScoreMap
from gssl.selection.candidates import Block, Filter, highest_power
from gssl.selection.ensemble import Recipe
from gssl.selection.trial import Member
from gssl.selection.views import Views
from gssl.wording import quoted

# kinds of nodes are numbered in a byte
_MOST_KINDS = 127
# more members than any average has
_MOST_MEMBERS = 100


def is_in_files(inputs: Any) -> bool:
    """Return whether features or graph stay in files, because they may be larger than memory."""
    return mapped_file(inputs.X) is not None or mapped_file(inputs.A.indices) is not None


def input_bytes(inputs: Any) -> int:
    """Return the size of features and graph in a file."""
    X, A = inputs.X, inputs.A
    parts = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X,)
    links = sum(
        (graph.indices.nbytes + graph.data.nbytes) // (1 if is_directed(graph) else 2) + graph.indptr.nbytes
        for graph in (union_of(A), *relations_of(A).values())
    )
    return int(sum(part.nbytes for part in parts) + links)


def pack_graph(A: csr_array) -> dict[str, Any]:
    """Return the upper triangle of an adjacency, whose weights are left out if all are one; and relations.

    Of a relation with directions, all entries are returned.
    """
    packed = _pack_links(csr_array(triu(union_of(A), 1, format="csr")))
    relations = []
    for name, relation in relations_of(A).items():
        directed = is_directed(relation)
        links = relation if directed else csr_array(triu(relation, 1, format="csr"))
        relations.append({"name": name, "directed": directed, **_pack_links(links)})
    return packed | ({"relations": relations} if relations else {})


def _pack_links(links: csr_array) -> dict[str, Any]:
    weights = None if (links.data == 1.0).all() else links.data
    return {"indptr": links.indptr, "indices": links.indices, "weights": weights}


def unpack_graph(parts: Any, n: int) -> csr_array:
    """Return the symmetric adjacency of a packed upper triangle, with its relations, all checked."""
    union = _unpack_links(parts, n)
    listed = parts.get("relations")
    if listed is None:
        return union
    if not isinstance(listed, list) or not listed or not all(isinstance(one, dict) for one in listed):
        raise ValueError("the relations of its graph are not described.")
    relations = {}
    for one in listed:
        name, directed = one.get("name"), read_plain("directed", "flag", one.get("directed"))
        if not isinstance(name, str) or name in relations:
            raise ValueError("the relations of its graph do not have names of their own.")
        relations[name] = _unpack_links(one, n, directed=directed)
    return TypedAdjacency.of(union, relations)


def _unpack_links(parts: Any, n: int, *, directed: bool = False) -> csr_array:
    indptr, indices = _array(parts, "indptr", "i"), _array(parts, "indices", "i")
    weighted = parts.get("weights") is not None
    weights = _array(parts, "weights", "f") if weighted else np.ones(len(indices))
    links = csr_from_parts(weights, indices, indptr, (n, n))
    rows = np.repeat(np.arange(n), np.diff(links.indptr))
    wrong = links.indices == rows if directed else links.indices <= rows
    if wrong.any() or (links.data <= 0).any():
        raise ValueError("the links of its graph are not those between two nodes, each once.")
    A = links if directed else csr_array(links + links.T)
    A.sort_indices()
    return A


def pack_texts(texts: Any) -> dict[str, Any]:
    """Return texts as one array of bytes and the length of each."""
    parts = [str(text).encode("utf-8", "surrogatepass") for text in texts]
    lengths = np.array([len(part) for part in parts], dtype=np.int32)
    return {"bytes": np.frombuffer(b"".join(parts), np.uint8), "lengths": lengths}


def unpack_texts(parts: Any) -> np.ndarray:
    """Return packed texts as an object array."""
    joined, lengths = _array(parts, "bytes", "u").tobytes(), _array(parts, "lengths", "i")
    if (lengths < 0).any() or lengths.sum(dtype=np.int64) != len(joined):
        raise ValueError("its names are cut short.")
    ends = np.cumsum(lengths, dtype=np.int64)
    texts = np.empty(len(lengths), dtype=object)
    try:
        texts[:] = [
            joined[end - length : end].decode("utf-8", "surrogatepass")
            for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)
        ]
    except UnicodeDecodeError as error:
        raise ValueError("its names are not text.") from error
    return texts


def pack_kinds(kinds: NodeKinds | None, ids: np.ndarray) -> dict[str, Any] | None:
    """Return the columns of the kinds of nodes, and the number of its kind for each, 0 if it is unknown."""
    if kinds is None:
        return None
    return {"columns": list(kinds.columns), "sides": (kinds.sides(ids) + 1).astype(np.uint8)}


def unpack_kinds(parts: Any, ids: np.ndarray) -> NodeKinds | None:
    """Return the packed kinds of nodes, None if there is one kind, as in older files."""
    if parts is None:
        return None
    sides = _array(parts, "sides", "u")
    columns = parts.get("columns")
    texts = isinstance(columns, list) and all(isinstance(column, str) for column in columns)
    if not texts or len(set(columns)) < len(columns) or not 2 <= len(columns) <= _MOST_KINDS:
        raise ValueError("its kinds of nodes are not named by two columns or more.")
    if len(sides) != len(ids) or sides.max(initial=0) > len(columns):
        raise ValueError("the kinds of its nodes do not fit the rest of the model.")
    return NodeKinds.of(tuple(columns), ids, sides.astype(np.int8) - 1)


def pack_recipe(recipe: Recipe, dtype: Any) -> dict[str, Any]:
    """Return the recipe of an average; ``dtype`` is that of its features, in which targets were computed."""
    return {
        "sharpness": float(recipe.sharpness),
        "taught": recipe.taught.astype(np.int64),
        "targets": recipe.Y.astype(dtype),
        "weights": recipe.weights,
        "members": [_pack_member(member) for member in recipe.members],
    }


def _pack_member(member: Member) -> dict[str, Any]:
    diagonal = np.diagonal(member.score_map.A)
    return {
        "kind": member.kind,
        "width": int(member.width),
        "penalty": float(member.penalty),
        "t": float(member.t),
        "model": member.filter.model,
        "settings": member.filter.settings,
        "surprise": float(member.filter.surprise),
        "centred": bool(member.filter.centred),
        "blocks": [[block.operator, block.powers.tolist()] for block in member.filter.blocks],
        "map": diagonal if np.array_equal(np.diag(diagonal), member.score_map.A) else member.score_map.A,
        "shift": member.score_map.b,
        "predicted": member.predicted.astype(np.float32),
        "evaluated": member.evaluated.astype(np.int64),
        "map_penalty": float(member.map_penalty) if np.isfinite(member.map_penalty) else None,
    }


def unpack_recipe(parts: Any, depth: int, codes: np.ndarray, n_classes: int) -> Recipe:
    """Return a recipe for labels with these codes, −1 where there is none."""
    n_labels = int((codes >= 0).sum())
    taught, Y = _array(parts, "taught", "i"), _array(parts, "targets", "f", 2)
    weights = _array(parts, "weights", "f")
    inside = not len(taught) or 0 <= taught[0] <= taught[-1] < len(codes)
    if taught.dtype != np.int64 or not inside or (np.diff(taught) <= 0).any() or (codes[taught] >= 0).any():
        raise ValueError("the nodes of its self-training are not unlabelled nodes in order.")
    if Y.shape != (len(taught), n_classes) or weights.shape != (len(taught),) or (weights < 0).any():
        raise ValueError("the targets of its self-training do not fit the rest of the model.")
    check_distributions("targets", Y)
    members = parts.get("members")
    if not isinstance(members, list) or not 0 < len(members) <= _MOST_MEMBERS:
        raise ValueError("its average has no members.")
    return Recipe(
        [_unpack_member(member, depth, n_labels, n_classes) for member in members],
        taught,
        Y.astype(np.float64),
        weights.astype(np.float64),
        _number(parts, "sharpness"),
    )


def _unpack_member(parts: Any, depth: int, n_labels: int, c: int) -> Member:
    if not isinstance(parts, dict) or not isinstance(parts.get("blocks"), list) or not parts["blocks"]:
        raise ValueError("a member of its average is not described.")
    kind, width = parts.get("kind"), parts.get("width")
    if kind not in ("unit", "raw", "standardized", "products", "links", "selves", "spanned"):
        raise ValueError(f"a member of its average reads features of the kind {quoted(kind)}.")
    if type(width) is not int or not 0 < width <= max(512, n_labels):
        raise ValueError(f"a member of its average is {quoted(width)} directions wide.")
    A, b, predicted = (_array(parts, name, "f", 2) for name in ("map", "shift", "predicted"))
    evaluated = np.arange(len(predicted))
    if "evaluated" in parts:  # older files have the scores of all labels or of none
        evaluated = _array(parts, "evaluated", "i")
    inside = len(np.unique(evaluated)) == len(evaluated) and ((evaluated >= 0) & (evaluated < n_labels)).all()
    if (
        A.shape not in ((c,), (c, c))
        or b.shape != (c,)
        or predicted.shape != (len(evaluated), c)
        or not inside
    ):
        raise ValueError("a member of its average does not fit the classes or labels of the model.")
    blocks = tuple(_unpack_block(block, depth) for block in parts["blocks"])
    surprise = _number(parts, "surprise", low=0.0)
    model, settings = (read_plain(name, "text", parts.get(name)) for name in ("model", "settings"))
    link = ScoreMap((np.diag(A) if A.ndim == 1 else A).astype(np.float64), b.astype(np.float64))
    penalty, t = _number(parts, "penalty", low=0.0), _number(parts, "t", low=0.0)
    # older files lack these
    given = {"map_penalty": 5.0, **parts}
    strength = np.inf if given["map_penalty"] is None else _number(given, "map_penalty")
    centred = read_plain("centred", "flag", parts.get("centred", False))
    shown = Filter(model, settings, blocks, surprise, centred)
    return Member(kind, shown, width, penalty, link, predicted.astype(np.float64), evaluated, t, strength)


def _unpack_block(block: Any, depth: int) -> Block:
    try:
        operator, numbers = block
        powers = np.array(numbers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("a filter of its average is not described.") from error
    highest = highest_power(operator, depth) if isinstance(operator, str) else None
    if highest is None:
        raise ValueError(f"a filter of its average has the operator {quoted(operator)}.")
    if powers.ndim != 1 or not 0 < len(powers) <= highest + 1 or not np.isfinite(powers).all():
        raise ValueError("a filter of its average has powers that the model does not take.")
    return Block(operator, powers)


def check_kinds(recipe: Recipe, views: Views, n_labels: int) -> None:
    """Raise if an average reads features that these views do not have."""
    for member in recipe.members:
        known = views.wants_span(n_labels) if member.kind == "spanned" else member.kind in views
        if not known:
            raise ValueError(f"its average reads features of the kind {member.kind!r}, which it lacks.")


def _array(parts: Any, name: str, kind: str, n_dims: int = 1) -> np.ndarray:
    array = read_array(name, kind, parts.get(name) if isinstance(parts, dict) else None)
    if not 0 < array.ndim <= n_dims:
        raise ValueError(f"{name!r} has {array.ndim} dimensions, not {n_dims}.")
    return array


def _number(parts: dict[str, Any], name: str, low: float = np.finfo(np.float64).tiny) -> float:
    value: Any = parts.get(name)
    if type(value) not in (int, float) or not low <= value < np.inf:
        raise ValueError(f"{name!r} is {quoted(value)}, not a number of at least {low:g}.")
    return float(value)

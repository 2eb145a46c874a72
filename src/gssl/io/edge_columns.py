"""Choose the columns of an edge table, and tell by their names what they mean."""

import re
from collections.abc import Sequence
from dataclasses import replace

from gssl.io.notations import read_commas
from gssl.io.table_columns import is_number, leave_out_row_numbers, number_sql, pick_column
from gssl.io.table_reading import Table
from gssl.wording import listed, quoted

_PAIRS = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("head", "tail"))
_WEIGHTS = ("weight", "w", "edge_weight")
# words in the name of a column that is a weight, whatever its values
_STRENGTHS = {
    *("weight", "weights", "w", "wt", "strength", "similarity", "score", "rating", "stars"),
    *("count", "counts", "freq", "frequency", "amount"),
}
# words in the name of a number that is not larger for a stronger edge
_NOT_WEIGHTS = {
    *("distance", "dist", "length", "len", "km", "mile", "miles", "meter", "meters", "metre", "metres"),
    *("cost", "price", "fee", "time", "timestamp", "timestamps", "ts", "datetime", "date", "year", "month"),
    *("week", "day", "hour", "minute", "second", "seconds", "epoch", "unix", "at", "when", "created"),
    *("updated", "since", "until", "duration", "delay", "latency", "lag", "age", "id", "ids", "uuid", "key"),
    *("index", "idx", "type", "kind", "class", "label", "category", "relation", "rel", "code", "zip"),
}
# words in the name of a column that tells the kind of a link
_LINK_KINDS = {
    *("type", "types", "kind", "class", "category", "relation", "relationship", "rel", "predicate", "verb"),
    *("label", "etype", "edgetype", "layer"),
}
# words that say nothing about the kind of a node
_GENERIC = {
    *("id", "ids", "uid", "guid", "uuid", "key", "name", "no", "nr", "num", "number", "index", "idx", "code"),
    *("node", "vertex", "entity", "col", "column", "field"),
}
# the part that a node plays in an edge
_ROLES = {
    *("source", "target", "src", "dst", "dest", "destination", "sink", "from", "to", "start", "end", "begin"),
    *("head", "tail", "origin", "in", "out", "left", "right", "first", "second", "one", "two", "row", "ego"),
    *("citing", "citer", "sender", "receiver", "recipient", "caller", "callee", "subject", "object", "query"),
    *("match", "payer", "payee", "lender", "borrower", "buyer", "seller", "mentor", "mentee"),
    *("here", "there", "this", "that"),
}
# roles that one end plays to the other, whose column may have any name: user, friend
_RELATIVES = {
    *("follower", "followee", "followed", "following", "follows", "friend", "neighbor", "neighbour", "peer"),
    *("parent", "child", "ancestor", "descendant", "predecessor", "successor", "cited", "cites", "reference"),
    *("references", "related", "similar", "other", "alter"),
}
# words for the same kind of thing share a line; people may have several roles under one id
_THINGS = {
    word: group[0]
    for group in (
        ("person", "people", "user", "customer", "member", "client", "employee", "worker", "author", "actor"),
        ("person", "director", "student", "teacher", "patient", "doctor", "player", "reviewer", "visitor"),
        ("artist", "band", "singer", "musician"),
        ("item", "product", "good"),
        ("paper", "article", "publication", "document", "doc"),
        ("book", "isbn"),
        ("page", "site", "website", "url", "domain"),
        ("movie", "film"),
        ("song", "track", "album"),
        ("video", "clip"),
        ("game", "app"),
        ("post", "tweet", "message", "comment", "thread", "question", "answer"),
        ("tag", "keyword", "word", "term", "token", "topic", "category", "genre"),
        ("group", "community", "team", "club", "organization", "organisation", "company", "institution"),
        ("conference", "journal", "venue"),
        ("gene", "protein"),
        ("disease", "symptom"),
        ("drug", "compound"),
        ("event", "meeting"),
        ("city", "country", "location", "place", "station", "airport"),
        ("shop", "restaurant", "business", "merchant", "hotel"),
        ("order", "transaction", "invoice", "basket", "cart", "session"),
        ("course", "lecture"),
        ("device", "phone", "card", "ip"),
        ("recipe", "dish"),
        ("ingredient", "food"),
        ("skill", "job"),
    )
    for word in group
}
_WORDS = _GENERIC | _ROLES | _RELATIVES | _THINGS.keys()
# smallest and largest Unix time, in seconds and in milliseconds
_UNIX_TIMES = ((10**8, 10**10), (10**11, 10**13))


def choose_columns(
    table: Table, columns: Sequence[str] | None, edge_type: str | None = None
) -> tuple[tuple[str, str], str | None]:
    """Return the columns of both ends of an edge, and the weight column or None.

    The column ``edge_type`` tells the kind of an edge, and is none of them unless ``columns`` names it.
    """
    if edge_type is not None:
        pick_column(table, edge_type, (), 0)
    if columns is not None:
        if isinstance(columns, str) or len(columns) not in (2, 3):
            raise ValueError(f"edges need two column names, or three with the weight, not {columns!r}.")
        a, b, *rest = (pick_column(table, name, (), 0) for name in columns)
        read_commas(table, rest)
        return (a, b), rest[0] if rest else None
    if len(table.columns) > 2:
        leave_out_row_numbers(table)
    lower = {name.lower() for name in table.columns}
    pair = next((pair for pair in _PAIRS if lower.issuperset(pair)), ("", ""))
    if edge_type is not None and edge_type.lower() in pair:
        raise ValueError(
            f"{table.name}: column {quoted(edge_type)} is an end of the edges: name another as `edge_type`."
        )
    others = replace(
        table, columns={name: table.columns[name] for name in table.columns if name != edge_type}
    )
    ends = (pick_column(others, None, pair[:1], 0), pick_column(others, None, pair[1:], 1))
    rest = [name for name in others.columns if name not in ends]
    weight = next((name for name in rest if name.lower() in _WEIGHTS), None)
    guessed = rest[0] if weight is None and len(rest) == 1 else None
    read_commas(table, [name for name in (weight, guessed) if name is not None])
    ignored = [name for name in rest if name != weight]
    if guessed is not None and _holds_numbers(table, guessed):
        ignored = []
        weight = _take_as_weight(table, ends, guessed)
    if ignored:
        unnamed = ignored if table.dialect is not None and not table.dialect.header else []
        kinds = [name for name in ignored if _LINK_KINDS.intersection(split_words(name))] or unnamed
        hint = f" (--edge-type {quoted(kinds[0])} tells links of different kinds apart)" if kinds else ""
        table.notes.append(f"{table.name}: not used: {listed(ignored)}{hint if edge_type is None else ''}.")
    return ends, weight


def split_words(name: str) -> list[str]:
    """Split a column name such as ``FromNodeId``, ``user_id`` or ``node1`` into lower-case words."""
    return re.findall(r"[^\W\d_]+|\d+", re.sub(r"(?<=[a-z\d])(?=[A-Z])", "_", name).lower())


def tell_kinds(table: Table, ends: tuple[str, str]) -> bool | None:
    """Return True if two columns hold two kinds of nodes, False if one, None if their names do not tell.

    Without a header there is one kind, also where unknown names may be ids, as in a first line alice,bob.
    """
    if table.dialect is not None and not table.dialect.header:
        return False
    (stem, role, relative), (other, other_role, other_relative) = (_read_name(name) for name in ends)
    if stem == other and (role or other_role):
        return False
    if (relative and not stem) or (other_relative and not other):
        return False
    things = [_THINGS.get(words[-1]) if words else None for words in (stem, other)]
    if None not in things and things[0] != things[1]:
        return True
    return None if table.dialect is None or table.dialect.sure else False


def tell_names(name: str, other: str) -> bool | None:
    """Return True if two columns of different tables name two kinds of nodes, False if one, None if unknown.

    A name without a kind, such as ``source``, may be of any: it is not compared.
    """
    if same_kind(name, other):
        return False
    things = [_THINGS.get(stem[-1]) for stem, *_ in (_read_name(name), _read_name(other)) if stem]
    return True if len(things) == 2 and None not in things and things[0] != things[1] else None


def names_kind(name: str) -> bool:
    """Return whether the name of a column tells the kind of its nodes: ``paper_id`` does, ``target`` not."""
    return bool(_read_name(name)[0])


def same_kind(name: str, other: str) -> bool:
    """Return whether two columns are named for the same kind of node, such as ``user_id`` and ``userId``."""
    (stem, *_), (other_stem, *_) = _read_name(name), _read_name(other)
    return name.lower() == other.lower() or stem == other_stem != ()


def _read_name(name: str) -> tuple[tuple[str, ...], bool, bool]:
    """Return the words of a name for the kind of a node, and whether other words name a role or relative."""
    words = [part for word in split_words(name) for part in _split_compound(word)]
    marks = {word for word in words if len(word) == 1 or word.isdigit()}
    roles = marks | (_ROLES | _RELATIVES).intersection(words)
    stem = tuple(word for word in words if word not in roles and word not in _GENERIC)
    return stem, bool(roles), not _RELATIVES.isdisjoint(roles)


def _split_compound(word: str) -> list[str]:
    """Split a word such as ``userid`` or ``fromnodeid`` into known ones, in the singular."""
    if word not in _WORDS and word.removesuffix("s") in _WORDS:
        return [word.removesuffix("s")]
    for suffix in () if word in _WORDS else ("id", "ids", "idx", "node"):
        parts = _split_compound(word.removesuffix(suffix)) if word.endswith(suffix) else []
        if parts and _WORDS.issuperset(parts):
            return [*parts, suffix]
    return [word]


def _holds_numbers(table: Table, name: str) -> bool:
    column = table.columns[name]
    if is_number(column):
        return True
    if column.type not in ("VARCHAR", "JSON"):
        return False
    count, numbers = table.fetch_row(
        f"SELECT count({column.sql}), count({number_sql(column)}) FROM {table.relation}"
    )
    return bool(0 < count == numbers)


def _take_as_weight(table: Table, ends: tuple[str, str], name: str) -> str | None:
    """Return a column of numbers as the weight, or None if they are times or distances; note which."""
    words = set(split_words(name))
    reason = ""
    named = ",".join((*ends, name))
    advice = f"--edge-columns {quoted(named, 100)} uses it"
    if words & _LINK_KINDS:
        advice += f", --edge-type {quoted(name)} tells links of different kinds apart"
    if words & _NOT_WEIGHTS and not words & _STRENGTHS:
        reason = "by its name it is a distance, a time or an id"
    elif not words & _STRENGTHS and _are_unix_times(table, name):
        reason = "its values look like Unix times"
    if not reason:
        table.notes.append(f"{table.name}: column {quoted(name)} is taken as the weight of the edges.")
        return name
    table.notes.append(
        f"{table.name}: column {quoted(name)} is not used as a weight, because {reason} ({advice})."
    )
    return None


def _are_unix_times(table: Table, name: str) -> bool:
    asked = ", ".join(f"bool_and(v BETWEEN {low} AND {high})" for low, high in _UNIX_TIMES)
    whole, *within = table.fetch_row(
        f"SELECT bool_and(v = trunc(v)), {asked} "
        f"FROM (SELECT {number_sql(table.columns[name])} AS v FROM {table.relation})"
    )
    return bool(whole) and any(within)

"""Read the nodes and edges of a graph file (GraphML, GEXF, GML or node-link JSON) as two tables of text."""

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from gssl.io.dialect import open_plain
from gssl.wording import counted, is_missing, listed, quoted

_XML = (".graphml", ".gexf")
_SUFFIXES = (*_XML, ".gml")
# characters at the beginning of a JSON file in which the lists of a graph must be named
_SAMPLE = 1 << 16
_LISTS = re.compile(rb'"(nodes|links|edges)"\s*:\s*\[')
PARTS = ("edges", "nodes")
# attributes of an edge that are its ends and weight, or number it
_USED = ("source", "target", "weight", "id", "key")


def is_graph_file(file: Path, suffix: str) -> bool:
    """Return whether a file is a graph, by its suffix or, if it is JSON, by its beginning."""
    if suffix != ".json":
        return suffix in _SUFFIXES
    with open_plain(file) as stream:
        start = stream.read(_SAMPLE).lstrip()
    return start[:1] == b"{" and _LISTS.search(start) is not None and not _is_record(start.split(b"\n")[0])


def _is_record(line: bytes) -> bool:
    """Return whether a line is a whole object without the lists of a graph, as in JSON lines."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return "nodes" not in value or not value.keys() & {"links", "edges"}


def read_graph_file(file: Path, suffix: str, part: str) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the columns of the edges or nodes of a graph file, as text, and notes on what is left out."""
    nodes, edges = _read_json(file) if suffix == ".json" else _read_networkx(file, suffix)
    twice = len(nodes) - len({node for node, _ in nodes})
    if twice:
        raise ValueError(
            f"{file} has {counted(twice, 'node')} with the id of another: as text, ids must differ."
        )
    attributes = list(dict.fromkeys(name for _, values in nodes for name in values))
    if part == "nodes":
        return _node_columns(file, nodes, attributes)
    notes = []
    if attributes:
        notes.append(
            f"{file}: not used of the nodes: {listed(attributes)} (--features and --labels {file} read them)."
        )
    alone = len({node for node, _ in nodes} - {end for a, b, _ in edges for end in (a, b)})
    if alone:
        notes.append(
            f"{file}: left out {counted(alone, 'node')} without any edge (--nodes {file} keeps them)."
        )
    given = dict.fromkeys(name for _, _, values in edges for name in values if name not in _USED)
    # texts may be kinds of links
    texts = [name for name in given if all(isinstance(values.get(name, ""), str) for _, _, values in edges)]
    unused = [name for name in given if name not in texts]
    if unused:
        notes.append(f"{file}: not used of the edges: {listed(unused)}.")
    columns = {"source": _column(a for a, _, _ in edges), "target": _column(b for _, b, _ in edges)}
    if any("weight" in values for _, _, values in edges):
        columns["weight"] = _column(values.get("weight", 1) for _, _, values in edges)
    columns |= {name: _column(values.get(name) for _, _, values in edges) for name in texts}
    return columns, notes


def _node_columns(
    file: Path, nodes: list[tuple[str, Any]], attributes: list[str]
) -> tuple[dict[str, np.ndarray], list[str]]:
    columns, left_out = {"id": _column(node for node, _ in nodes)}, []
    for name in attributes:
        cells = [values.get(name) for _, values in nodes]
        if name == "id" or any(isinstance(cell, list | dict) for cell in cells):
            left_out.append(name)
        else:
            columns[name] = _column(cells)
    notes = [f"{file}: left out of the nodes: {listed(left_out)}."] if left_out else []
    return columns, notes


def _column(cells: Iterable[Any]) -> np.ndarray:
    return np.fromiter((None if is_missing(cell) else str(cell) for cell in cells), dtype=object)


def _read_json(file: Path) -> tuple[list[tuple[str, Any]], list[tuple[str, str, Any]]]:
    """Read the node-link format of NetworkX and D3."""
    try:
        with open_plain(file) as stream:
            graph = json.load(stream)
        links = graph["links"] if "links" in graph else graph["edges"]
        nodes = [
            (str(node["id"]), {key: node[key] for key in node if key != "id"}) for node in graph["nodes"]
        ]
        edges = [(str(edge["source"]), str(edge["target"]), edge) for edge in links]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"{file} is not in node-link form, with 'nodes' that have an 'id' and 'links' that have a "
            "'source' and a 'target': save it in this form, or let its name end in .jsonl if it is a table."
        ) from error
    ids = {node for node, _ in nodes}
    unknown = next((end for edge in edges for end in edge[:2] if end not in ids), None)
    if unknown is not None:
        raise ValueError(
            f"{file}: a link has the end {quoted(unknown)}, which is not the id of a node; repair it."
        )
    return nodes, edges


def _read_networkx(file: Path, suffix: str) -> tuple[list[tuple[str, Any]], list[tuple[str, str, Any]]]:
    try:
        import networkx as nx
    except ImportError as error:
        raise ValueError(
            f"{file} is a graph, which NetworkX reads: pip install networkx, or save its edges as CSV."
        ) from error
    if suffix in _XML:
        _refuse_entities(file)
    read: Callable[..., Any] = {".graphml": nx.read_graphml, ".gexf": nx.read_gexf, ".gml": _read_gml}[suffix]
    try:
        with open_plain(file) as stream:
            graph = read(stream)
    # NetworkX checks little, so a damaged file may raise almost anything
    except (
        nx.NetworkXException,
        ArithmeticError,
        AttributeError,
        LookupError,
        RuntimeError,
        SyntaxError,
        TypeError,
        ValueError,
    ) as error:
        raise ValueError(
            f"{file} is not a {suffix[1:]} file that NetworkX can read: save it again."
        ) from error
    nodes = [(str(node), values) for node, values in graph.nodes(data=True)]
    if suffix == ".gexf":
        # what GEXF calls label is a name to show, never a class
        for node, values in nodes:
            name = values.pop("label", node)
            if name != node:
                values["name"] = name
    return nodes, [(str(a), str(b), values) for a, b, values in graph.edges(data=True)]


def _read_gml(stream: Any) -> Any:
    """Read GML, whose nodes have numbers and may have names (``label``), which then are their ids."""
    import networkx as nx

    lines = stream.readlines()
    try:
        return nx.read_gml(iter(lines))
    except nx.NetworkXError:
        return nx.read_gml(iter(lines), label="id")


def _refuse_entities(file: Path) -> None:
    """Raise if an XML file has a document type, which can define entities that expand without end."""
    refusal = ValueError(f"{file} has a document type (<!DOCTYPE …>), which may be an attack: remove it.")

    def refuse(*_: Any) -> None:
        raise refusal

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    with open_plain(file) as stream:
        try:
            parser.ParseFile(stream)
        except expat.ExpatError as error:
            raise ValueError(f"{file} is not XML ({error}): save it again.") from error
        except (LookupError, ValueError) as error:
            if error is refusal:
                raise
            raise ValueError(f"{file} is in an encoding that cannot be read: save it as UTF-8.") from error

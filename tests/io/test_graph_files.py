"""GraphML, GEXF, GML and node-link JSON files are read as edges and nodes."""

import json
import sys

import networkx as nx
import pytest

from gssl.io import build_graph_store, open_table, read_edges, read_features, read_labels, read_nodes

BOMB = """<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "ha">%s]>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">
<node id="&%s;"/></graph></graphml>"""


def graph():
    made = nx.Graph()
    made.add_node("007", club="spies", age=40.0)
    made.add_node("b c", club="cooks", age=41.5)
    made.add_node("ö", club="cooks")
    made.add_node("alone", club="spies", age=7.0)
    made.add_edge("007", "b c", weight=0.5)
    made.add_edge("b c", "ö")
    return made


def save_json(made, path, links="links"):
    data = nx.node_link_data(made, edges=links)
    path.write_text(json.dumps(data), encoding="utf-8")


WRITERS = {
    ".graphml": nx.write_graphml,
    ".gexf": nx.write_gexf,
    ".gml": nx.write_gml,
    ".json": save_json,
    ".graphml.gz": nx.write_graphml,
}


@pytest.fixture(params=WRITERS)
def file(request, tmp_path):
    path = tmp_path / f"g{request.param}"
    WRITERS[request.param](graph(), path)
    return path


def test_edges_are_read_and_what_is_left_out_is_noted(file, pairs, tmp_path):
    edges = read_edges(file)
    assert pairs(edges) == [("007", "b c"), ("b c", "ö")]
    assert sorted(edges.weights) == [0.5, 1]
    assert "'club', 'age'" in edges.notes[0]
    assert "left out 1 node without any edge" in edges.notes[1]
    assert len(edges.notes) == 2
    assert build_graph_store(f"{file}::edges", tmp_path / "store").n_nodes == 3


def test_nodes_are_read_with_their_attributes(file):
    assert read_nodes(file).ids.tolist() == ["007", "b c", "ö", "alone"]
    labels = read_labels(file, ["id", "club"])
    assert labels.labels.tolist() == ["spies", "cooks", "cooks", "spies"]
    features = read_features(f"{file}::nodes", columns=["age"])
    assert features.matrix[[0, 1, 3], 0].tolist() == [40, 41.5, 7]
    with pytest.raises(ValueError, match="has the parts edges and nodes, not 'clubs'"):
        open_table(f"{file}::clubs")


def test_the_names_of_nodes_in_gexf_are_no_classes(tmp_path):
    made = nx.Graph([("a", "b")])
    made.add_node("a", label="Ann")
    nx.write_gexf(made, tmp_path / "g.gexf")
    assert list(open_table(f"{tmp_path}/g.gexf::nodes").columns) == ["id", "name"]


def test_every_parallel_edge_counts_and_other_forms_are_read(write, tmp_path, pairs):
    nx.write_graphml(nx.MultiDiGraph([("a", "b"), ("a", "b"), ("b", "a")]), tmp_path / "g.graphml")
    assert pairs(read_edges(tmp_path / "g.graphml")) == [("a", "b"), ("a", "b"), ("b", "a")]
    save_json(graph(), tmp_path / "g.json", links="edges")
    assert pairs(read_edges(tmp_path / "g.json")) == [("007", "b c"), ("b c", "ö")]
    # records are still a table, and nodes without names keep their numbers
    assert pairs(read_edges(write("e.json", '[{"source":"a","target":"b"}]'))) == [("a", "b")]
    text = "graph [ node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 ] ]"
    assert pairs(read_edges(write("g.gml", text))) == [("1", "2")]


def test_entities_are_refused_before_they_expand(write, tmp_path):
    previous, declarations = "a", ""
    for name in "bcdefghijklm":
        declarations += f'<!ENTITY {name} "{f"&{previous};" * 10}">'
        previous = name
    (tmp_path / "secret").write_text("secret")
    external = f'<!ENTITY x SYSTEM "file://{tmp_path}/secret">'
    for suffix in ("graphml", "gexf"):
        for text in (BOMB % (declarations, previous), BOMB % (external, "x")):
            with pytest.raises(
                ValueError, match=r"has a document type \(<!DOCTYPE …>\), which may be an attack"
            ):
                read_edges(write(f"g.{suffix}", text))


def test_a_graph_in_json_must_have_ids(write):
    for nodes, links in (("[{}]", "[]"), ('[{"id":1}]', '[{"source":1}]'), ("[3]", "[]")):
        with pytest.raises(ValueError, match="is not in node-link form"):
            read_edges(write("g.json", f'{{"nodes":{nodes},"links":{links}}}'))
    with pytest.raises(ValueError, match="a link has the end '2', which is not the id of a node"):
        read_edges(write("g.json", '{"nodes":[{"id":1}],"links":[{"source":1,"target":2}]}'))
    with pytest.raises(ValueError, match="1 node with the id of another"):
        read_edges(write("g.json", '{"nodes":[{"id":1},{"id":"1"}],"links":[]}'))


def test_without_networkx_a_sentence_says_what_to_install(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(
        ValueError, match=r"g\.gml is a graph, which NetworkX reads: pip install networkx, or"
    ):
        read_edges(write("g.gml", "graph []"))


@pytest.mark.parametrize("encoding", ["gbk", "hex", "idna", "nothing"])
def test_an_encoding_that_cannot_be_read_is_one_sentence(write, encoding):
    text = f'<?xml version="1.0" encoding="{encoding}"?><graphml/>'
    with pytest.raises(
        ValueError, match=r"g\.graphml is in an encoding that cannot be read: save it as UTF-8\.$"
    ):
        read_edges(write("g.graphml", text))


@pytest.mark.parametrize("suffix", ["json", "gml"])
def test_half_of_a_letter_in_an_id_is_one_sentence(write, suffix):
    text = 'graph [ node [ id 1 label "&#55296;" ] node [ id 2 label "b" ] edge [ source 1 target 2 ] ]'
    if suffix == "json":
        text = r'{"nodes":[{"id":"\ud800"}],"links":[{"source":"\ud800","target":"\ud800"}]}'
    with pytest.raises(ValueError, match=rf"g\.{suffix} holds text that is not UTF-8: repair it\.$"):
        read_edges(write(f"g.{suffix}", text))


@pytest.mark.parametrize("rest", ["", '{"source":"b","target":"c","links":[2]}\n'])
def test_json_lines_with_a_list_of_links_are_a_table(write, pairs, rest):
    file = write("e.json", '{"source":"a","target":"b","links":[1]}\n' + rest)
    assert pairs(read_edges(file)) == [("a", "b"), ("b", "c")][: 2 if rest else 1]
    with pytest.raises(ValueError, match=r"or let its name end in \.jsonl if it is a table\.$"):
        read_edges(write("e.json", '{"links":\n[1]}'))


def test_attributes_of_edges_that_are_not_used_are_noted(file):
    made = graph()
    made.add_edge("007", "b c", kind="x", since=3)
    WRITERS["".join(file.suffixes)](made, file)
    notes = read_edges(file).notes
    assert f"{file}: not used of the edges: 'since'." in notes
    assert any("not used: 'kind' (--edge-type 'kind'" in note for note in notes)
    assert read_edges(file, edge_type="kind").relation_names == ("other", "x")
    file.write_bytes(file.read_bytes()[:-40])
    message = "is not a whole gzip file" if file.suffix == ".gz" else r"g\..*\.$"
    with pytest.raises(ValueError, match=message):
        read_edges(file)

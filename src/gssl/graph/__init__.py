"""Validate, clean, build and measure graphs."""

from gssl.graph.adjacency import TypedAdjacency, check_adjacency
from gssl.graph.components import Subgraph, connected_components, k_hop_subgraph, reached_nodes
from gssl.graph.facts import edge_homophily
from gssl.graph.negatives import sample_negatives
from gssl.graph.neighbors import knn_graph, nearest_rows
from gssl.graph.simplify import CleaningReport, clean_adjacency
from gssl.graph.validate import GraphWarning, check_finite

__all__ = [
    "CleaningReport",
    "GraphWarning",
    "Subgraph",
    "TypedAdjacency",
    "check_adjacency",
    "check_finite",
    "clean_adjacency",
    "connected_components",
    "edge_homophily",
    "k_hop_subgraph",
    "knn_graph",
    "nearest_rows",
    "reached_nodes",
    "sample_negatives",
]

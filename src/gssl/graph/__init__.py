"""Graphs: adjacency in, adjacency out, or facts about it."""

from gssl.graph.cleaning import CleaningReport, clean_adjacency
from gssl.graph.components import connected_components, reached_nodes
from gssl.graph.homophily import edge_homophily
from gssl.graph.negatives import sample_negatives
from gssl.graph.neighbors import knn_graph, nearest_rows
from gssl.graph.order import node_order
from gssl.graph.pages import FileArray, blocks, file_of, forget_pages, has_any
from gssl.graph.structure import refuse_mask, row_pointers
from gssl.graph.surroundings import Surroundings, ball, surroundings
from gssl.graph.validation import check_adjacency, check_finite
from gssl.graph.warning import GraphWarning, warn_user

__all__ = [
    "CleaningReport",
    "FileArray",
    "GraphWarning",
    "Surroundings",
    "ball",
    "blocks",
    "check_adjacency",
    "check_finite",
    "clean_adjacency",
    "connected_components",
    "edge_homophily",
    "file_of",
    "forget_pages",
    "has_any",
    "knn_graph",
    "nearest_rows",
    "node_order",
    "reached_nodes",
    "refuse_mask",
    "row_pointers",
    "sample_negatives",
    "surroundings",
    "warn_user",
]

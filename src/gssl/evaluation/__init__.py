"""Evaluation of predictions; the only subpackage that sees test labels."""

from gssl.evaluation.comparison import Record, Summary, compare, summarize
from gssl.evaluation.graph_gain import GraphGain, graph_gain
from gssl.evaluation.health import Health, RelationHealth, graph_health, relation_health
from gssl.evaluation.holdout import (
    HeldOut,
    has_cheap_holdout,
    held_out_accuracy,
    held_out_distributions,
    held_out_if_known,
    masked_labels,
)
from gssl.evaluation.metrics import Confusion, accuracy, confusion_matrix
from gssl.evaluation.node_map import node_map
from gssl.evaluation.reliability import Bin, confidence_histogram, expected_calibration_error, reliability

__all__ = [
    "Bin",
    "Confusion",
    "GraphGain",
    "Health",
    "HeldOut",
    "Record",
    "RelationHealth",
    "Summary",
    "accuracy",
    "compare",
    "confidence_histogram",
    "confusion_matrix",
    "expected_calibration_error",
    "graph_gain",
    "graph_health",
    "has_cheap_holdout",
    "held_out_accuracy",
    "held_out_distributions",
    "held_out_if_known",
    "masked_labels",
    "node_map",
    "relation_health",
    "reliability",
    "summarize",
]

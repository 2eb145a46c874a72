"""Predictions and truth in, numbers out: the only room that ever sees test labels."""

from gssl.evaluation.accuracy import accuracy
from gssl.evaluation.calibration import Bin, confidence_histogram, expected_calibration_error, reliability
from gssl.evaluation.comparison import Record, Summary, compare, summarize
from gssl.evaluation.confusion import Confusion, confusion_matrix
from gssl.evaluation.graph_gain import GraphGain, graph_gain
from gssl.evaluation.health import Health, graph_health
from gssl.evaluation.held_out import HeldOut, held_out_accuracy
from gssl.evaluation.least_certain import least_certain
from gssl.evaluation.node_map import node_map

__all__ = [
    "Bin",
    "Confusion",
    "GraphGain",
    "Health",
    "HeldOut",
    "Record",
    "Summary",
    "accuracy",
    "compare",
    "confidence_histogram",
    "confusion_matrix",
    "expected_calibration_error",
    "graph_gain",
    "graph_health",
    "held_out_accuracy",
    "least_certain",
    "node_map",
    "reliability",
    "summarize",
]

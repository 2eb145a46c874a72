"""Predictions and truth in, numbers out: the only room, with ``paper``, that ever sees test labels."""

from gssl.evaluation.comparison import Record, Summary, compare, summarize
from gssl.evaluation.confidence import (
    CalibrationRecord,
    CoverageRecord,
    CurvePoint,
    judge_calibration,
    judge_coverage,
    label_curve,
    labels_needed,
)
from gssl.evaluation.graph_gain import GraphGain, graph_gain
from gssl.evaluation.health import Health, graph_health
from gssl.evaluation.holdout import (
    HeldOut,
    has_cheap_holdout,
    held_out_accuracy,
    held_out_distributions,
    masked_labels,
)
from gssl.evaluation.inductive import inductive_accuracy
from gssl.evaluation.metrics import Confusion, accuracy, confusion_matrix
from gssl.evaluation.node_map import node_map
from gssl.evaluation.oversmoothing import (
    dirichlet_energy,
    limit_distance,
    limit_ratios,
    oversmoothing_gap,
    principal_plane,
    smoothing_limit,
)
from gssl.evaluation.reconstruction import filter_reconstruction_accuracy, reconstruction_accuracy
from gssl.evaluation.reliability import Bin, confidence_histogram, expected_calibration_error, reliability
from gssl.evaluation.spectrum import convolution_curve, filter_response, inverse_convolution_curve

__all__ = [
    "Bin",
    "CalibrationRecord",
    "Confusion",
    "CoverageRecord",
    "CurvePoint",
    "GraphGain",
    "Health",
    "HeldOut",
    "Record",
    "Summary",
    "accuracy",
    "compare",
    "confidence_histogram",
    "confusion_matrix",
    "convolution_curve",
    "dirichlet_energy",
    "expected_calibration_error",
    "filter_reconstruction_accuracy",
    "filter_response",
    "graph_gain",
    "graph_health",
    "has_cheap_holdout",
    "held_out_accuracy",
    "held_out_distributions",
    "inductive_accuracy",
    "inverse_convolution_curve",
    "judge_calibration",
    "judge_coverage",
    "label_curve",
    "labels_needed",
    "limit_distance",
    "limit_ratios",
    "masked_labels",
    "node_map",
    "oversmoothing_gap",
    "principal_plane",
    "reconstruction_accuracy",
    "reliability",
    "smoothing_limit",
    "summarize",
]

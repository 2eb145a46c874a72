"""Candidates and a few labels in, the chosen one out; and what may be believed of it."""

from gssl.selection.calibrated import CalibratedClassifier
from gssl.selection.calibration import Calibration, calibrate, isotonic, score_temperature, temperature
from gssl.selection.conformal import Coverage, conformal_thresholds, coverage, label_sets
from gssl.selection.held_out import HeldOutDistributions, held_out_distributions
from gssl.selection.suggestion import Suggestion, suggest, suggestions

__all__ = [
    "CalibratedClassifier",
    "Calibration",
    "Coverage",
    "HeldOutDistributions",
    "Suggestion",
    "calibrate",
    "conformal_thresholds",
    "coverage",
    "held_out_distributions",
    "isotonic",
    "label_sets",
    "score_temperature",
    "suggest",
    "suggestions",
    "temperature",
]

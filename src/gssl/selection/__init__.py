"""Model selection from few labels, calibration, label sets, explanations, and which nodes to label next."""

from gssl.selection.audit import Audit, audit
from gssl.selection.auto import AutoClassifier
from gssl.selection.calibrated import CalibratedClassifier
from gssl.selection.calibration import Calibration, calibrate, isotonic, score_temperature, temperature
from gssl.selection.conformal import Coverage, conformal_thresholds, coverage, label_sets
from gssl.selection.leaderboard import Entry, Leaderboard
from gssl.selection.learning_curve import LearningCurve, learning_curve
from gssl.selection.leave_one_out import (
    Spectrum,
    dual_coefficients,
    keep_class_mass,
    leave_one_out,
    spectrum,
    spectrum_of_rows,
)
from gssl.selection.search import search
from gssl.selection.suggestion import Suggestion, suggest, suggestions
from gssl.selection.why import Explanation, Voice, why

__all__ = [
    "Audit",
    "AutoClassifier",
    "CalibratedClassifier",
    "Calibration",
    "Coverage",
    "Entry",
    "Explanation",
    "Leaderboard",
    "LearningCurve",
    "Spectrum",
    "Suggestion",
    "Voice",
    "audit",
    "calibrate",
    "conformal_thresholds",
    "coverage",
    "dual_coefficients",
    "isotonic",
    "keep_class_mass",
    "label_sets",
    "learning_curve",
    "leave_one_out",
    "score_temperature",
    "search",
    "spectrum",
    "spectrum_of_rows",
    "suggest",
    "suggestions",
    "temperature",
    "why",
]

"""Model selection from few labels, calibration, label sets, explanations, and which nodes to label next."""

from gssl.methods.ridge import keep_class_mass, leave_one_out
from gssl.selection.audit import Audit, audit
from gssl.selection.auto import AutoClassifier
from gssl.selection.auto_regressor import AutoRegressor
from gssl.selection.calibrated import CalibratedClassifier
from gssl.selection.calibration import Calibration, calibrate, isotonic, score_temperature, temperature
from gssl.selection.choice import classifier, embedder
from gssl.selection.conformal import Coverage, conformal_thresholds, coverage, label_sets
from gssl.selection.grid_search import search
from gssl.selection.leaderboard import Entry, Leaderboard
from gssl.selection.learning_curve import LearningCurve, learning_curve
from gssl.selection.number_advice import NumberAudit, NumberExplanation
from gssl.selection.picture import Voice
from gssl.selection.set_advice import SetAudit
from gssl.selection.suggestion import (
    NumberSuggestion,
    SetSuggestion,
    Suggestion,
    Suggestions,
    suggest,
    suggestions,
)
from gssl.selection.why import Explanation, Explanations, why

__all__ = [
    "Audit",
    "AutoClassifier",
    "AutoRegressor",
    "CalibratedClassifier",
    "Calibration",
    "Coverage",
    "Entry",
    "Explanation",
    "Explanations",
    "Leaderboard",
    "LearningCurve",
    "NumberAudit",
    "NumberExplanation",
    "NumberSuggestion",
    "SetAudit",
    "SetSuggestion",
    "Suggestion",
    "Suggestions",
    "Voice",
    "audit",
    "calibrate",
    "classifier",
    "conformal_thresholds",
    "coverage",
    "embedder",
    "isotonic",
    "keep_class_mass",
    "label_sets",
    "learning_curve",
    "leave_one_out",
    "score_temperature",
    "search",
    "suggest",
    "suggestions",
    "temperature",
    "why",
]

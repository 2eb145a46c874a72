"""Candidates and a few labels in, the chosen one out: closed-form leave-one-out and label masking."""

from gssl.selection.auto import AutoClassifier
from gssl.selection.leaderboard import Entry, Leaderboard
from gssl.selection.leave_one_out import (
    Spectrum,
    dual_coefficients,
    keep_class_mass,
    leave_one_out,
    spectrum,
    spectrum_of_rows,
)
from gssl.selection.masking import masked_labels

__all__ = [
    "AutoClassifier",
    "Entry",
    "Leaderboard",
    "Spectrum",
    "dual_coefficients",
    "keep_class_mass",
    "leave_one_out",
    "masked_labels",
    "spectrum",
    "spectrum_of_rows",
]

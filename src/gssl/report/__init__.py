"""Records in, tables and pages out; nothing is computed here."""

from gssl.report.confidence_tables import Grid, calibration_grid, coverage_grid, curve_grid
from gssl.report.page import MapPoint, Page, check_extra, write_page
from gssl.report.tables import (
    classification_table,
    comparison_table,
    health_table,
    prediction_table,
    printable,
    suggestion_table,
)

__all__ = [
    "Grid",
    "MapPoint",
    "Page",
    "calibration_grid",
    "check_extra",
    "classification_table",
    "comparison_table",
    "coverage_grid",
    "curve_grid",
    "health_table",
    "prediction_table",
    "printable",
    "suggestion_table",
    "write_page",
]

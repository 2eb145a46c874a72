"""Records in, tables and pages out; nothing is computed here."""

from gssl.report.confidence_tables import Grid, calibration_grid, coverage_grid, curve_grid
from gssl.report.page import MapPoint, Page, check_extra, write_page
from gssl.report.paper_page import reproduction_page, write_reproduction, write_result
from gssl.report.paper_tables import LEGEND, claim_texts, paper_markdown, paper_tables
from gssl.report.selection_tables import public_grid, standing_grid, verdict_texts
from gssl.report.tables import (
    classification_table,
    comparison_table,
    health_table,
    prediction_table,
    printable,
    suggestion_table,
)

__all__ = [
    "LEGEND",
    "Grid",
    "MapPoint",
    "Page",
    "calibration_grid",
    "check_extra",
    "claim_texts",
    "classification_table",
    "comparison_table",
    "coverage_grid",
    "curve_grid",
    "health_table",
    "paper_markdown",
    "paper_tables",
    "prediction_table",
    "printable",
    "public_grid",
    "reproduction_page",
    "standing_grid",
    "suggestion_table",
    "verdict_texts",
    "write_page",
    "write_reproduction",
    "write_result",
]

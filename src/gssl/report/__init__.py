"""Records in, tables and pages out; nothing is computed here."""

from gssl.report.page import MapPoint, Page, check_extra, write_page
from gssl.report.tables import (
    classification_table,
    comparison_table,
    health_table,
    prediction_table,
    printable,
)

__all__ = [
    "MapPoint",
    "Page",
    "check_extra",
    "classification_table",
    "comparison_table",
    "health_table",
    "prediction_table",
    "printable",
    "write_page",
]

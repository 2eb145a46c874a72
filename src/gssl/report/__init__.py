"""Records in, tables and pages out; nothing is computed here."""

from gssl.report.page import MapPoint, Page, write_page
from gssl.report.tables import (
    classification_table,
    comparison_table,
    health_table,
    prediction_table,
)

__all__ = [
    "MapPoint",
    "Page",
    "classification_table",
    "comparison_table",
    "health_table",
    "prediction_table",
    "write_page",
]

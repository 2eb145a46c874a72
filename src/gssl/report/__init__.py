"""Records in, tables and pages out; nothing is computed here."""

from gssl.report.page import MapPoint, Page, check_extra, write_page
from gssl.report.paper_page import reproduction_page, write_reproduction, write_result
from gssl.report.paper_tables import LEGEND, claim_texts, paper_markdown, paper_tables
from gssl.report.tables import (
    classification_table,
    comparison_table,
    health_table,
    prediction_table,
    printable,
)

__all__ = [
    "LEGEND",
    "MapPoint",
    "Page",
    "check_extra",
    "claim_texts",
    "classification_table",
    "comparison_table",
    "health_table",
    "paper_markdown",
    "paper_tables",
    "prediction_table",
    "printable",
    "reproduction_page",
    "write_page",
    "write_reproduction",
    "write_result",
]

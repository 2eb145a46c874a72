"""Records in, tables and pages out; nothing is computed here."""

from gssl.report.page import MapPoint, Page, write_page
from gssl.report.tables import comparison_table, prediction_table

__all__ = ["MapPoint", "Page", "comparison_table", "prediction_table", "write_page"]

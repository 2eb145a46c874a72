"""Records in, tables out; nothing is computed here."""

from gssl.report.tables import comparison_table, prediction_table

__all__ = ["comparison_table", "prediction_table"]

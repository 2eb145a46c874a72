"""Tables of records, averaged over draws."""

from benchmarks.accuracy.tables import calibration_grid, coverage_grid, curve_grid
from benchmarks.accuracy.worth import CalibrationRecord, CoverageRecord, CurvePoint


def last_row(grid):
    return grid.markdown().splitlines()[-1]


def test_calibration():
    draws = [CalibrationRecord("OGC", 0, 140, 0.8, 0.3, 0.04, 1.1, 0.7, "score")]
    row = "| cora | OGC | 80.0 ± 0.0 | 30.0 ± 0.0 | 4.0 ± 0.0 | 4.0 | 1.10 | 0.70 | score 1 |"
    assert last_row(calibration_grid([("cora", draw) for draw in draws], "Errors")) == row
    draws.append(CalibrationRecord("OGC", 1, 140, 0.9, 0.3, 0.02, 1.3, 0.5, "isotonic"))
    row = "| cora | OGC | 85.0 ± 5.0 | 30.0 ± 0.0 | 3.0 ± 1.0 | 4.0 | 1.20 | 0.60 | isotonic 1, score 1 |"
    assert last_row(calibration_grid([("cora", draw) for draw in draws], "Errors")) == row


def test_coverage():
    record = CoverageRecord("one threshold", 0, 140, 0.9, 1.5, 0.7, 0.8)
    row = "| cora | one threshold | 90.0 ± 0.0 | 80.0 ± 0.0 | 1.50 | 70.0 ± 0.0 |"
    assert last_row(coverage_grid([("cora", record)], "Sets")) == row


def test_curves_that_end_early_leave_fields_empty():
    points = [("cora", CurvePoint("random", 0, n, 0.7)) for n in (14, 28)]
    points.append(("cora", CurvePoint("suggested", 0, 14, 0.8)))
    assert curve_grid(points, "Curves").rows == (
        ("cora", "14", "70.0 ± 0.0", "80.0 ± 0.0"),
        ("cora", "28", "70.0 ± 0.0", "–"),
    )

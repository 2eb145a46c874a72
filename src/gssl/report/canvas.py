"""What all charts have in common: their colours, and how they get their data.

Names from the user's data are only ever *values*: field names, titles and expressions are ours alone, so
that no name can be taken for a path, a format or code.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt

# of middle lightness: they read on white and on near-black
ACCENT = "#4f7fd0"
PALETTE = (
    ACCENT,
    "#e0803c",
    "#3f9f70",
    "#cf5563",
    "#8d6fca",
    "#bd9a24",
    "#2fa3b5",
    "#d272ab",
    "#8f7355",
    "#6d8f2f",
)
OTHER = "#8b929b"
Spec = dict[str, Any]


def finish(chart: Any, rows: Sequence[Spec], height: int | None = None) -> Spec:
    """Finish a chart over the data "rows"; these join late, since Altair would check each of them."""
    chart = chart.properties(width="container", **({} if height is None else {"height": height}))
    spec: Spec = chart.to_dict()
    spec.setdefault("datasets", {})["rows"] = list(rows)
    return spec


def over_rows() -> Any:
    """Start a chart whose data come with :func:`finish`."""
    return alt.Chart(alt.NamedData(name="rows"))

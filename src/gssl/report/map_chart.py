"""The map of the nodes."""

from collections.abc import Sequence

import altair as alt

from gssl.report.canvas import OTHER, PALETTE, Spec, finish, over_rows
from gssl.report.page import MapPoint


def map_classes(points: Sequence[MapPoint]) -> list[tuple[str, str, int]]:
    """Give the classes on the map with their colour and how many points they have, most frequent first.

    Examples
    --------
    >>> map_classes([MapPoint("1", 0.0, 0.0, "cat", 0.9, False)])
    [('cat', '#4f7fd0', 1)]
    """
    counts: dict[str, int] = {}
    for point in points:
        counts[point.label] = counts.get(point.label, 0) + 1
    order = sorted(counts, key=lambda name: (-counts[name], name))
    return [
        (name, PALETTE[place] if place < len(PALETTE) else OTHER, counts[name])
        for place, name in enumerate(order)
    ]


def node_scatter(points: Sequence[MapPoint], classes: Sequence[tuple[str, str, int]]) -> Spec:
    """Draw the nodes: colour is the class, faint is unsure, a ring is a label that was given."""
    place = {name: position for position, (name, _, _) in enumerate(classes)}
    rows = [
        {
            "id": point.id,
            "x": round(point.x, 4),
            "y": round(point.y, 4),
            "label": point.label,
            "confidence": round(point.confidence, 4),
            "given": "yes" if point.given else "no",
            "place": place[point.label],
        }
        # rings on top
        for point in sorted(points, key=lambda point: point.given)
    ]
    chosen = alt.param(name="chosen", value=-1)
    colour = alt.Scale(domain=list(range(len(classes))), range=[colour for _, colour, _ in classes])
    certainty = alt.Opacity(
        "confidence:Q", scale=alt.Scale(domain=[0, 1], range=[0.2, 1.0], clamp=True), legend=None
    )
    given = "datum.given === 'yes'"
    bare = alt.Axis(labels=False, ticks=False, grid=False, domain=False, title=None)
    dots = (
        over_rows()
        .mark_point(filled=True, shape="circle")
        .encode(
            x=alt.X("x:Q", axis=bare, scale=alt.Scale(nice=False, padding=8)),
            y=alt.Y("y:Q", axis=bare, scale=alt.Scale(nice=False, padding=8)),
            color=alt.Color("place:N", scale=colour, legend=None),
            opacity=alt.condition("chosen < 0 || datum.place === chosen", certainty, alt.value(0.05)),
            size=alt.condition(given, alt.value(80), alt.value(30)),
            stroke=alt.condition(given, alt.value("currentColor"), alt.value("transparent")),
            strokeWidth=alt.value(1.4),
            tooltip=[
                alt.Tooltip("id:N", title="id"),
                alt.Tooltip("label:N", title="label"),
                alt.Tooltip("confidence:Q", title="confidence", format=".0%"),
                alt.Tooltip("given:N", title="label given"),
            ],
        )
        .add_params(chosen)
    )
    return finish(dots, rows)

"""Charts of the manual: drawn as SVG that reads on white and on near-black."""

from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

INK = "#6b7280"  # reads on white and on near-black
# the widest first: a browser with another one then needs less room than was measured
_FONT = "DejaVu Sans, Verdana, sans-serif"
_PADDING = {"left": 24, "right": 40, "top": 6, "bottom": 6}


def draw(spec: dict[str, Any], path: Path) -> None:
    """Draw a specification as SVG, without a background and in a colour for light and dark pages."""
    ink = {"labelColor": INK, "titleColor": INK, "domainColor": INK, "tickColor": INK}
    text = {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": 500, "labelLimit": 330}
    config = {
        "font": _FONT,
        "axis": {**ink, **text, "gridOpacity": 0.35, "labelOverlap": True, "titlePadding": 10},
        "legend": {**text, "labelColor": INK, "titleColor": INK},
        "view": {"stroke": "transparent"},
    }
    whole = spec | {"background": "transparent", "padding": _PADDING, "config": config}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(vl_convert.vegalite_to_svg(whole), encoding="utf-8")


def save_charts(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Draw the Altair charts that this block of an example has made: the gallery shows them in its page."""
    from sphinx_gallery.scrapers import figure_rst  # charts of other pages are drawn without a gallery

    variables = block_vars["example_globals"]
    seen = block_vars.setdefault("seen_charts", variables.setdefault("__charts__", set()))
    paths = []
    for value in list(variables.values()):
        if isinstance(value, alt.TopLevelMixin) and id(value) not in seen:
            seen.add(id(value))
            path = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
            draw(value.to_dict(), path)
            paths.append(str(path))
    shown: str = figure_rst(paths, gallery_conf["src_dir"])
    return shown

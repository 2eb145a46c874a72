"""Charts of the gallery: what an example leaves in a variable becomes a picture in its page."""

from pathlib import Path
from typing import Any

import altair as alt
import vl_convert
from sphinx_gallery.scrapers import figure_rst


def save_charts(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Draw the Altair charts that this block of an example has made, as SVG."""
    variables = block_vars["example_globals"]
    seen = block_vars.setdefault("seen_charts", variables.setdefault("__charts__", set()))
    paths = []
    for value in list(variables.values()):
        if isinstance(value, alt.TopLevelMixin) and id(value) not in seen:
            seen.add(id(value))
            path = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
            path.write_text(vl_convert.vegalite_to_svg(value.to_dict()), encoding="utf-8")
            paths.append(str(path))
    return figure_rst(paths, gallery_conf["src_dir"])

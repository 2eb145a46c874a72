"""How the manual is built: `make docs`."""

import sys
from importlib.util import find_spec
from pathlib import Path

import gssl

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from altair_charts import save_charts
from gallery_order import ReadingOrder

project = "gssl"
author = "The gssl maintainers"
version = release = gssl.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx.ext.mathjax",
    # formulas without a network
    "sphinx-mathjax-offline",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "bench_page",
    "sample_report",
    "sample_labelling",
]
exclude_patterns = ["_build", "figures/README*", "records"]
# a reference that leads nowhere is a warning, and warnings are errors
nitpicky = True
default_role = "py:obj"

autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
# conf.py holds a function, the scraper of charts
suppress_warnings = ["config.cache"]

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

# an example that needs a package which is not here is left out, with the rest of the gallery whole
NEEDS = {"plot_gnn": ("torch", "torch_geometric"), "plot_cluster": ("dask", "distributed")}
absent = [name for name, needs in NEEDS.items() if not all(map(find_spec, needs))]

sphinx_gallery_conf = {
    "examples_dirs": ["../tutorials", "../examples"],
    "gallery_dirs": ["tutorials", "gallery"],
    "filename_pattern": r"/plot_",
    "ignore_pattern": "|".join([r"^(?!plot_).*\.py$", *(rf"^{name}\.py$" for name in absent)]),
    "image_scrapers": (save_charts,),
    "reset_modules": (),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1,
    "abort_on_example_error": True,
    "within_subsection_order": ReadingOrder,
}

html_theme = "pydata_sphinx_theme"
html_title = f"gssl {release}"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "gssl"},
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
copyright = author
html_sidebars = {"index": [], "how": []}

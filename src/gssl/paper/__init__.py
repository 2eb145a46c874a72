"""Every table and figure of the paper as a small specification, and the one loop that fills them."""

from gssl.paper.catalogue import ARTEFACTS, find_artefacts
from gssl.paper.runner import QUICK_SEEDS, SEEDS, Failure, Job, kept_runs, missing_jobs, run
from gssl.paper.spec import Artefact, Cell, Claim, Entry
from gssl.paper.store import Store
from gssl.paper.summary import Grid, Line, Result, grids, summarize

__all__ = [
    "ARTEFACTS",
    "QUICK_SEEDS",
    "SEEDS",
    "Artefact",
    "Cell",
    "Claim",
    "Entry",
    "Failure",
    "Grid",
    "Job",
    "Line",
    "Result",
    "Store",
    "find_artefacts",
    "grids",
    "kept_runs",
    "missing_jobs",
    "run",
    "summarize",
]

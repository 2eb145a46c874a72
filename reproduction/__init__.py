"""Every table and figure of the paper as a small specification, and the one loop that fills them."""

from reproduction.catalogue import ARTEFACTS, find_artefacts
from reproduction.runner import QUICK_SEEDS, SEEDS, Failure, Job, kept_runs, missing_jobs, run
from reproduction.spec import Artefact, Cell, Claim, Entry
from reproduction.store import Store
from reproduction.summary import Grid, Line, Result, grids, summarize

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

"""What slabs on one machine and slabs on many have in common: the budget, and the folder to resume from."""

from pathlib import Path
from typing import Any

from gssl.methods._execution import Journal, NoJournal, identity_of
from gssl.operators import Filters
from gssl.scale.files import RunFolder
from gssl.scale.folder_lock import lock_folder
from gssl.scale.identity import identity
from gssl.scale.journal import Journal as StepJournal
from gssl.scale.journal import claim
from gssl.scale.memory import available_memory
from gssl.scale.plan import Load, SlabPlan, plan_slabs, read_size
from gssl.scale.results import LastingResults, Results


class SlabExecution:
    """An execution by slabs; a subclass says who runs them.

    Parameters
    ----------
    memory_budget : number or str, optional
    resume : path, optional
    description : str, default=""
    width : int, optional
    """

    def __init__(
        self, memory_budget: Any = None, resume: Any = None, description: str = "", width: int | None = None
    ) -> None:
        self.budget = available_memory() // 2 if memory_budget is None else read_size(memory_budget)
        self.resume = None if resume is None else Path(resume)
        self._description = description
        self._width = width
        self._claimed = False

    def filters(self, filters: Filters) -> Filters:
        """Give the matrices as they are, for columns as few as classes."""
        return filters

    def plan(self, n_columns: int, load: Load) -> SlabPlan:
        """Cut columns into slabs."""
        if self._width is not None:
            return SlabPlan(n_columns, self._width)
        return plan_slabs(n_columns, load, self.budget)

    def results(self, plan: SlabPlan, X: Any, filters: Any, task: Any) -> Results | LastingResults:
        """Make the place for what a task gives: a folder of its own, found by what it is a task of."""
        if self.resume is None:
            return Results(plan, X.dtype, self.budget // 4)
        folder, first = self._own_folder(self.resume), filters(1)
        known = identity([self._description, identity_of(task), X, first.A_hat, first.N_hat])
        if not self._claimed:
            # the first task of a fit has its inputs, where no journal was opened with them
            claim(folder, known)
            self._claimed = True
        return LastingResults(folder.inside(f"run-{known[:12]}"), known, plan, self.budget // 4)

    def journal(self, *inputs: Any) -> Journal:
        """Open what is written down about steps of OGC with these inputs."""
        if self.resume is None:
            return NoJournal()
        self._claimed = True
        return StepJournal(self._own_folder(self.resume), identity([self._description, *inputs]))

    def _own_folder(self, path: Path) -> RunFolder:
        """Open the folder to resume from, if no other process is in it."""
        folder = RunFolder(path)
        with folder.explained(folder.path):
            lock_folder(folder.path)
        return folder

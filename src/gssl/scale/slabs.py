"""Slabs of columns within a memory budget on one machine: all threads on one slab, the rest in files."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gssl.files import open_regular, read_into, write_all
from gssl.operators import Embedding, Filters, Mixture, Pull, mix
from gssl.operators.embedding import TransposedRows
from gssl.operators.program import FiltersOf
from gssl.scale.checkpoint import StepCheckpoint, claim, identity
from gssl.scale.columns import ColumnSource, add_product, transposed_product
from gssl.scale.execution import Checkpoint, Execution, Task
from gssl.scale.memory import Load, SlabPlan, available_memory, embedding_load, graph_bytes, plan_slabs
from gssl.scale.progress import report_progress
from gssl.scale.results import Results
from gssl.scale.run_folder import RunFolder

# β and the pull of a lazy convolution
LazyStep = tuple[float, Pull | None]


class SlabExecution(Execution):
    """Run tasks on slabs of columns, one after the other, so that they keep to a memory budget."""

    # the budget in bytes is for graph, slabs and scores, but not for features and memory already in use; None
    # means half of the free memory; a resume folder belongs to one description
    def __init__(self, budget: int | None = None, resume: Path | None = None, description: str = "") -> None:
        self.budget: int = available_memory() // 2 if budget is None else budget
        self.resume = resume
        self._description = description
        self._folder: RunFolder | None = None
        self._lock: Any = None
        self._claimed = False
        self._last: tuple[np.ndarray, RunFolder] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_folder": None, "_lock": None, "_last": None}

    def map_columns(self, task: Task, X: Any, filters: FiltersOf) -> np.ndarray:
        """Run a task slab by slab; a result larger than a quarter of the budget is memory-mapped."""
        n, d = X.shape
        if not d:
            return np.empty((n, 0), X.dtype)
        load = Load(task.buffers * n * X.dtype.itemsize, graph_bytes(filters(1)))
        results = self.results(plan_slabs(d, load, self.budget), task, X, filters)
        source = ColumnSource(X, results.plan)
        for done, s in enumerate(results.todo, start=1):
            results.put(s, np.asarray(task(source.read(s), filters, results.plan.slabs[s])))
            report_progress(done, len(results.todo))
        return self.finished(results, X)

    def embedding(self, X: Any, filters: Filters, labelled: np.ndarray) -> Embedding:
        """Keep the embeddings of OGC in slabs."""
        return SlabEmbedding(X, filters, labelled, self.budget)

    def checkpoint(self, *inputs: Any) -> Checkpoint:
        """Open the recorded steps of an earlier run with these inputs."""
        if self.resume is None:
            return Checkpoint()
        folder, known = self._own_folder(self.resume), identity([self._description, *inputs])
        self._claimed = True
        return StepCheckpoint(folder, known, self._lock)

    def results(self, plan: SlabPlan, task: Task, X: Any, filters: FiltersOf) -> Results:
        """Make the storage for a task's results; in a resume folder, it is identified by the inputs."""
        most = self.budget // 4
        if self.resume is None:
            return Results(plan, most)
        folder, first = self._own_folder(self.resume), filters(1)
        known = identity([self._description, task.identity, X, first.A_hat, first.N_hat, first.own])
        if not self._claimed:
            # if no checkpoint has claimed the folder, the first task does so with its inputs
            claim(folder, known)
            self._claimed = True
        kept = folder.subfolder(f"run-{known[:12]}")
        claim(kept, known)
        return Results(plan, most, kept)

    def finished(self, results: Results, X: Any) -> np.ndarray:
        """Return the whole result; if its input was the previous kept result, remove that from disk."""
        whole = results.whole()
        if results.kept is not None:
            if self._last is not None and X is self._last[0]:
                shutil.rmtree(self._last[1].path, ignore_errors=True)
            self._last = whole, results.kept
        return whole

    def _own_folder(self, path: Path) -> RunFolder:
        """Open and lock the resume folder."""
        if self._folder is None:
            self._folder = RunFolder(path)
            self._lock = self._folder.lock()
        return self._folder


class SlabEmbedding:
    r"""U in slabs of columns, all in memory if they fit, else two in memory and the others in files.

    Steps are deferred until a product or rows are needed; then each slab takes all of them at once:

    .. math:: U_s \leftarrow [\beta \hat A + (1 - \beta) I] U_s + S R W_s^\top, \qquad U W = \sum_s U_s W_s

    Sums are in double precision, so results do not depend on the width of slabs.
    """

    def __init__(self, X: Any, filters: Filters, labelled: np.ndarray, budget: int) -> None:
        self._X, self._filters, self._labelled, self._budget = X, filters, labelled, budget
        self._pending: list[LazyStep] = []
        self._slabs: _Slabs | None = None
        # rows of labelled nodes, saved in each pass; None before the first
        self._rows: np.ndarray | None = None

    def step(self, beta: float, pull: Pull | None) -> "SlabEmbedding":
        """Defer a step until the slabs are needed."""
        self._pending.append((beta, pull))
        return self

    def __matmul__(self, W: np.ndarray) -> np.ndarray:
        total = np.zeros((self._X.shape[0], W.shape[1]))
        self._pass(W.shape[1], lambda columns, U: add_product(total, U, W[columns]))
        return total.astype(self._X.dtype)

    def rows(self, nodes: np.ndarray) -> "SlabRows":
        """Return some rows; those of labelled nodes are cached until the next step."""
        known = np.array_equal(nodes, self._labelled)
        if known and self._rows is not None and not self._pending:
            return SlabRows(self._rows)
        picked = np.empty((len(nodes), self._X.shape[1]), self._X.dtype)
        pulls = [pull for _, pull in self._pending if pull is not None]
        n_classes = pulls[0].W.shape[1] if pulls else 1

        def pick(columns: slice, U: Any) -> None:
            picked[:, columns] = pick_rows(U, nodes)

        self._pass(n_classes, pick)
        return SlabRows(picked)

    def _pass(self, n_classes: int, visit: Any) -> None:
        """Apply the deferred steps to every slab, and call ``visit`` on it."""
        X, labelled, budget = self._X, self._labelled, self._budget
        if self._slabs is None:
            load, in_memory = embedding_load(
                X.shape, n_classes, len(labelled), X.dtype.itemsize, graph_bytes(self._filters), budget
            )
            self._slabs = _Slabs(X, plan_slabs(X.shape[1], load, budget), in_memory)
        if self._rows is None:
            self._rows = np.empty((len(labelled), X.shape[1]), X.dtype)
        for s, columns in enumerate(self._slabs.plan.slabs):
            U = self._slabs.take(s)
            steps = [(beta, pull and pull.columns(columns)) for beta, pull in self._pending]
            U = advance(U, self._filters, steps, self._slabs)
            self._rows[:, columns] = pick_rows(U, labelled)
            visit(columns, U)
            self._slabs.put(s, U, moved=bool(steps))
        self._pending = []


class SlabRows:
    """Rows of U; products are computed in double precision and returned in the type of U."""

    def __init__(self, U: np.ndarray) -> None:
        self._U = U

    @property
    def T(self) -> TransposedRows:
        """The transpose."""
        return TransposedRows(self)

    def __matmul__(self, W: np.ndarray) -> np.ndarray:
        total = np.zeros((len(self._U), W.shape[1]))
        add_product(total, self._U, W)
        return total.astype(self._U.dtype)

    def transposed_times(self, R: np.ndarray) -> np.ndarray:
        """Return the product of the transpose with R."""
        return transposed_product(self._U, R).astype(self._U.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._U, dtype=dtype)  # a copy, because the next pass overwrites it


class Buffers:
    """Reused memory for slabs: allocating it costs more than the work on it."""

    def __init__(self, n_rows: int, width: int, dtype: Any) -> None:
        self._n_rows, self._size, self._dtype = n_rows, n_rows * width, dtype
        self._all: list[np.ndarray] = []
        self._free: list[np.ndarray] = []

    def get(self, width: int) -> np.ndarray:
        """Return an uninitialized array of ``width`` columns."""
        if not self._free:
            self._free.append(np.empty(self._size, self._dtype))
            self._all.append(self._free[0])
        return self._free.pop()[: self._n_rows * width].reshape(self._n_rows, width)

    def free(self, U: Any) -> None:
        """Take back an array for reuse, if it came from here."""
        self._free += [flat for flat in self._all if flat is getattr(U, "base", None)]


class _Slabs(Buffers):
    """The slabs of U between two passes."""

    def __init__(self, X: Any, plan: SlabPlan, in_memory: bool) -> None:
        super().__init__(X.shape[0], plan.width, X.dtype)
        self.plan = plan
        self._source = ColumnSource(X, plan)
        self._folder = None if in_memory else RunFolder()
        self._moved: dict[int, np.ndarray | Path] = {}

    def take(self, s: int) -> Any:
        """Return the current slab in memory."""
        slab = self._moved.get(s)
        if isinstance(slab, np.ndarray):
            return slab
        columns = self.plan.slabs[s]
        buffer = self.get(columns.stop - columns.start)
        if slab is None:
            U = self._source.read(s, out=buffer)
            if U is not buffer:  # all columns, or sparse
                self.free(buffer)
            return U
        with open_regular(slab, buffering=0) as opened:
            read_into(opened, buffer)
        return buffer

    def put(self, s: int, U: Any, *, moved: bool) -> None:
        """Store a slab until the next pass."""
        if moved and self._folder is None:
            self._moved[s] = U
            return
        if moved and self._folder is not None:
            path = self._folder.path / f"slab-{s:04}"
            mode = "r+b" if s in self._moved else "xb"
            with self._folder.explained(path), open_regular(path, mode, buffering=0) as file:
                write_all(file, U)
            self._moved[s] = path
        if not isinstance(self._moved.get(s), np.ndarray):
            self.free(U)


def advance(U: Any, filters: Filters, steps: Sequence[LazyStep], buffers: Buffers) -> Any:
    """Apply steps of lazy convolution to a slab; U is overwritten only if it came from ``buffers``."""
    for beta, pull in steps:
        moved = mix(filters, U, Mixture.lazy(beta), out=buffers.get(U.shape[1]))
        if pull is not None:
            # in double precision and rounded once, so that it does not depend on the slab width
            Pull(pull.nodes, pull.R.astype(np.float64), pull.W.astype(np.float64)).add_to(moved)
        buffers.free(U)
        U = moved
    return U


def pick_rows(U: Any, nodes: np.ndarray) -> np.ndarray:
    """Return rows of a slab as a dense array."""
    rows = U[nodes]
    return np.asarray(rows.toarray() if issparse(rows) else rows)

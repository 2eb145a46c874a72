"""OGC's embeddings on the workers of a cluster: each holds a share of the columns, as one machine does."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from gssl.methods.label_space import Pulls
from gssl.scale import worker
from gssl.scale.columns import read_columns
from gssl.scale.files import RunFolder
from gssl.scale.plan import Load, SlabPlan, graph_bytes, plan_slabs, spread_slabs
from gssl.scale.shared import FileColumns, SharedFilters

Asked = tuple[Callable[..., Any], tuple[Any, ...]]


class ClusterCrew:
    """Workers that hold shares of U and move them; a share that is lost is computed again from its pulls.

    A share is as many columns as each worker gets in the beginning. Sums are taken over the slabs of a share
    by its worker and over shares here, always in the same order, so it shows in no number who held what.

    Parameters
    ----------
    execution : ClusterExecution
    X : ndarray, memmap or csr_array of shape (n, d)
    setup : tuple
        What a :class:`gssl.scale.guided_slab.GuidedSlab` is made of.
    """

    def __init__(self, execution: Any, X: Any, setup: tuple[Any, ...]) -> None:
        self._execution, self._X, self._setup = execution, X, setup
        self._run = uuid4().hex
        self._pulls: list[tuple[np.ndarray, np.ndarray]] = []
        self._team = execution.team()
        self._shares: tuple[slice, ...] = ()
        self._budget = 0
        self._folder: Path | None = None
        self._shared: Any = None
        self._W = np.empty((0, 0))

    def start(self, W: np.ndarray) -> np.ndarray:
        """Give every worker its share, and give XW."""
        workers = self._team.workers()
        self._shares = spread_slabs(self._X.shape[1], len(workers)).slabs
        self._budget = self._execution.room(self._team)
        self._folder = self._seen_folder()
        self._W = W
        self._share()
        self._team.assign(range(len(self._shares)))
        return self._added(self._begin(range(len(self._shares))), W.shape[1])

    def gradient(self, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give U_Lᵀ R and U_L of it."""
        answers = self._collect(lambda s: (worker.gradient, (self._run, s, R)))
        pushed = np.zeros(R.shape)
        for s in range(len(self._shares)):
            pushed += answers[s][1]
        return np.concatenate([answers[s][0] for s in range(len(self._shares))]), pushed

    def advance(self, W: np.ndarray, pull: np.ndarray) -> np.ndarray:
        """Move every share and give UW."""
        k = len(self._pulls) + 1

        def ask(s: int) -> Asked:
            return worker.advance, (self._run, s, k, W[self._shares[s]], pull)

        scores = self._added(self._collect(ask), W.shape[1])
        self._pulls.append((pull, W))
        return scores

    def rows(self, nodes: np.ndarray) -> np.ndarray:
        """Give rows of U."""
        answers = self._collect(lambda s: (worker.rows, (self._run, s, nodes)))
        return np.concatenate([answers[s] for s in range(len(self._shares))], axis=1)

    def resume(self, pulls: Pulls) -> None:
        """Take shares up from the files that the workers have left, and take the steps again since then."""
        self._pulls = list(pulls)
        self._begin(range(len(self._shares)))

    def __del__(self) -> None:
        with suppress(Exception):  # the cluster may be gone before this
            self._team.release(self._run)

    def _piece(self, s: int) -> int:
        """Give how many columns of a share travel at once: all if they fit twice, else a slab for a file."""
        n, size = self._X.shape[0], self._X.dtype.itemsize
        width: int = self._shares[s].stop - self._shares[s].start
        if self._execution.width is not None:
            return width
        graph = graph_bytes(self._setup[0])
        fixed = graph + n * self._W.shape[1] * (8 + 2 * size) + len(self._setup[2]) * width * size
        # a worker that has taken over from another holds more than one share
        held = list(self._team.owners.values()).count(self._team.owners[s])
        budget = graph + max(0, self._budget - graph) // held
        return plan_slabs(width, Load(2 * n * size, fixed), budget).width

    def _seen_folder(self) -> Path | None:
        """Give where workers keep their shares, if there is a folder to resume from that all of them see."""
        resume = self._execution.resume
        if resume is None:
            return None
        # shares of a cluster of another size are other columns
        kept = RunFolder(resume.resolve()).inside(f"shares-{len(self._shares)}")
        return kept.path if self._team.sees_folder(kept.path) else None

    def _share(self) -> None:
        filters, *rest = self._setup
        self._shared = self._team.send((SharedFilters.of(filters, self._team.sees_file), *rest))

    def _begin(self, shares: Sequence[int]) -> dict[int, Any]:
        for s in shares:
            self._send_pieces(s)
        found: dict[int, Any] = self._team.collect(shares, self._beginning, self._prepare)
        return found

    def _beginning(self, s: int) -> Asked:
        columns = self._shares[s]
        pulls = [(pull, W[columns]) for pull, W in self._pulls]
        folder = None if self._folder is None else self._folder / f"{s:04}"
        start = worker.Beginning(self._W[columns], pulls, self._budget, self._execution.width, folder)
        return worker.begin, (self._run, s, self._part(s), self._shared, start)

    def _part(self, s: int) -> Any:
        """Give a share by the name of its file, or send it; None where it went in pieces."""
        columns = self._shares[s]
        file = self._team.file_of(self._X)
        if file is not None:
            return FileColumns(file, columns)
        if columns.stop - columns.start > self._piece(s):
            return None
        return self._team.send(read_columns(self._X, columns), self._team.owners[s])

    def _send_pieces(self, s: int) -> None:
        """Send a share that is more than the budget of its worker, to wait there in a file."""
        share = self._shares[s]
        width, piece = share.stop - share.start, self._piece(s)
        if width <= piece or self._team.file_of(self._X) is not None:
            return
        for columns in SlabPlan(width, piece).slabs:

            def ask(s: int, columns: slice = columns) -> Asked:
                wanted = slice(share.start + columns.start, share.start + columns.stop)
                part = self._team.send(read_columns(self._X, wanted), self._team.owners[s])
                return worker.receive, (self._run, s, (self._X.shape[0], width), columns, part)

            # pieces that went to a worker that is gone are missed, and sent again, when the share begins
            self._team.collect([s], ask, lambda s: None)

    def _prepare(self, s: int) -> None:
        """Send what the new owner of a share needs; the graph may have gone with the old one."""
        if self._shared.status != "finished":
            self._share()
        self._send_pieces(s)

    def _revive(self, s: int) -> None:
        """Bring a lost share to where it was, on its new owner."""
        self._prepare(s)
        self._team.collect([s], self._beginning, self._prepare)

    def _collect(self, ask: Callable[[int], Asked]) -> dict[int, Any]:
        answers: dict[int, Any] = self._team.collect(range(len(self._shares)), ask, self._revive)
        return answers

    def _added(self, answers: dict[int, np.ndarray], n_classes: int) -> np.ndarray:
        """Add up the parts of the shares in their order."""
        total = np.zeros((self._X.shape[0], n_classes))
        for s in range(len(self._shares)):
            total += answers.pop(s)
        return total

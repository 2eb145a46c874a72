"""Slabs on the workers of a Dask cluster, scheduled by Dask itself.

Tasks are pure, and their inputs are in the task or in files that workers can read. So the scheduler can rerun
any task, and a lost worker costs only the values it held. A scheduler and its workers execute code from
clients, so they must trust each other: see docs/scale.md.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any
from uuid import uuid4

import numpy as np
from scipy.sparse import issparse

from gssl.graph.mapped import mapped_file
from gssl.operators import Embedding, Filters, Pull
from gssl.operators.embedding import TransposedRows
from gssl.operators.program import FiltersOf
from gssl.scale import worker
from gssl.scale.columns import transposed_product
from gssl.scale.execution import Task
from gssl.scale.memory import Load, SlabPlan, embedding_load, graph_bytes, plan_slabs, spread_slabs
from gssl.scale.progress import report_progress
from gssl.scale.run_folder import RunFolder
from gssl.scale.slabs import LazyStep, SlabExecution

# seconds between polls for workers
_POLL = 0.5
# seconds to wait when no worker takes tasks, by the setting "gssl.patience" of Dask's configuration
_PATIENCE = "gssl.patience", 60.0


class ClusterExecution(SlabExecution):
    """Run tasks on slabs of columns on the workers of a cluster, or locally once its client is closed."""

    # the budget is per worker; without one, tasks get equal slabs per thread, and OGC uses the free memory
    def __init__(
        self, client: Any, budget: int | None = None, resume: Path | None = None, description: str = ""
    ) -> None:
        super().__init__(budget, resume, description)
        self._client, self._limited = client, budget is not None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_client": None}

    @property
    def _connected(self) -> bool:
        return self._client is not None and self._client.status not in ("closing", "closed")

    def map_columns(self, task: Task, X: Any, filters: FiltersOf) -> np.ndarray:
        """Run a task on every slab, one slab at a time on each worker thread."""
        n, d = X.shape
        if not d or not self._connected:
            return super().map_columns(task, X, filters)
        cluster = Cluster(self._client, self.resume)
        cluster.check_versions()
        source, folder = cluster.columns_of(X), cluster.shared_folder()
        threads = cluster.threads()
        # extra buffers: a result in transit and, if columns are sent, its columns and those of the next slab
        sends = source is X and (folder is None or issparse(X))
        more = 3 if sends else 1
        load = Load((task.buffers + more) * n * X.dtype.itemsize, graph_bytes(filters(1)))
        budget = self.budget if self._limited else None
        plan = spread_slabs(d, sum(threads.values()), load, budget, max(threads.values()))
        results = self.results(plan, task, X, filters)
        slabs = results.plan.slabs
        # a list: Dask may treat a tuple as a task and call its first item
        job = cluster.submit(worker.hold, 0, [task, cluster.packed(filters)])

        def call(s: int) -> tuple[Any, ...]:
            part = worker.part_of(source, slabs[s])
            if folder is None:
                return worker.embed, job, part, slabs[s]
            return (
                worker.embed,
                job,
                worker.hand_over(part, folder.path / f"columns-{s}"),
                slabs[s],
                folder.path,
            )

        answers = cluster.run(((s, call(s)) for s in results.todo), most=2 * sum(threads.values()))
        for done, (s, answer) in enumerate(answers, start=1):
            if answer is None:
                # from a worker that joined later and does not see the files
                sent = cluster.submit(worker.embed, s, job, worker.part_of(X, slabs[s]), slabs[s])
                (answer,) = cluster.gather([sent])
            results.put(s, worker.take_over(answer))
            if folder is not None:
                (folder.path / f"columns-{s}").unlink(missing_ok=True)
            report_progress(done, len(results.todo))
        return self.finished(results, X)

    def embedding(self, X: Any, filters: Filters, labelled: np.ndarray) -> Embedding:
        """Keep the embeddings of OGC on the workers."""
        if not self._connected:
            return super().embedding(X, filters, labelled)
        cluster = Cluster(self._client, self.resume)
        cluster.check_versions()
        return ClusterEmbedding(cluster, X, filters, labelled, self.budget if self._limited else None)


class Cluster:
    """A Dask client with clear errors for a lost scheduler or missing workers."""

    def __init__(self, client: Any, resume: Path | None = None) -> None:
        self._client = client
        self._keep = "" if resume is None else f" with the same resume={str(resume)!r}: finished work is kept"
        self._empty_since: float | None = None
        self._direct: bool | None = None

    def threads(self) -> dict[str, int]:
        """Return the number of threads of each worker, sorted by address; wait if there are no workers."""
        while not (threads := self._workers()):
            try:
                self._client.wait_for_workers(1, timeout=_POLL)
            except TimeoutError:
                continue
        return dict(sorted(threads.items()))

    def submit(self, function: Callable[..., Any], s: int, *arguments: Any, home: str | None = None) -> Any:
        """Submit a task of slab ``s``, to the worker ``home`` if it is alive."""
        import dask

        key = (f"{function.__name__}-{uuid4().hex}", s)
        where = {} if home is None else {"workers": [home], "allow_other_workers": True}
        # silence Dask's advice to scatter large data: scattered data is lost with its worker
        with self._explained(), dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"}):
            return self._client.submit(
                worker.run_on_one_thread, os.getpid(), function, *arguments, key=key, pure=False, **where
            )

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Wait for tasks and return their values."""
        from distributed.scheduler import KilledWorker

        with self._explained(futures):
            asked = self._client.gather(list(futures), direct=self._is_near(), asynchronous=True)
            answer = asyncio.run_coroutine_threadsafe(asked, self._client.loop.asyncio_loop)
            while True:
                try:
                    return list(answer.result(_POLL))
                except TimeoutError:
                    if answer.done():
                        raise
                    self._workers()
                except KilledWorker as error:
                    times = error.allowed_failures + 1
                    raise RuntimeError(
                        f"slab {error.task[1]} has lost its worker {times} times, perhaps for lack of "
                        f"memory: check the workers' logs, then run again{self._keep}."
                    ) from error

    def run(self, calls: Iterator[tuple[int, tuple[Any, ...]]], most: int) -> Iterator[tuple[int, Any]]:
        """Submit calls, at most ``most`` at a time, and yield their results as they complete."""
        done: SimpleQueue[Any] = SimpleQueue()
        pending: dict[Any, tuple[int, Any]] = {}
        try:
            while True:
                for s, (function, *arguments) in islice(calls, most - len(pending)):
                    future = self.submit(function, s, *arguments)
                    pending[future.key] = s, future
                    future.add_done_callback(done.put)
                if not pending:
                    return
                try:
                    s, future = pending.pop(done.get(timeout=_POLL).key)
                except Empty:
                    self._workers()
                    continue
                yield s, self.gather([future])[0]
        finally:
            if pending and self._client.status == "running":
                self._client.cancel([future for _, future in pending.values()])

    def check_versions(self) -> None:
        """Raise if a worker has another version of gssl, or none: its numbers might be others."""
        with self._explained():
            answers = self._client.run(worker.version, on_error="return")
        here = worker.version()
        for address, found in answers.items():
            # a worker that is lost meanwhile gives an OSError
            if found != here and not isinstance(found, OSError):
                has = f"has gssl {found}" if isinstance(found, str) else "cannot import gssl"
                raise RuntimeError(
                    f"the Dask worker {address} {has}, and this process has {here}: install the same on all."
                )

    def columns_of(self, X: Any) -> Any:
        """Return the file of X if all workers can read the same file, else X."""
        file = mapped_file(X)
        return file if file is not None and self._sees(file.path) else X

    def shared_folder(self) -> RunFolder | None:
        """Make a temporary folder through which this machine's workers and client exchange arrays.

        None if there are workers on other machines, to which arrays are sent.
        """
        if not self._is_near():
            return None
        folder = RunFolder()
        return folder if self._sees(folder.path) else None

    def packed(self, filters: FiltersOf) -> Any:
        """Pack matrices that are the same in every iteration, as files where workers can read them."""
        first = filters(1)
        return (
            worker.PackedFilters.of(first, lambda file: self._sees(file.path))
            if first is filters(1)
            else filters
        )

    def memory_share(self) -> int:
        """Return the least memory that any worker may use, if workers on the same host share it evenly."""
        hosts = Counter(address.rsplit(":", 1)[0] for address in self.threads())
        return int(min(self._ask(worker.memory_share, max(hosts.values())).values(), default=0))

    def _sees(self, path: Path) -> bool:
        facts = path.stat()
        seen = self._ask(worker.sees, str(path), facts.st_size, facts.st_mtime_ns)
        return bool(seen) and all(seen.values())

    def _is_near(self) -> bool:
        """Return whether all workers are in this process's network, so that data can bypass the scheduler."""
        if self._direct is None:
            here = worker.network()
            self._direct = bool(here) and set(self._ask(worker.network).values()) == {here}
        return self._direct

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Run a function on all workers, in parallel to their tasks; workers lost meanwhile are left out."""
        with self._explained():
            answers: dict[str, Any] = self._client.run(function, *arguments, on_error="ignore")
        return answers

    def _workers(self) -> dict[str, int]:
        """Return the workers that take tasks, and their threads; raise if there are none for too long."""
        import dask

        with self._explained():
            # a client that connects again knows no workers yet
            known = self._client.scheduler_info().get("workers", {})
        threads = {place: facts["nthreads"] for place, facts in known.items() if facts["status"] != "paused"}
        if threads:
            self._empty_since = None
        else:
            self._empty_since = self._empty_since or monotonic()
            if monotonic() - self._empty_since > dask.config.get(*_PATIENCE):
                why = "has no workers: start some"
                if known:
                    why = "has paused its workers, whose memory is used up: give them more"
                raise ConnectionError(f"the Dask cluster {why}, then run again{self._keep}.")
        return threads

    @contextmanager
    def _explained(self, futures: Sequence[Any] = ()) -> Iterator[None]:
        """Turn connection errors into one sentence about the scheduler; raise errors of tasks unchanged."""
        from distributed.comm import CommClosedError

        try:
            if self._client.status not in ("running", "connecting"):
                raise CommClosedError(self._client.status)
            yield
        except (CancelledError, CommClosedError, OSError, TimeoutError) as error:
            if isinstance(error, ConnectionError) or any(future.status == "error" for future in futures):
                raise
            raise ConnectionError(
                f"the Dask scheduler cannot be reached any more: start it and run again{self._keep}."
            ) from error


class ClusterEmbedding:
    """U on the workers: each slab is a chain of tasks, whose last value Dask keeps and can recompute."""

    # each worker thread has a share of the columns: one slab, or several in files if one would exceed the
    # budget; steps are deferred until a product or rows are needed

    def __init__(
        self, cluster: Cluster, X: Any, filters: Filters, labelled: np.ndarray, budget: int | None
    ) -> None:
        self._cluster, self._X, self._filters, self._labelled = cluster, X, filters, labelled
        self._budget = cluster.memory_share() if budget is None else budget
        self._graph: Any = None
        self._nodes: Any = None
        self._in_files = False
        self._pending: list[LazyStep] = []
        # the columns and the worker of each slab, and the slabs of each thread
        self._columns: list[slice] = []
        self._homes: list[str] = []
        self._lanes: list[range] = []
        self._U: list[Any] = []
        self._rows: list[Any] = []

    def step(self, beta: float, pull: Pull | None) -> "ClusterEmbedding":
        """Defer a step until the slabs are needed."""
        self._pending.append((beta, pull))
        return self

    def __matmul__(self, W: np.ndarray) -> np.ndarray:
        self._move(W.shape[1])
        return self.sum_products(self._U, W, self._X.shape[0])

    def rows(self, nodes: np.ndarray) -> "ClusterRows":
        """Return some rows, which stay on the workers."""
        pulls = [pull for _, pull in self._pending if pull is not None]
        self._move(pulls[0].W.shape[1] if pulls else 1)
        if np.array_equal(nodes, self._labelled):
            return ClusterRows(self, self._rows, len(nodes))
        return ClusterRows(self, self._pick(self._cluster.submit(worker.hold, 0, nodes)), len(nodes))

    def sum_products(self, parts: Sequence[Any], W: np.ndarray, n_rows: int) -> np.ndarray:
        """Return the sum of ``parts[s] @ W[columns of s]`` over all slabs, first within each thread."""
        sums = []
        for lane in self._lanes:
            total = None
            for s in lane:
                total = self.submit(worker.add_product, s, parts[s], W[self._columns[s]], total)
            sums.append(total)
        scores = np.zeros((n_rows, W.shape[1]))
        for part in self._cluster.gather(sums):
            scores += part
        return scores.astype(self._X.dtype)

    def gather(self, parts: Sequence[Any], axis: int) -> np.ndarray:
        """Concatenate the parts of all slabs."""
        return np.concatenate(self._cluster.gather(parts), axis=axis).astype(self._X.dtype, copy=False)

    def submit(self, function: Callable[..., Any], s: int, *arguments: Any) -> Any:
        """Submit a task of slab s to its worker."""
        return self._cluster.submit(function, s, *arguments, home=self._homes[s])

    def _move(self, n_classes: int) -> None:
        """Apply the deferred steps to every slab."""
        if not self._U:
            self._begin(n_classes)
        elif not self._pending:
            return
        if self._pending:
            steps = self._cluster.submit(worker.hold, 0, self._pending)
            self._U = [
                self.submit(worker.advance, s, U, self._graph, steps, self._columns[s], self._in_files)
                for s, U in enumerate(self._U)
            ]
            self._pending = []
        self._rows = self._pick(self._nodes)

    def _pick(self, nodes: Any) -> list[Any]:
        return [self.submit(worker.pick, s, U, nodes) for s, U in enumerate(self._U)]

    def _begin(self, n_classes: int) -> None:
        """Split the columns into slabs, and load them."""
        threads = self._cluster.threads()
        n, d = self._X.shape
        n_at_once = max(threads.values())
        lanes = [address for address, count in threads.items() for _ in range(count)]
        share = spread_slabs(d, len(lanes))
        load, in_memory = embedding_load(
            (n, min(d, share.width * n_at_once)),
            n_classes,
            len(self._labelled),
            self._X.dtype.itemsize,
            graph_bytes(self._filters),
            self._budget,
            n_at_once,
        )
        width = plan_slabs(share.width, load, self._budget, n_at_once).width
        self._in_files = not in_memory
        for home, columns in zip(lanes, share.slabs, strict=False):
            slabs = SlabPlan(columns.stop - columns.start, width).slabs
            self._lanes.append(range(len(self._columns), len(self._columns) + len(slabs)))
            self._columns += [slice(columns.start + s.start, columns.start + s.stop) for s in slabs]
            self._homes += [home] * len(slabs)
        filters = self._filters
        self._graph = self._cluster.submit(worker.hold, 0, self._cluster.packed(lambda k: filters))
        self._nodes = self._cluster.submit(worker.hold, 0, self._labelled)
        X = self._cluster.columns_of(self._X)
        # they depend on a task without a home, because Dask forgets tasks that have a home and no
        # dependencies when all workers are gone for a while
        self._U = [
            self.submit(worker.load, s, worker.part_of(X, columns), self._in_files, self._nodes)
            for s, columns in enumerate(self._columns)
        ]


class ClusterRows:
    """Rows of U on the workers, multiplied there in double precision."""

    def __init__(self, embedding: ClusterEmbedding, parts: Sequence[Any], n_rows: int) -> None:
        self._embedding, self._parts, self._n_rows = embedding, parts, n_rows

    @property
    def T(self) -> TransposedRows:
        """The transpose."""
        return TransposedRows(self)

    def __matmul__(self, W: np.ndarray) -> np.ndarray:
        return self._embedding.sum_products(self._parts, W, self._n_rows)

    def transposed_times(self, R: np.ndarray) -> np.ndarray:
        """Return the product of the transpose with R."""
        submit = self._embedding.submit
        products = [submit(transposed_product, s, part, R) for s, part in enumerate(self._parts)]
        return self._embedding.gather(products, axis=0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._embedding.gather(self._parts, axis=1), dtype=dtype)


def check_client(client: Any) -> None:
    """Raise unless given a connected, synchronous Dask client."""
    try:
        from distributed import Client
    except ImportError as missing:
        raise ImportError("a Dask client needs the extra: pip install 'gssl[distributed]'.") from missing
    if not isinstance(client, Client):
        given = repr(client) if isinstance(client, str) else "…"
        raise TypeError(f"client is {client!r}, not a Dask client: give client=distributed.Client({given}).")
    if client.asynchronous:
        raise ValueError("the Dask client is asynchronous: give one that is made with asynchronous=False.")
    if client.status != "running":
        raise ConnectionError(f"the Dask client is {client.status}: make a new one, and fit with that.")


def check_dask() -> None:
    """Raise if Dask is not installed, without importing it."""
    if find_spec("distributed") is None:
        raise ImportError("Dask is missing: pip install 'gssl[distributed]'.")


@contextmanager
def cluster_client(address: str | None = None, n_workers: int | None = None) -> Iterator[Any]:
    """Yield a client of a Dask scheduler or of temporary local workers; None if neither is given."""
    # TLS is configured in Dask's own settings
    if address is None and n_workers is None:
        yield None
        return
    check_dask()
    from distributed import Client, LocalCluster

    if address is not None:
        client = Client.__new__(Client)
        try:
            Client.__init__(client, address, timeout=10)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            # close it now: the garbage collector could do so in the next client's thread and deadlock it
            client.__del__()
            if address.startswith("tls://"):
                raise ConnectionError(
                    f"the Dask scheduler at {address} cannot be reached with these certificates: check that "
                    "it runs, and that distributed.comm.tls in Dask's configuration sets the ca-file and the "
                    "client's cert and key."
                ) from error
            raise ConnectionError(
                f"there is no Dask scheduler at {address}: start one, or give the address that it has."
            ) from error
        with client:
            yield client
        return
    threads = max(1, (os.cpu_count() or 1) // max(1, n_workers or 1))
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=threads,
            processes=True,
            # any free port, not reachable from other machines
            dashboard_address="127.0.0.1:0",
            memory_limit=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client

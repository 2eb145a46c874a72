"""The workers of a Dask cluster: who does what, and what happens when one of them is gone."""

import os
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from distributed import Client, fire_and_forget, wait
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from gssl.graph.mapped import FileArray, mapped_file
from gssl.scale import worker
from gssl.scale.shared import network, sees, sweep, touch

# seconds between two looks at who is still there
_LOOK = 0.5
# seconds to wait for a worker to come where there is none
_PATIENCE = 60.0
# times that one slab may lose its worker
_LOSSES = 5
_LOST = (worker.SlabLostError, KilledWorker, CancelledError, CommClosedError)

# gives the function that a worker runs for a slab, and its arguments
Ask = Callable[[int], tuple[Callable[..., Any], tuple[Any, ...]]]


class Team:
    """Workers that own slabs; a slab whose worker is gone gets another one.

    Parameters
    ----------
    client : distributed.Client
        Used as it is, with the security settings that it was made with.
    keep : str
        What to say about finished work if the scheduler is gone.
    """

    def __init__(self, client: Client, keep: str = "") -> None:
        self._client, self._keep = client, keep
        self.owners: dict[int, str] = {}
        self._alive: dict[str, int] = {}  # when they were last asked for
        self._ready: set[str] = set()
        self._seen: dict[str, dict[str, bool]] = {}
        self._networks: dict[str, str] = {}

    def workers(self) -> list[str]:
        """Give the addresses of the workers, in one order; wait for one where there is none."""
        deadline = monotonic() + _PATIENCE
        while True:
            found = self._listed()
            if found:
                for address in sorted(set(found) - self._ready):
                    fire_and_forget(self._submit(address, worker.use_threads, (os.getpid(), found[address])))
                    self._ready.add(address)
                return sorted(found)
            if monotonic() > deadline:
                raise ConnectionError(
                    f"the Dask cluster has no workers: start some, then run again{self._keep}."
                )
            try:
                self._client.wait_for_workers(1, timeout=_LOOK)
            except TimeoutError:
                continue

    def assign(self, slabs: Sequence[int]) -> None:
        """Give slabs to the workers that have fewest."""
        alive = self.workers()
        for s in slabs:
            counts = dict.fromkeys(alive, 0)
            for owner in self.owners.values():
                if owner in counts:
                    counts[owner] += 1
            self.owners[s] = min(alive, key=lambda address: (counts[address], address))

    def send(self, array: Any, to: str | None = None) -> Any:
        """Put data on one worker, or on all of them, once; give what stands for it in a task.

        What is meant for a worker that is gone lands on another one; Dask moves it to where it is needed.
        """
        if to is None:
            return self._try(lambda: self._client.scatter([array], broadcast=True, hash=False)[0])
        options = {"workers": [to], "direct": self._near(to)}
        for _ in range(_LOSSES):
            try:
                return self._client.scatter([array], hash=False, **options)[0]
            except (CommClosedError, OSError, TimeoutError, ValueError):
                # that worker is gone, or all of them, or the scheduler: who is left passes it on
                options = {"workers": self.workers()[:1]}
                sleep(_LOOK)
        return self._try(lambda: self._client.scatter([array], hash=False)[0])

    def file_of(self, array: Any) -> FileArray | None:
        """Tell where an array lies if it is in a file that every worker sees as this process does."""
        file = mapped_file(array)
        return file if file is not None and self.sees_file(file) else None

    def sees_file(self, file: FileArray) -> bool:
        """Tell whether every worker sees a file as this process does; each is asked once."""
        seen = self._seen.setdefault(str(file.path), {})
        missing = sorted(set(self.workers()) - set(seen))
        if missing:
            found = file.path.stat()
            seen |= self._ask_all(sees, str(file.path), found.st_size, found.st_mtime_ns, workers=missing)
        return all(seen.get(address, False) for address in self._listed())

    def sees_folder(self, folder: Path) -> bool:
        """Tell whether every worker can write to a folder of this process."""
        found = self._ask_all(touch, str(folder))
        seen = bool(found) and all((folder / name).exists() for name in found.values())
        sweep(folder)
        return seen

    def room(self) -> int:
        """Tell how much memory the worker with least may take, beside those on the same machine."""
        hosts = Counter(address.rsplit(":", 1)[0] for address in self.workers())
        return int(min(self._ask_all(worker.room, max(hosts.values())).values(), default=0))

    def collect(self, slabs: Sequence[int], ask: Ask, revive: Callable[[int], None]) -> dict[int, Any]:
        """Ask the owner of each slab; one that is gone has its slabs revived elsewhere, and those are asked.

        Parameters
        ----------
        slabs : sequence of int
        ask : callable
        revive : callable
            Brings a slab to where it was, on the owner that it has by then.
        """
        pending = {s: self._submit(self.owners[s], *ask(s)) for s in slabs}
        answers: dict[int, Any] = {}
        losses: Counter[int] = Counter()
        while pending:
            found, lost = self._look(pending, losses)
            answers |= found
            for s in lost:
                self.assign([s])
                revive(s)
                pending[s] = self._submit(self.owners[s], *ask(s))
        return answers

    def spread(
        self,
        slabs: Sequence[int],
        prepare: Callable[[int, str], Any],
        ask: Callable[[int, Any], tuple[Callable[..., Any], tuple[Any, ...]]],
    ) -> Iterator[tuple[int, Any]]:
        """Give slabs to whoever is free, one at a time, and yield the answers as they come.

        Parameters
        ----------
        slabs : sequence of int
        prepare : callable
            Sends what a slab needs to a worker; done for the next slab while the worker is at another.
        ask : callable
            Gives the function that a worker runs, and its arguments, from the slab and what was prepared.
        """
        waiting, ready, pending = deque(slabs), deque[tuple[int, Any]](), dict[int, Any]()
        losses: Counter[int] = Counter()
        found: dict[int, Any] = {}
        while waiting or ready or pending or found:
            busy = {self.owners[s] for s in pending}
            for address in [address for address in self.workers() if address not in busy]:
                if not ready and waiting:
                    s = waiting.popleft()
                    ready.append((s, prepare(s, address)))
                if ready:
                    s, part = ready.popleft()
                    self.owners[s] = address
                    pending[s] = self._submit(address, *ask(s, part))
            # once everybody is at work: whoever takes answers may write them to a disk
            while found:
                yield found.popitem()
            if not pending:
                continue
            if waiting and len(ready) < len(pending):
                # sent to whoever has one for longest: he is likely to be free first
                ahead = list(pending)[len(ready)]
                s = waiting.popleft()
                ready.append((s, prepare(s, self.owners[ahead])))
                continue
            found, lost = self._look(pending, losses)
            waiting.extendleft(lost)

    def _look(self, pending: dict[int, Any], losses: "Counter[int]") -> tuple[dict[int, Any], list[int]]:
        """Wait a little; take the answers out of what is pending, and slabs that have lost their worker."""
        answers, lost = {}, []
        for s in self._done(pending):
            try:
                answers[s] = self._client.gather(pending.pop(s), direct=self._near(self.owners[s]))
            except _LOST:
                lost.append(s)
        if not answers:
            alive = self._listed()
            for s in [s for s in pending if self.owners[s] not in alive]:
                pending.pop(s).cancel()
                lost.append(s)
        losses.update(lost)
        for s in lost:
            if losses[s] > _LOSSES:
                raise RuntimeError(
                    f"slab {s} has lost its worker {losses[s]} times: look into the workers' logs, for "
                    f"it may be too much for their memory, then run again{self._keep}."
                )
        return answers, lost

    def release(self, run: str) -> None:
        """Let all workers forget a run, also who has had to give up what he had; one that is gone has."""
        for address in sorted(self._alive):
            if self._client.status == "running":
                fire_and_forget(self._submit(address, worker.end, (run,)))

    def _submit(self, address: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        return self._try(lambda: self._client.submit(function, *arguments, workers=[address], pure=False))

    def _near(self, address: str) -> bool:
        """Tell whether a worker is in this process's network, so that data need not go by the scheduler."""
        if address not in self._networks:
            self._networks |= self._ask_all(network)
        return bool(network()) and self._networks.get(address) == network()

    def _ask_all(self, function: Callable[..., Any], *arguments: Any, workers: Any = None) -> dict[str, Any]:
        """Run a function on workers, beside their tasks; one that goes away meanwhile gives no answer."""
        answers: dict[str, Any] = self._try(
            lambda: self._client.run(function, *arguments, workers=workers, on_error="ignore")
        )
        return answers

    def _done(self, pending: dict[int, Any]) -> list[int]:
        try:
            finished = wait(list(pending.values()), timeout=_LOOK, return_when="FIRST_COMPLETED").done
        except TimeoutError as nothing_yet:
            # the frames of its traceback hold it in turn, and would hold the run after its end
            nothing_yet.with_traceback(None)
            return []
        except CancelledError:
            finished = {future for future in pending.values() if future.done()}
        return [s for s, future in pending.items() if future in finished]

    def _listed(self) -> dict[str, int]:
        self._alive = dict(self._try(self._client.nthreads))
        return self._alive

    def _try(self, call: Callable[[], Any]) -> Any:
        """Call the scheduler, and say in one sentence that it is gone."""
        try:
            if self._client.status not in ("running", "connecting"):
                raise CommClosedError(self._client.status)
            return call()
        except (CommClosedError, OSError, TimeoutError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise ConnectionError(
                f"the Dask scheduler cannot be reached any more: start it and run again{self._keep}."
            ) from error

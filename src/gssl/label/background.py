"""The careful model: AutoClassifier, refitted in another process while the user is idle."""

import multiprocessing
import os
import signal
import warnings
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from threading import Event, Thread
from time import monotonic
from typing import Any

import numpy as np

from gssl.label.class_opinion import Careful
from gssl.label.session import Session
from gssl.scale.memory import available_memory

# seconds without an action before a fit starts
IDLE = 1.5
# seconds between checks for that
_POLL = 0.2
# labels without which no fit starts
_FEWEST = 6


class BackgroundFit:
    """Refit AutoClassifier to a session's labels while the user is idle; ``error`` says why it stopped."""

    def __init__(self, session: Session, idle: float = IDLE) -> None:
        self.session, self.idle, self.error = session, idle, ""
        self._stop = Event()
        self._fitted: dict[int, int] = {}
        self._process: Any = None
        self._pipe: Any = None
        self._thread = Thread(target=self._run, name="gssl-label-refit", daemon=True)

    def start(self) -> None:
        """Start watching a session of classes, unless there is too little memory for a second copy."""
        if self.session.answers != "classes":
            return
        X, A = self.session.problem.features, self.session.problem.adjacency
        size = A.nnz * 12 + (0 if X is None else 12 * X.nnz if hasattr(X, "nnz") else X.nbytes)
        if 4 * size > available_memory():
            self.error = "too little memory for AutoClassifier beside the page: only the fast model is used"
            return
        self._thread.start()

    def stop(self) -> None:
        """Stop the process and the thread."""
        self._stop.set()
        if self._process is not None:
            self._process.terminate()
            self._process.join(5)
        if self._thread.is_alive():
            self._thread.join(5)

    def _run(self) -> None:
        while not self._stop.wait(_POLL):
            session = self.session
            with session.lock:
                labels, quiet = dict(session.labelling.codes), monotonic() - session.touched
            enough = len(labels) >= _FEWEST and len(set(labels.values())) > 1
            if not enough or labels == self._fitted or quiet < self.idle:
                continue
            try:
                fitted = self._fit(labels)
            except (EOFError, OSError, RuntimeError) as error:
                if not self._stop.is_set():
                    self.error = f"AutoClassifier stopped ({error}): only the fast model is used"
                return
            self._fitted = labels
            session.offer(labels, fitted, "AutoClassifier")

    def _fit(self, labels: dict[int, int]) -> Careful:
        """Fit in the other process, which is started by the first call."""
        if self._process is None:
            spawn = multiprocessing.get_context("spawn")
            self._pipe, theirs = spawn.Pipe()
            problem = self.session.problem
            self._process = spawn.Process(
                target=_serve, args=(theirs, problem.features, problem.adjacency), daemon=True
            )
            self._process.start()
            theirs.close()
        y = np.full(self.session.n_nodes, -1, dtype=np.int64)
        y[list(labels)] = list(labels.values())
        self._pipe.send(y)
        result = self._pipe.recv()
        if isinstance(result, str):
            raise RuntimeError(result)
        assert isinstance(result, Careful)
        return result


def _serve(pipe: Connection, X: Any, A: Any) -> None:
    """Fit every set of labels received, at the lowest priority, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(19)
    from threadpoolctl import threadpool_limits

    from gssl.operators import set_threads
    from gssl.selection import AutoClassifier, audit, learning_curve

    set_threads(1)
    threadpool_limits(1)
    warnings.simplefilter("ignore")
    model = AutoClassifier()
    fitted = False
    while True:
        try:
            y = pipe.recv()
        except EOFError:
            return
        try:
            model = model.update_labels(y) if fitted else model.fit(X, y, adjacency=A)
            fitted = True
            hidden = model.distributions_without(np.flatnonzero(y >= 0))
            result = Careful(model.label_distributions_.astype(np.float32), hidden)
            # raised if there are too few labels
            with suppress(ValueError):
                result = replace(result, audit=audit(model, changes=0))
                result = replace(result, curve=learning_curve(model))
            pipe.send(result)
        except BrokenPipeError:
            return
        except Exception as error:  # the page continues with the fast model
            pipe.send(" ".join(str(error).splitlines()) or type(error).__name__)

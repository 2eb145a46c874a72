"""Training of networks: device, seed, input tensors and epochs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, issparse
from torch import Tensor

from gssl.methods.inputs import generator
from gssl.methods.iteration import iterate, last
from gssl.torch.links import sparse_csr_of


def default_device() -> torch.device:
    """Return a GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def find_device(device: Any = None) -> torch.device:
    """Return a device after checking that this machine has it; the default if None."""
    try:
        # torch accepts names of missing devices: only an allocation fails
        available = torch.empty(0, device=default_device() if device is None else device).device
        if available.type == "meta":
            raise TypeError("the meta device computes nothing")
        return available
    except (RuntimeError, AssertionError, TypeError, NotImplementedError, ImportError) as error:
        raise ValueError(f'torch has no device {device!r} here: give "cpu" or leave device out.') from error


@contextmanager
def seeded(random_state: Any, device: Any = None) -> Iterator[torch.device]:
    """Seed torch on a device within a block, and restore the caller's random state afterwards."""
    chosen = find_device(device)
    seed = int(generator(random_state).integers(2**31))
    others = [] if chosen.type == "cpu" else [chosen]
    with torch.random.fork_rng(devices=others, device_type=chosen.type):
        # torch.manual_seed would also seed other devices, whose state is not restored
        torch.default_generator.manual_seed(seed)
        for other in others:
            module = torch.get_device_module(other)
            # manual_seed seeds the current device; modules for a single device cannot select one
            with module.device(other) if hasattr(module, "device") else nullcontext():
                module.manual_seed(seed)
        yield chosen


@dataclass(frozen=True, eq=False)
class Inputs:
    """Features and graph as tensors for a network; ``edge_weight`` is None if all weights are one."""

    x: Tensor
    edge_index: Tensor
    edge_weight: Tensor | None

    @classmethod
    def of(cls, X: Any, A: csr_array, network: torch.nn.Module) -> "Inputs":
        """Copy features and graph to the device of a network, in its precision.

        Sparse features become a CSR tensor if the network has ``accepts_sparse = True``.
        """
        like = next(network.parameters())
        kind: dict[str, Any] = {"dtype": like.dtype, "device": like.device}
        if issparse(X) and getattr(network, "accepts_sparse", False):
            x = sparse_csr_of(X, **kind)
        else:
            x = torch.tensor(X.toarray() if issparse(X) else X, **kind)
        links = A.tocoo()
        edge_index = torch.tensor(np.vstack([links.row, links.col]), dtype=torch.long, device=like.device)
        weights = None if (links.data == 1).all() else torch.tensor(links.data, **kind)
        return cls(x, edge_index, weights)

    def pass_to(self, function: Any, *rest: Any) -> Any:
        """Call a network or one of its methods, with edge weights if there are any and it accepts them."""
        options = {}
        if self.edge_weight is not None:
            takes = signature(getattr(function, "forward", function)).parameters
            options = {"edge_weight": self.edge_weight} if "edge_weight" in takes else {}
        return function(self.x, self.edge_index, *rest, **options)


@dataclass(eq=False)
class History:
    """Losses and scores by epoch, and the best epoch, counted from 1."""

    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    best: int = 0
    settled: bool = False


def train(
    network: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    loss_of: Callable[[], Tensor],
    *,
    score_of: Callable[[], float] | None = None,
    epochs: int,
    patience: int | None = None,
) -> History:
    """Take one step per epoch, and restore the weights of the best epoch.

    The best epoch has the highest score, the first one if tied; without ``score_of`` it is the last. Training
    stops after ``patience`` epochs without a better score.
    """
    kept: dict[str, Tensor] = {}

    def step(state: History, k: int) -> History:
        state.losses.append(_take_step(network, optimizer, loss_of, k))
        network.eval()
        if score_of is None:
            state.best = k
            return state
        with torch.no_grad():
            state.scores.append(score_of())
        if state.best == 0 or state.scores[-1] > state.scores[state.best - 1]:
            state.best = k
            kept.update({name: value.clone() for name, value in network.state_dict().items()})
        state.settled = patience is not None and k - state.best >= patience
        return state

    end = last(iterate(step, History(), range(1, epochs + 1)))
    if kept:
        network.load_state_dict(kept)
    return end


def _take_step(
    network: torch.nn.Module, optimizer: torch.optim.Optimizer, loss_of: Callable[[], Tensor], k: int
) -> float:
    network.train()
    optimizer.zero_grad()
    loss = loss_of()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    value = float(loss.detach())
    if not np.isfinite(value):
        raise ValueError(
            f"the loss of epoch {k} is not a finite number: lower learning_rate, or scale X, for instance to "
            "rows that sum to one."
        )
    return value

"""The loop that trains a network: epochs, the best of them, and when to stop."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gssl.methods.base import iterate, last


@dataclass(frozen=True, eq=False)
class Epoch:
    """Where a training stands: losses so far, and the best epoch."""

    number: int
    losses: tuple[float, ...] = ()
    scores: tuple[float, ...] = ()
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
) -> Epoch:
    """Take one step per epoch, and leave the network as it was after the best one.

    Parameters
    ----------
    network : Module
    optimizer : Optimizer
        Of its parameters.
    loss_of : callable
        Gives the loss of the network in training.
    score_of : callable, optional
        Gives a number that is the greater the better the network is on nodes that do not train it; a tie goes
        to the earlier epoch. Without it the last epoch is the best.
    epochs : int
        At most.
    patience : int, optional
        Stop after so many epochs without a better score.

    Returns
    -------
    Epoch
        The last one.

    Examples
    --------
    >>> line = torch.nn.Linear(1, 1)
    >>> end = train(line, torch.optim.SGD(line.parameters(), 0.1), lambda: (line.weight**2).sum(), epochs=3)
    >>> end.number, end.best, end.losses[2] < end.losses[0]
    (3, 3, True)
    """
    kept: dict[str, Tensor] = {}

    def step(state: Epoch, k: int) -> Epoch:
        losses = (*state.losses, _take_step(network, optimizer, loss_of, k))
        if score_of is None:
            return Epoch(k, losses, best=k)
        network.eval()
        with torch.no_grad():
            scores = (*state.scores, score_of())
        best = state.best
        if best == 0 or scores[-1] > scores[best - 1]:
            best = k
            kept.update({name: value.clone() for name, value in network.state_dict().items()})
        return Epoch(k, losses, scores, best, patience is not None and k - best >= patience)

    end = last(iterate(step, Epoch(0), range(1, epochs + 1)))
    if kept:
        network.load_state_dict(kept)
    network.eval()
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

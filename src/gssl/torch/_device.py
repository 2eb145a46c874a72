"""Where to compute, and torch's random numbers there: a fit leaves those of its caller alone."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from gssl.methods.inputs import generator
from gssl.torch._packages import torch


def find_device(device: Any = None) -> torch.device:
    """Give a device that this machine has.

    Parameters
    ----------
    device : str or torch.device, optional
        The CPU if None.

    Returns
    -------
    torch.device

    Examples
    --------
    >>> find_device("cpu")
    device(type='cpu')
    >>> find_device("abacus")
    Traceback (most recent call last):
        ...
    ValueError: torch has no device 'abacus' here: give "cpu" or leave device out.
    """
    try:
        place = torch.device("cpu" if device is None else device)
        # a name may be known where the thing is missing: only memory on it tells
        place = torch.empty(0, device=place).device
        if place.type == "meta":
            raise TypeError("a device that computes nothing")
        return place
    except (RuntimeError, AssertionError, TypeError, NotImplementedError, ImportError) as error:
        raise ValueError(f'torch has no device {device!r} here: give "cpu" or leave device out.') from error


@contextmanager
def seeded(random_state: Any, device: Any = None) -> Iterator[torch.device]:
    """Draw from a seed inside the block, and leave torch's own random state as it was.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
    device : str or torch.device, optional
        Where to compute: the CPU if None.

    Yields
    ------
    torch.device

    Examples
    --------
    >>> with seeded(0):
    ...     a = torch.rand(1)
    >>> with seeded(0):
    ...     b = torch.rand(1)
    >>> bool(a == b)
    True
    """
    place = find_device(device)
    seed = int(generator(random_state).integers(2**31))
    others = [] if place.type == "cpu" else [place]
    with torch.random.fork_rng(devices=others, device_type=place.type):
        # torch.manual_seed would seed every other device too, whose state nobody gives back
        torch.default_generator.manual_seed(seed)
        for other in others:
            module = torch.get_device_module(other)
            # a module seeds the device that is current; where there is only one, it has no way to say which
            with module.device(other) if hasattr(module, "device") else nullcontext():
                module.manual_seed(seed)
        yield place

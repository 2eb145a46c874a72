"""The packages of this room, and the sentence about one that is missing.

A file of the room writes ``from gssl.torch._packages import torch`` where others write ``import torch``.
"""

from importlib import import_module
from typing import Any

try:
    import torch as torch
except ModuleNotFoundError as error:
    raise ImportError("gssl.torch needs torch: pip install gssl[torch].", name="torch") from error


def geometric(module: str = "torch_geometric") -> Any:
    """Import PyTorch Geometric, or a module of it, when something needs it.

    Parameters
    ----------
    module : str, default="torch_geometric"

    Returns
    -------
    module

    Examples
    --------
    >>> geometric("torch_geometric_of_tomorrow")
    Traceback (most recent call last):
        ...
    ImportError: networks of gssl.torch need torch_geometric_of_tomorrow: pip install gssl[torch].
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"networks of gssl.torch need {module}: pip install gssl[torch].", name=module
        ) from error

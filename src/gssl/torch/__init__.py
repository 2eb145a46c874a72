"""The operators as layers of neural networks, networks to compare with, and torch as a backend of methods.

Needs torch (``pip install gssl[torch]``), networks also torch-geometric (``gssl[baselines]``). Every name
loads when it is first used, so that importing this room alone loads no torch; a new file of the room is one
line in ``__init__.pyi``.
"""

from typing import Any

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("torch", "torch_geometric"):
            raise
        raise ImportError(
            f"gssl.torch.{name} needs {package}, which is not installed: pip install gssl[baselines]."
        ) from error

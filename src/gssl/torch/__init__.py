"""The operators as layers of neural networks, one estimator for any network, and torch as a backend.

Needs torch (``pip install gssl[torch]``). Every name loads when it is first used, so importing this room
loads no torch; a new name is one line in ``__init__.pyi``.
"""

from typing import Any

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError("gssl.torch needs torch: pip install gssl[torch].", name="torch") from error

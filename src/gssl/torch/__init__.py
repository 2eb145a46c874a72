"""The operators as layers of neural networks, an estimator for any network, and the torch backend.

Needs torch (``pip install gssl[torch]``). Names load on first use, so importing this package does not import
torch; add new names to ``__init__.pyi``.
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

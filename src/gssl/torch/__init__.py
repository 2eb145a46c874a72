"""Deep baselines in torch; the names below load torch when they are first used, and not before."""

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

"""Graph-based semi-supervised learning: predict all nodes from a graph, features and a few labels.

Public names are loaded on first use, so ``import gssl`` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gssl import frames, methods

__version__ = "0.2.0"

_SUBPACKAGES = (
    "graph",
    "operators",
    "scale",
    "methods",
    "evaluation",
    "selection",
    "datasets",
    "io",
    "torch",
    "report",
    "label",
    "cli",
)
# public names outside `methods`, and the subpackage of each
_NAMES = {
    "AutoClassifier": "selection",
    "AutoRegressor": "selection",
    "CalibratedClassifier": "selection",
    "audit": "selection",
    "execution": "scale",
    "GraphWarning": "graph",
    "load": "io",
    "read": "io",
    "save": "io",
    "suggest": "selection",
    "why": "selection",
    "write_report": "report",
}

_METHODS: list[str] = vars(methods)["__all__"]

__all__ = [*_METHODS, *_NAMES, *_SUBPACKAGES, "__version__"]

if TYPE_CHECKING:
    from gssl import cli, datasets, evaluation, graph, io, label, operators, report, scale, selection, torch
    from gssl.graph import GraphWarning
    from gssl.io import load, read, save
    from gssl.methods import *
    from gssl.report import write_report
    from gssl.scale import execution
    from gssl.selection import AutoClassifier, AutoRegressor, CalibratedClassifier, audit, suggest, why


def __getattr__(name: str) -> Any:
    if name in _METHODS:
        return getattr(methods, name)
    if name in _NAMES:
        return getattr(import_module(f"gssl.{_NAMES[name]}"), name)
    if name in _SUBPACKAGES:
        return import_module(f"gssl.{name}")
    raise AttributeError(f"module 'gssl' has no attribute {name!r}")


def _prepare_frame(frame: Any, preparation: str | None) -> tuple[Any, str]:
    from gssl.io.preparation import prepare_frame

    return prepare_frame(frame, preparation)


frames.register_preparation(_prepare_frame)


def __dir__() -> list[str]:
    return sorted(__all__)

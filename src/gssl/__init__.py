"""Graph-based semi-supervised learning: a graph, features and a few labels in, a label for every node out.

Every public name loads when it is first used, so ``import gssl`` costs no more than its rooms' names.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gssl import methods

__version__ = "0.1.0"

_ROOMS = (
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
# a name that does not live in `methods`, and the room it lives in
_NAMES = {
    "AutoClassifier": "selection",
    "CalibratedClassifier": "selection",
    "audit": "selection",
    "execution": "scale",
    "GraphWarning": "graph",
    "load": "io",
    "save": "io",
    "suggest": "selection",
    "why": "selection",
}

_METHODS: list[str] = vars(methods)["__all__"]

__all__ = [*_METHODS, *_NAMES, *_ROOMS, "__version__"]

if TYPE_CHECKING:
    from gssl import cli, datasets, evaluation, graph, io, label, operators, report, scale, selection, torch
    from gssl.graph import GraphWarning
    from gssl.io import load, save
    from gssl.methods import *
    from gssl.scale import execution
    from gssl.selection import AutoClassifier, CalibratedClassifier, audit, suggest, why


def __getattr__(name: str) -> Any:
    if name in _METHODS:
        return getattr(methods, name)
    if name in _NAMES:
        return getattr(import_module(f"gssl.{_NAMES[name]}"), name)
    if name in _ROOMS:
        return import_module(f"gssl.{name}")
    raise AttributeError(f"module 'gssl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

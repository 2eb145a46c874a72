"""Estimators by name: those of gssl, also deep ones, and parts that only the paper's ablation asks for."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from gssl import methods, torch

_PARTS: dict[str, type] = {}
_WALKS = {"DeepWalk": "reproduction.deepwalk", "Node2Vec": "reproduction.node2vec"}
_DEEP: frozenset[str] = frozenset(vars(torch)["__all__"])
_DEEP_PACKAGES = ("torch", "torch_geometric")


def has_estimator(name: str) -> bool:
    """Tell whether there is such an estimator, and the packages that it says it needs.

    Examples
    --------
    >>> has_estimator("OGC"), has_estimator("DeepMagic")
    (True, False)
    """
    if name in _DEEP:
        # before it is loaded, for loading it loads them
        return all(find_spec(package) for package in _DEEP_PACKAGES)
    if name not in _PARTS and name not in _WALKS and name not in vars(methods)["__all__"]:
        return False
    return all(find_spec(package) for package in getattr(estimator(name), "_packages", ()))


def estimator(name: str) -> Any:
    """Give the class of this name.

    Examples
    --------
    >>> estimator("OGC")()
    OGC()
    """
    if name in _PARTS:
        return _PARTS[name]
    if name in _WALKS:
        return getattr(import_module(_WALKS[name]), name)
    return getattr(torch if name in _DEEP else methods, name)


def part(kind: type) -> type:
    """Register a class under its own name; for parts of methods that are no methods of their own.

    Examples
    --------
    >>> class Half: ...
    >>> part(Half) is Half, has_estimator("Half")
    (True, True)
    >>> del _PARTS["Half"]
    """
    _PARTS[kind.__name__] = kind
    return kind

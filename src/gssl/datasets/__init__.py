"""Graphs by name: ``load("cora")`` returns a :class:`Dataset` with features, labels and splits.

Public names are loaded on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

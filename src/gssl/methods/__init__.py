"""One file per method; the names below are its public line, and the rest of gssl finds it from there.

A new method is one file here and one line in ``__init__.pyi``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

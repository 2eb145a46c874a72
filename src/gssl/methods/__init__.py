"""Methods, one file each; public names are loaded on first use.

To add a method, add a file here and a line in ``__init__.pyi``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

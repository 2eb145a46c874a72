"""The operators as layers of neural networks, networks to compare with, and torch as a backend of methods.

Needs torch (``pip install gssl[torch]``). Every name loads when it is first used, so that importing this room
alone loads no torch; a new file of the room is one line in ``__init__.pyi``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

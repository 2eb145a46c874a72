"""Tables for a terminal and HTML pages of a run; nothing is computed here.

Every name loads when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

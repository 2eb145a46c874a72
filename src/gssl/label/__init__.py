"""A page for labelling: a session of labels and a fast model, its journal, and a server on this machine.

Every name loads when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

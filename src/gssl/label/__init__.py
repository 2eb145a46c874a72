"""The labelling page: a session with labels and a fast model, its journal, and a local server.

Names are imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

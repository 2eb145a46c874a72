"""Tables in and out, neighbouring libraries, saved models.

Every name loads when it is first used: DuckDB and its like cost nothing before.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

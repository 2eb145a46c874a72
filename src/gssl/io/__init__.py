"""Read and write tables, convert graphs of other libraries, and save models.

Names are imported on first use, so that DuckDB and other dependencies load only when needed.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

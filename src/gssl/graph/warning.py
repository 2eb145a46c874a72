"""The warning given when data were odd, pointed at the line of the user who gave them."""

import sys
import warnings
from types import FrameType

# scikit-learn wraps the methods of its estimators, also ours
_INSIDE = ("gssl", "sklearn")


class GraphWarning(UserWarning):
    """Something about the data was odd; the message says what, how often, and what was done."""


def warn_user(message: str, category: type[Warning] = GraphWarning) -> None:
    """Warn as if the first caller outside this package had done it.

    Parameters
    ----------
    message : str
    category : type of Warning, default=GraphWarning

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("removed 3 self-loops")
    >>> str(caught[0].message)
    'removed 3 self-loops'
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _package(frame) in _INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]

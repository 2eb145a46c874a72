"""Predictions and truth in, numbers out: the only room, with ``paper``, that ever sees test labels."""

from gssl.evaluation.accuracy import accuracy
from gssl.evaluation.comparison import Record, Summary, compare, summarize

__all__ = ["Record", "Summary", "accuracy", "compare", "summarize"]

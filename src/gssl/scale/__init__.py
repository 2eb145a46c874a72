"""The same methods past memory and past one machine."""

from gssl.scale.execution import execution

__all__ = ["execution"]

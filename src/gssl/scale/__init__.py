"""Run methods within a memory budget or on a cluster."""

from gssl.scale.execution import execution

__all__ = ["execution"]

"""Katz: all walks from a node, discounted by their length."""

from typing import Any

from gssl.methods.inputs import check_number
from gssl.methods.linear_filters import LinearFilter
from gssl.operators import Filters, lazy_convolution


class Katz(LinearFilter):
    """Add up features along walks of up to ``depth`` links, each link discounted by ``discount``."""

    def __init__(self, discount: float = 0.8, depth: int = 16) -> None:
        self.discount = discount
        self.depth = depth

    def step(self, k: int, U: Any, X: Any, graph: Filters) -> tuple[Any, Any]:
        """Extend all walks by one link."""
        U = self.discount * lazy_convolution(graph.A_hat, U) + X
        return U, U

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "discount", low=0.0, high=1.0)

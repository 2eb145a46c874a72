"""Heat: features diffuse along edges for a given time."""

from typing import Any

from gssl.methods.inputs import check_number
from gssl.methods.linear_filters import LinearFilter
from gssl.operators import Filters, lazy_convolution


class Heat(LinearFilter):
    """Diffuse features along edges for ``time``, in ``depth`` steps."""

    def __init__(self, time: float = 4.0, depth: int = 16) -> None:
        self.time = time
        self.depth = depth

    def step(self, k: int, U: Any, X: Any, graph: Filters) -> tuple[Any, Any]:
        """Take one lazy convolution."""
        U = lazy_convolution(graph.A_hat, U, beta=self.time / self.depth)
        return U, U

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "time", low=0.0, high=self.depth)

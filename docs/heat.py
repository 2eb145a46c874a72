"""Heat: features flow along edges for a given time."""

from gssl.methods.inputs import check_number
from gssl.methods.linear_filters import StepwiseEmbedder
from gssl.operators import Mixture


class Heat(StepwiseEmbedder):
    """Let features flow along edges for ``time``, in ``depth`` steps."""

    def __init__(self, time: float = 4.0, depth: int = 16) -> None:
        self.time = time
        self.depth = depth

    def _mixtures(self, k: int) -> tuple[Mixture, Mixture]:
        step = Mixture.lazy(self.time / self.depth)
        return step, step

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "time", low=0.0, high=self.depth)

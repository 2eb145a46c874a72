"""G2CN: graph Gaussian convolution, G²CN (Li et al., 2022)."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from gssl.methods.embedder import GraphEmbedder
from gssl.methods.inputs import check_number
from gssl.operators import Mixture, Program, Step


@dataclass(frozen=True)
class _Gaussian:
    r"""One branch: its weight in the output, its centre b and its step h."""

    weight: float
    b: float
    h: float

    @property
    def factors(self) -> tuple[Mixture, Mixture]:
        r"""Split a step in two: :math:`I - h M^2 = (I + \sqrt h M)(I - \sqrt h M)`, with M of one hop."""
        root = float(np.sqrt(self.h))
        keep = root * (1.0 - self.b)
        return Mixture(smooth=root, keep=1.0 - keep), Mixture(smooth=-root, keep=1.0 + keep)


class G2CN(GraphEmbedder):
    r"""Keep the features near two graph frequencies, a low one and a high one.

    .. math:: U = (1 - m) \, (I - h_l (\hat L - b_l I)^2)^K X + m \, (I - h_h (\hat L - b_h I)^2)^K X,
              \qquad \hat L = I - \hat A

    Each branch approximates a Gaussian of the spectrum, :math:`e^{-T (\lambda - b)^2}` with :math:`T = hK`:
    its K factors are expanded to first order, as in the authors' experiments. There the weights of the
    branches are trained together with the linear classifier; here only their ratio is a parameter, ``mix``,
    because the classifier absorbs a common factor. With self-loops in :math:`\hat A` all frequencies are
    below 2.

    Parameters
    ----------
    depth : int, default=10
        K, the number of steps; each takes two hops in each branch.
    step_low : float, default=0.25
    step_high : float, default=0.5
        h, the step of each branch, which determines its width: T is h times the depth. The largest step is
        0.5 for the default centres. Above half of it, a factor is negative far from its centre, and near the
        largest step an even depth lets the farthest frequencies pass again. The authors' settings for
        citation graphs have such a high branch, which works well there.
    b_low : float, default=0.0
    b_high : float, default=2.0
        The centres, between 0 and 2.
    mix : float, default=0.5
        m, the weight of the branch around ``b_high``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
    n_iter_ : int
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> gssl.G2CN().fit_transform(data.features, adjacency=data.adjacency).shape
    (34, 34)
    """

    def __init__(
        self,
        depth: int = 10,
        step_low: float = 0.25,
        step_high: float = 0.5,
        b_low: float = 0.0,
        b_high: float = 2.0,
        mix: float = 0.5,
    ) -> None:
        self.depth = depth
        self.step_low = step_low
        self.step_high = step_high
        self.b_low = b_low
        self.b_high = b_high
        self.mix = mix

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "mix", low=0.0, high=1.0)
        for side in ("low", "high"):
            check_number(self, f"b_{side}", low=0.0, high=2.0)
            # with a larger step, the farthest frequency would grow in every iteration
            reach = max(getattr(self, f"b_{side}"), 2.0 - getattr(self, f"b_{side}"))
            check_number(self, f"step_{side}", low=0.0, high=2.0 / reach**2)

    def program(self, A: csr_array | None = None) -> Program:
        """Return the sum of both branches."""
        low = _Gaussian(1.0 - self.mix, self.b_low, self.step_low)
        high = _Gaussian(self.mix, self.b_high, self.step_high)
        branches = [
            Program([Step(factor) for factor in branch.factors] * self.depth) * branch.weight
            for branch in (low, high)
            if branch.weight
        ]
        return branches[0] if len(branches) == 1 else branches[0] + branches[1]

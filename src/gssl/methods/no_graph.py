"""NoGraph: the features as they are, for baselines that look at no graph."""

from typing import Any, ClassVar

from scipy.sparse import csr_array

from gssl.methods._inputs import check_graph
from gssl.methods._stepwise import StepwiseEmbedder
from gssl.operators import Mixture


class NoGraph(StepwiseEmbedder):
    r"""Leave features as they are, so that a head on them is a baseline without any graph.

    .. math:: U = X

    ``EmbeddingClassifier(NoGraph(), head="ridge")`` is plain ridge regression and ``head="logistic"`` plain
    softmax regression on the labelled rows. A graph may be given and is not looked at beyond its size and
    its sanity; where there is none, none is built, and prediction needs none either.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
        A dense copy of X.
    n_iter_ : int
        0.
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> model = gssl.EmbeddingClassifier(gssl.NoGraph(), head="ridge")
    >>> model.fit([[1.0, 0.0], [0.0, 1.0], [0.9, 0.2]], ["spy", "cook", None]).transduction_.tolist()
    ['spy', 'cook', 'spy']
    >>> model.predict([[0.1, 0.8]]).tolist()
    ['cook']
    """

    depth: int = 0  # not a parameter: there is nothing to repeat
    _uses_graph: ClassVar[bool] = False

    def _mixtures(self, k: int) -> tuple[Mixture, Mixture]:
        return Mixture(keep=1.0), Mixture(keep=1.0)

    def _graph(self, adjacency: Any, X: Any, *, allow_empty: bool = False) -> csr_array:
        if adjacency is None:
            return csr_array((X.shape[0], X.shape[0]), dtype=X.dtype)
        return check_graph(adjacency, X, allow_empty=allow_empty)

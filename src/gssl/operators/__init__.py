"""The equations of the paper, each a pure function of an adjacency and embeddings."""

from gssl.operators._kernels.threads import get_threads, set_threads, small_algebra
from gssl.operators.arrays import dense, fetch, zeros
from gssl.operators.convolution import NormalizedAdjacency, lazy_convolution, normalized_adjacency
from gssl.operators.embedding import DenseEmbedding, Embedding
from gssl.operators.inverse import (
    Complement,
    complement_negatives,
    inverse_convolution,
    laplacian_sharpening,
    normalized_negatives,
)
from gssl.operators.losses import classification_loss, sharpening_loss, smoothing_loss
from gssl.operators.mixture import (
    EMBEDDING,
    FEATURES,
    Filters,
    Mixture,
    add_scaled,
    mix,
    multiply,
)
from gssl.operators.program import Program, Step
from gssl.operators.supervision import Loss, Pull, linear_step, residual, soft_labels, supervised_embedding

__all__ = [
    "EMBEDDING",
    "FEATURES",
    "Complement",
    "DenseEmbedding",
    "Embedding",
    "Filters",
    "Loss",
    "Mixture",
    "NormalizedAdjacency",
    "Program",
    "Pull",
    "Step",
    "add_scaled",
    "classification_loss",
    "complement_negatives",
    "dense",
    "fetch",
    "get_threads",
    "inverse_convolution",
    "laplacian_sharpening",
    "lazy_convolution",
    "linear_step",
    "mix",
    "multiply",
    "normalized_adjacency",
    "normalized_negatives",
    "residual",
    "set_threads",
    "sharpening_loss",
    "small_algebra",
    "smoothing_loss",
    "soft_labels",
    "supervised_embedding",
    "zeros",
]

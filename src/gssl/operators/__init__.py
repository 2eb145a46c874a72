"""One equation of the paper, one pure function: adjacency and embeddings in, embeddings out."""

from gssl.operators.convolution import lazy_convolution, normalized_adjacency
from gssl.operators.inverse import (
    Complement,
    complement_negatives,
    inverse_convolution,
    normalized_negatives,
)
from gssl.operators.losses import classification_loss, sharpening_loss, smoothing_loss
from gssl.operators.supervision import Loss, linear_step, residual, soft_labels, supervised_embedding

__all__ = [
    "Complement",
    "Loss",
    "classification_loss",
    "complement_negatives",
    "inverse_convolution",
    "lazy_convolution",
    "linear_step",
    "normalized_adjacency",
    "normalized_negatives",
    "residual",
    "sharpening_loss",
    "smoothing_loss",
    "soft_labels",
    "supervised_embedding",
]

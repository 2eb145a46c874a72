"""Tables in and out."""

from gssl.io.atomic import whole_file
from gssl.io.predictions import Prediction, list_predictions, write_predictions

__all__ = ["Prediction", "list_predictions", "whole_file", "write_predictions"]

import numpy as np
import pytest

import gssl


@pytest.fixture(scope="session")
def blocks():
    """A graph with 5 classes, 24 dense features in single precision, and a few labels."""
    data = gssl.datasets.make_block_graph(300, 1500, 24, 5, features="dense", random_state=3)
    X = np.array(data.features, dtype=np.float32)
    return X, data.mask_labels("default"), data.adjacency

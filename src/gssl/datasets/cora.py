"""The LINQS Cora citation graph that comes with the package."""

from __future__ import annotations

from importlib import resources

import numpy as np
from scipy.sparse import csr_array

from gssl.datasets.dataset import Dataset
from gssl.datasets.matrices import adjacency_from_edges
from gssl.datasets.splits import draw_split


def load_cora() -> Dataset:
    """2,708 papers with 1,433 binary words, 5,278 citations and 7 named classes; needs no file or network.

    The nodes are those of Planetoid's Cora in another order and with their paper ids. There is no
    public split; ``"default"`` draws 20 training nodes of each class, 500 for validation, 1,000 to test.

    Examples
    --------
    >>> cora = load_cora()
    >>> cora
    Dataset('cora', nodes=2708, edges=5278, features=1433, classes=7, splits=default)
    >>> cora.class_names[cora.labels[0]]
    'Neural_Networks'
    """
    source = resources.files("gssl.datasets").joinpath("data", "cora.npz")
    with resources.as_file(source) as path, np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    labels = arrays["labels"].astype(np.int64)
    words = np.unpackbits(arrays["word_bits"], axis=0, count=labels.size).astype(np.float32)
    return Dataset(
        name="cora",
        adjacency=adjacency_from_edges(arrays["edges"].astype(np.int64), labels.size),
        features=csr_array(words),
        labels=labels,
        node_ids=arrays["paper_ids"].astype(np.str_),
        class_names=tuple(arrays["class_names"].tolist()),
        splits={"default": draw_split(labels, per_class=20, n_val=500, n_test=1000)},
    )

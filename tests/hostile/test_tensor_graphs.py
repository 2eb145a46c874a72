"""Invalid graphs of PyTorch Geometric and DGL are refused with one sentence each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gssl.io import from_dgl, from_pyg

torch = pytest.importorskip("torch", reason="torch is not installed")

PAIR = torch.tensor([[0, 1], [1, 0]])
X = torch.tensor([[1.0, 2.0], [0.0, 4.0]])
NAN = float("nan")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"num_nodes": "two"}, "num_nodes is 'two': give a whole number"),
        ({"num_nodes": 2.5}, "num_nodes is 2.5: give a whole number"),
        ({"num_nodes": NAN}, "num_nodes is nan: give a whole number"),
        ({"num_nodes": -1}, "there would be -1 nodes"),
        ({"num_nodes": 1}, "a node number of edges is outside 0 to 0"),
        ({"edge_index": PAIR * 2**62}, "there would be 4,611,686,018,427,387,905 nodes"),
        ({"edge_index": -PAIR}, "a node number of edges is outside 0 to 0"),
        ({"edge_index": PAIR * NAN}, "edges are float32: node numbers must be integers"),
        ({"edge_index": PAIR.bool()}, "edges are bool: node numbers must be integers"),
        ({"edge_index": PAIR.to("meta")}, "edge_index cannot be read as an array"),
        ({"edge_index": torch.eye(2).to_sparse()}, "edge_index cannot be read as an array"),
        ({"edge_index": PAIR[0]}, r"edge_index has shape \(2,\): it must be 2 × edges"),
        ({"edge_weight": torch.ones(3)}, r"the weights are float32 of shape \(3,\) for 2 edges"),
        ({"edge_weight": torch.ones(2, dtype=torch.complex64)}, "the weights are complex64"),
        ({"edge_weight": np.array(["a", "b"])}, "the weights are <U1"),
        ({"edge_weight": torch.tensor([1.0, NAN])}, "holds NaN at row 1, column 0"),
        ({"edge_weight": torch.tensor([1.0, -1.0])}, "holds the negative weight -1.0 at row 1, column 0"),
        ({"x": X * NAN}, "features contains NaN at row 0, column 0"),
        ({"x": torch.eye(2).to_sparse()}, "x cannot be read as an array"),
        ({"x": torch.ones(3, 2), "num_nodes": 2}, "3 rows of features but 2 nodes"),
        ({"y": torch.tensor(1)}, r"y has shape \(\): one class per node"),
        ({"y": torch.empty(0), "num_nodes": 2}, "there are 0 labels but 2 nodes"),
        ({"y": [[1], [2, 3]]}, "y cannot be read as an array"),
        ({"y": torch.eye(2)}, r"y has shape \(2, 2\): one class per node"),
        (
            {"edge_index": torch.zeros((3, 3), dtype=int)},
            r"edge_index has shape \(3, 3\): it must be 2 × edg",
        ),
    ],
)
def test_a_pyg_graph_that_is_none(parts: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        from_pyg(SimpleNamespace(**{"edge_index": PAIR, **parts}))
    with pytest.raises(TypeError, match="no edge_index"):
        from_pyg(SimpleNamespace())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int8", "bool"])
def test_features_of_every_type_keep_their_values(dtype: str):
    problem = from_pyg(SimpleNamespace(edge_index=PAIR.to(torch.uint8), x=X.to(getattr(torch, dtype))))
    np.testing.assert_array_equal(problem.features, X.to(getattr(torch, dtype)).double().numpy())
    assert problem.adjacency.toarray().tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        ({"num_nodes": None}, TypeError, r"no edges\(\), num_nodes\(\) and ndata"),
        ({"edges": 5}, TypeError, r"no edges\(\), num_nodes\(\) and ndata"),
        (
            {"edges": lambda: (np.array([0]), np.array([0, 1]))},
            ValueError,
            r"sources of shape \(1,\) and targets of shape \(2,\)",
        ),
        ({"edges": lambda: ("a", "b")}, ValueError, r"sources of shape \(\) and targets of shape \(\)"),
        ({}, ValueError, "no edge data 'w'; it has none"),
        ({"edata": {"v": np.ones(1)}}, ValueError, "no edge data 'w'; it has v"),
    ],
)
def test_a_dgl_graph_that_is_none(parts: dict[str, Any], error: type[Exception], message: str):
    whole = {"edges": lambda: (np.array([0]), np.array([1])), "ndata": {}, "num_nodes": lambda: 2}
    with pytest.raises(error, match=message):
        from_dgl(SimpleNamespace(**{**whole, **parts}), weight="w")

"""The manual's counterparts of PyTorch Geometric code have similar results."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import gssl

_FILE = Path(__file__).parents[2] / "docs" / "pyg_side_by_side.py"


@pytest.mark.slow
def test_both_sides_agree():
    torch = pytest.importorskip("torch", reason="the page compares with PyTorch Geometric")
    geometric = pytest.importorskip("torch_geometric", reason="the page compares with PyTorch Geometric")
    spec = importlib.util.spec_from_file_location("pyg_side_by_side", _FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cora = gssl.datasets.load("cora").normalized()
    train = torch.zeros(2708, dtype=torch.bool)
    train[cora.splits["default"]["train"].copy()] = True
    data = geometric.data.Data(
        x=torch.tensor(cora.features.toarray()),
        edge_index=torch.tensor(np.vstack(cora.adjacency.nonzero()), dtype=torch.long),
        y=torch.tensor(cora.labels.copy()),
        train_mask=train,
    )
    torch.manual_seed(0)
    theirs, ours = module.there(data).numpy(), module.here(data).astype(int)
    test = cora.splits["default"]["test"]
    assert (theirs == ours)[test].mean() > 0.95
    assert (ours == cora.labels)[test].mean() > 0.75

"""Networks ask for torch only when they are used, and say what to install where it is not."""

import subprocess
import sys

import pytest

import gssl
from reproduction.network_cells import DROP_EDGE, PUBLISHED, network
from reproduction.spec import CITATIONS


def said(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("package", ["torch", "torch_geometric"])
def test_a_missing_package_is_one_sentence(package):
    code = f"""
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name.split(".")[0] == {package!r} else find(name, *more)
import gssl
from reproduction.network_cells import network
print(network("GCN", "planetoid/cora").available)
try:
    gssl.torch.GCN
except ImportError as error:
    print(error)
"""
    sentence = f"gssl.torch.GCN needs {package}, which is not installed: pip install gssl[baselines]."
    assert said(code).splitlines() == ["False", sentence]


def test_names_are_listed_without_torch():
    code = "import sys, gssl; print('GCN' in dir(gssl.torch), 'torch' in sys.modules)"
    assert said(code).split() == ["True", "False"]


@pytest.mark.parametrize("dataset", CITATIONS.values())
def test_published_settings_are_parameters(dataset):
    cells = [network(name, dataset) for name in PUBLISHED]
    cells += [network(name, dataset, drop_edge=True) for name in DROP_EDGE]
    for cell in cells:
        kind = getattr(gssl.torch, cell.settings["method"])
        assert kind(**cell.settings["params"]).get_params().items() >= cell.settings["params"].items()
        assert cell.available
        assert cell.slow or cell.settings["method"] in ("GCN", "GraphSAGE")
    assert cells[-1].settings["params"]["drop_edge"] > 0.0

"""Plug-ins asked for nonsense, devices that are not there: one sentence each."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
gt = pytest.importorskip("gssl.torch")
_device = pytest.importorskip("gssl.torch._device")

PAIR = torch.tensor([[0, 1], [1, 0]])
X = torch.tensor([[1.0, 2.0], [0.0, 4.0]])
NAN, INF = float("nan"), float("inf")


def lying_csr(crow: list[int], columns: list[int], values: list[float]) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
        return torch.sparse_csr_tensor(
            torch.tensor(crow), torch.tensor(columns), torch.tensor(values), (2, 2), check_invariants=False
        )


@pytest.mark.parametrize("convolve", ["lazy_convolution", "inverse_convolution"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((X, PAIR * 7), "a link names node 7, and x has rows 0 to 1"),
        ((X, -PAIR), "a link names node -1"),
        ((X, PAIR, torch.tensor([1.0, NAN])), "a link has the weight nan"),
        ((X, PAIR, torch.tensor([1.0, INF])), "a link has the weight inf"),
        ((X, PAIR, torch.tensor([1.0, -5.0])), "a link has the weight -5.0"),
        ((X.long(), PAIR, torch.tensor([0.5, 0.5])), "x is torch.int64: give floating point numbers"),
        ((X, np.array([[0, 1], [1, 0]])), "edge_index is a ndarray: give a torch tensor"),
        ((X.numpy(), PAIR), "x is a ndarray: give a torch tensor"),
        ((X, None), "edge_index is a NoneType"),
        # torch multiplies with these, and reads memory that belongs to others
        ((X, lying_csr([0, 1, 2], [0, 10**6], [1.0, 1.0])), "a link names node 1000000"),
        ((X, lying_csr([0, 1, 9], [0, 1], [1.0, 1.0])), "no whole CSR tensor"),
        ((X, lying_csr([0, 3, 2], [0, 1], [1.0, 1.0])), "no whole CSR tensor"),
        ((X, lying_csr([1, 2, 3], [0, 1], [1.0, 1.0])), "no whole CSR tensor"),
        ((X, lying_csr([5, 6, 7], [0, 1], [1.0, 1.0])), "no whole CSR tensor"),
        ((X, lying_csr([-(10**6), 1 - 10**6, 2 - 10**6], [0, 1], [1.0, 1.0])), "no whole CSR tensor"),
        ((X, lying_csr([0, 2], [0, 1], [1.0, 1.0])), "no whole CSR tensor"),
        ((X, lying_csr([0, 1, 2, 2], [0, 1], [1.0, 1.0])), "no whole CSR tensor"),
        ((X, lying_csr([0, 1, 2], [0, 1], [1.0])), "no whole CSR tensor"),
        ((X, PAIR, None, 7), "convolution: beta must be a number from 0 to 1, not 7"),
    ],
)
def test_links_that_lead_nowhere(convolve: str, given: Any, message: str):
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(gt, convolve)(*given)


@pytest.mark.parametrize("negatives", [torch.ones(3), np.ones((2, 2)), None, True, 0, -1.0, NAN, INF, "some"])
def test_negatives_are_all_or_a_multiple(negatives: Any):
    with pytest.raises(ValueError, match='negatives must be "complement" or a positive multiple'):
        gt.inverse_convolution(X, PAIR, negatives=negatives)
    with pytest.raises(ValueError, match='negatives must be "complement" or a positive multiple'):
        gt.InverseGraphConv(negatives=negatives)


def test_plug_ins_into_nothing():
    with pytest.raises(ValueError, match="sharpen: there are no layers"):
        gt.sharpen([])
    with pytest.raises(ValueError, match="supervise: there are no layers"):
        gt.supervise((), torch.tensor([0]), torch.tensor([0]))
    with pytest.raises(ValueError, match="sharpen: 5 is no layer"):
        gt.sharpen([5])
    with pytest.raises(ValueError, match="sharpen: decay must be a number from 0 to 1, not 2"):
        gt.sharpen([torch.nn.Linear(2, 2)], decay=2)
    with pytest.raises(ValueError, match="Sharpened: beta must be a number from 0 to 1, not 7"):
        gt.sharpen([gt.LazyConv(), gt.LazyConv()], beta=7)


@pytest.mark.parametrize("part", [-0.1, 1.5, NAN, None, "half"])
def test_a_guide_hides_a_part(part: Any):
    guide = gt.Guide(torch.nn.Linear(2, 2), torch.tensor([0, 1]), torch.tensor([0, 1]))
    with pytest.raises(ValueError, match=r"Guide\.hide: part must be a number from 0 to 1"):
        guide.hide(part)
    assert guide.nodes.tolist() == [0, 1]


def test_labels_that_are_no_classes():
    layer, W = gt.SupervisedEmbedding(), torch.ones(2, 3)
    one = torch.tensor([0])
    for labels, nodes, message in (
        (one + 3, one, "labels go from 3 to 3: there are 0 to 2"),
        (one - 1, one, "labels go from -1 to -1"),
        (one, one + 9, "nodes go from 9 to 9: there are 0 to 1"),
        (one.float(), one, "labels are torch.float32"),
        (torch.ones(1, 2), one, "labels have 2 columns and W 3"),
    ):
        with pytest.raises(ValueError, match=message):
            layer(X, W, labels, nodes)
    with pytest.raises(ValueError, match=r"W has the shape \(4, 2\) for x of the shape \(2, 2\)"):
        layer(X, torch.ones(4, 2), one, one)
    with pytest.raises(ValueError, match=r"labels are torch\.float32: give whole numbers"):
        gt.Guide(torch.nn.Linear(2, 2), one.float(), one)
    with pytest.raises(ValueError, match='supervised_embedding: loss must be "squared" or "cross_entropy"'):
        gt.supervised_embedding(X, W, torch.ones(2, 3), 0.1, loss="huber")


NODES, LINKS, LABELS = np.eye(4), np.ones((4, 4)) - np.eye(4), [0, 1, -1, -1]


@pytest.mark.parametrize("device", ["cuda:99", "abacus", "meta", 99, 3.5])
@pytest.mark.parametrize("network", ["GCN", "DGI", "VERSE"])
def test_a_device_that_is_not_there(network: str, device: Any):
    pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")
    model = getattr(gt, network)(epochs=1, device=device)
    given = (NODES, LABELS) if network == "GCN" else (NODES,)
    with pytest.raises(ValueError, match=f'torch has no device {device!r} here: give "cpu" or leave'):
        model.fit(*given, adjacency=LINKS)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu_is_a_sentence():
    pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")
    with pytest.raises(ValueError, match="torch has no device 'cuda' here"):
        gt.GCN(epochs=1, device="cuda").fit(NODES, LABELS, adjacency=LINKS)


NETWORKS = [
    "GCN",
    "GAT",
    "GCNII",
    "APPNP",
    "JKNet",
    "GraphSAGE",
    "FastGCN",
    "GRAND",
    "ChebNetII",
    "Incep",
    "GNNLF",
    "GNNHF",
]
ENCODERS = ["DGI", "GAE", "VGAE", "BGRL", "VERSE"]


@pytest.mark.parametrize("network", NETWORKS + ENCODERS)
def test_a_fit_leaves_all_random_numbers_of_the_caller_alone(network: str, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")
    reseeded: list[Any] = []
    for module in (torch.cuda, torch.mps, torch.xpu):
        for name in ("manual_seed", "manual_seed_all"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, reseeded.append)
    torch.manual_seed(5)
    assert reseeded, "torch.manual_seed seeds other devices, which nobody seeds back"
    reseeded.clear()
    before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    model = getattr(gt, network)(epochs=2, random_state=0)
    model.fit(*(NODES, LABELS)[: 1 if network in ENCODERS else 2], adjacency=LINKS)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    np.testing.assert_array_equal(np.random.get_state()[1], before[2])  # noqa: NPY002
    assert reseeded == []


@pytest.mark.parametrize("name", ["cuda:1", "xpu:1", "mps:0"])
def test_a_device_that_computes_gets_its_random_numbers_back(name: str, monkeypatch: pytest.MonkeyPatch):
    """A stand-in for the module of a device: states by number, and the number that is current."""
    place = torch.device(name)
    module, states, current = getattr(torch, place.type), {0: "of the caller", 1: "of the caller"}, [0]

    @contextmanager
    def as_current(device: Any) -> Iterator[None]:
        current[0] = device.index
        yield
        current[0] = 0

    monkeypatch.setattr(_device, "find_device", lambda device: place)
    monkeypatch.setattr(module, "get_rng_state", lambda device: states[device.index])
    monkeypatch.setattr(module, "set_rng_state", lambda state, device: states.update({device.index: state}))
    monkeypatch.setattr(module, "manual_seed", lambda seed: states.update({current[0]: seed}))
    if place.type != "mps":
        monkeypatch.setattr(module, "device", as_current)
    before = torch.get_rng_state()
    with suppress(KeyboardInterrupt), _device.seeded(0, name):
        assert states == {place.index: torch.initial_seed(), 1 - place.index: "of the caller"}
        raise KeyboardInterrupt
    assert states == {0: "of the caller", 1: "of the caller"}
    assert torch.equal(torch.get_rng_state(), before)

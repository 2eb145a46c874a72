"""Invalid tensors, plug-in options and missing devices raise errors of one sentence each."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np
import pytest

import gssl

torch = pytest.importorskip("torch", reason="torch is not installed")
gt = pytest.importorskip("gssl.torch")
training = pytest.importorskip("gssl.torch.training")

PAIR = torch.tensor([[0, 1], [1, 0]])
X = torch.tensor([[1.0, 2.0], [0.0, 4.0]])
NAN, INF = float("nan"), float("inf")
LAYER = gt.LazyConv()


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
        ((X, PAIR * 7), "edge_index has node 7, but x has rows 0 to 1"),
        ((X, -PAIR), "edge_index has node -1"),
        ((X, PAIR, torch.tensor([1.0, NAN])), "a link has the weight nan"),
        ((X, PAIR, torch.tensor([1.0, INF])), "a link has the weight inf"),
        ((X, PAIR, torch.tensor([1.0, -5.0])), "a link has the weight -5.0"),
        ((X.long(), PAIR, torch.tensor([0.5, 0.5])), "x is torch.int64: give floating point numbers"),
        ((X, np.array([[0, 1], [1, 0]])), "edge_index is a ndarray: give a torch tensor"),
        ((X.numpy(), PAIR), "x is a ndarray: give a torch tensor"),
        ((X, None), "edge_index is a NoneType"),
        # torch would multiply with these and read memory out of bounds
        ((X, lying_csr([0, 1, 2], [0, 10**6], [1.0, 1.0])), "edge_index has node 1000000"),
        ((X, lying_csr([0, 1, 9], [0, 1], [1.0, 1.0])), "is not a valid CSR tensor"),
        ((X, lying_csr([0, 3, 2], [0, 1], [1.0, 1.0])), "is not a valid CSR tensor"),
        ((X, lying_csr([1, 2, 3], [0, 1], [1.0, 1.0])), "is not a valid CSR tensor"),
        ((X, lying_csr([5, 6, 7], [0, 1], [1.0, 1.0])), "is not a valid CSR tensor"),
        ((X, lying_csr([-(10**6), 1 - 10**6, 2 - 10**6], [0, 1], [1.0, 1.0])), "is not a valid CSR tensor"),
        ((X, lying_csr([0, 2], [0, 1], [1.0, 1.0])), "is not a valid CSR tensor"),
        ((X, lying_csr([0, 1, 2, 2], [0, 1], [1.0, 1.0])), "is not a valid CSR tensor"),
        ((X, lying_csr([0, 1, 2], [0, 1], [1.0])), "is not a valid CSR tensor"),
        ((X, PAIR, None, 7), "convolution: beta must be a number from 0 to 1, not 7"),
    ],
)
def test_links_that_lead_nowhere(convolve: str, given: Any, message: str):
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(gt, convolve)(*given)


@pytest.mark.parametrize("value", [torch.ones(3), np.ones((2, 2)), None, True, 0, -1.0, NAN, INF, "some"])
def test_negatives_are_all_or_a_positive_multiple(value: Any):
    for make in (gt.InverseGraphConv, partial(gt.inverse_convolution, X, PAIR)):
        with pytest.raises(ValueError, match='negatives must be "complement" or a positive multiple'):
            make(negatives=value)


@pytest.mark.parametrize(
    ("plug_in", "message"),
    [
        (lambda: gt.sharpen([]), "sharpen: expected a non-empty list of layers"),
        (lambda: gt.supervise((), PAIR[0], PAIR[0]), "supervise: expected a non-empty list of layers"),
        (lambda: gt.sharpen([5]), r"sharpen: expected a torch\.nn\.Module, got 5"),
        (lambda: gt.sharpen([LAYER], decay=2), "sharpen: decay must be a number from 0 to 1, not 2"),
        (lambda: gt.sharpen([LAYER, gt.LazyConv()], beta=7), "Sharpened: beta must be a number .*, not 7"),
    ],
)
def test_a_plug_in_without_layers_or_with_wrong_numbers_is_refused(plug_in: Any, message: str):
    with pytest.raises(ValueError, match=message):
        plug_in()


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
        (one + 3, one, "labels range from 3 to 3: they must be within 0 … 2"),
        (one - 1, one, "labels range from -1 to -1"),
        (one, one + 9, "nodes range from 9 to 9: they must be within 0 … 1"),
        (one.float(), one, "labels are torch.float32"),
        (torch.ones(1, 2), one, "labels have 2 columns but W has 3"),
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


class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A network with random weights and dropout."""

    def __init__(self, n_features: int, n_classes: int) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(n_features, n_classes)

    def forward(self, x: Any, edge_index: Any) -> Any:
        return self.linear(torch.nn.functional.dropout(x, 0.5, self.training))


@pytest.mark.parametrize("device", ["cuda:99", "abacus", "meta", 99, 3.5, "cuda"])
def test_a_device_that_is_not_there_is_refused(device: Any):
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    message = f'torch has no device {device!r} here: give "cpu" or leave'
    with gssl.execution(backend="torch", device=device), pytest.raises(ValueError, match=message):
        gssl.SGC().fit(NODES, adjacency=LINKS)


def test_a_fit_leaves_all_random_numbers_of_the_caller_alone(monkeypatch: pytest.MonkeyPatch):
    model = gt.NetworkClassifier(Network, epochs=2, random_state=0)
    # fit once before: torch's lazy imports need the functions that are replaced below
    model.fit(NODES, LABELS, adjacency=LINKS)
    reseeded: list[Any] = []
    for module in (torch.cuda, torch.mps, torch.xpu):
        for name in ("manual_seed", "manual_seed_all"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, reseeded.append)
    torch.manual_seed(5)
    assert reseeded, "torch.manual_seed seeds other devices, which nobody seeds back"
    reseeded.clear()
    before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    model.fit(NODES, LABELS, adjacency=LINKS)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    np.testing.assert_array_equal(np.random.get_state()[1], before[2])  # noqa: NPY002
    assert reseeded == []


@pytest.mark.parametrize("name", ["cuda:1", "xpu:1", "mps:0"])
def test_a_device_that_computes_gets_its_random_numbers_back(name: str, monkeypatch: pytest.MonkeyPatch):
    """Use a stand-in for a device's module, with random states by device number and a current device."""
    place = torch.device(name)
    module, states, current = getattr(torch, place.type), {0: "of the caller", 1: "of the caller"}, [0]

    @contextmanager
    def as_current(device: Any) -> Iterator[None]:
        current[0] = device.index
        yield
        current[0] = 0

    monkeypatch.setattr(training, "find_device", lambda device: place)
    monkeypatch.setattr(module, "get_rng_state", lambda device: states[device.index])
    monkeypatch.setattr(module, "set_rng_state", lambda state, device: states.update({device.index: state}))
    monkeypatch.setattr(module, "manual_seed", lambda seed: states.update({current[0]: seed}))
    if place.type != "mps":
        monkeypatch.setattr(module, "device", as_current)
    before = torch.get_rng_state()
    with suppress(KeyboardInterrupt), training.seeded(0, name):
        assert states == {place.index: torch.initial_seed(), 1 - place.index: "of the caller"}
        raise KeyboardInterrupt
    assert states == {0: "of the caller", 1: "of the caller"}
    assert torch.equal(torch.get_rng_state(), before)

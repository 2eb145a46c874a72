"""The torch backend: the loops of methods on tensors, on the CPU or a GPU."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

try:
    import torch
except ModuleNotFoundError as error:
    raise ImportError("gssl.torch needs torch: pip install gssl[torch].", name="torch") from error

from gssl.operators import Complement, DenseEmbedding, Embedding, Filters, Mixture, dense, fetch
from gssl.operators.program import FiltersOf
from gssl.scale.execution import Execution, Task
from gssl.torch.links import sparse_csr_of
from gssl.torch.training import find_device


def execution(device: Any = None) -> "TorchExecution":
    """Return the execution of ``backend="torch"``; by default, on a GPU if there is one."""
    return TorchExecution(str(find_device(device)))


@dataclass(frozen=True)
class TorchExecution(Execution):
    """All columns at once, as a tensor on one device."""

    device: str

    def place(self, filters: Filters) -> "TorchFilters":
        """Copy the matrices to the device."""
        return TorchFilters.on(self.device, filters)

    def map_columns(self, task: Task, X: Any, filters: FiltersOf) -> np.ndarray:
        """Run a task on a tensor of all columns."""
        with torch.no_grad():
            return fetch(task(self._tensor(X), self._filters_of(filters), slice(0, X.shape[1])))

    def each(self, task: Task, X: Any, filters: FiltersOf) -> Iterator[np.ndarray]:
        """Run a task that yields embeddings on a tensor of all columns."""
        for U in task(self._tensor(X), self._filters_of(filters), slice(0, X.shape[1])):
            yield fetch(U)

    def embedding(self, X: Any, filters: Filters, labelled: np.ndarray) -> Embedding:
        """Keep U as a tensor."""
        return DenseEmbedding(self._tensor(X), filters)

    def _tensor(self, X: Any) -> torch.Tensor:
        X = np.ascontiguousarray(dense(X))
        # loops do not write to X, but torch warns about arrays that are read-only
        return torch.as_tensor(X if X.flags.writeable else X.copy(), device=self.device)

    def _filters_of(self, filters: FiltersOf) -> FiltersOf:
        """Copy the matrices of each iteration to the device, unless they are those of the last one."""
        copied: tuple[Filters, TorchFilters] | None = None

        def on_device(k: int) -> Filters:
            nonlocal copied
            given = filters(k)
            if copied is None or copied[0] is not given:
                copied = given, self.place(given)
            return copied[1]

        return on_device


@dataclass(frozen=True)
class TorchFilters(Filters):
    """The matrices of a mixture as sparse tensors; results are arrays for arrays, tensors for tensors."""

    links: Any = None
    negatives: Any = None
    scale: Any = None
    negative_scale: Any = None

    @classmethod
    def on(cls, device: str, filters: Filters) -> "TorchFilters":
        """Copy filters to a device."""
        A_hat, N_hat = filters.A_hat, filters.N_hat
        values = A_hat.weights if A_hat.weights.size else np.ones(len(A_hat.indices), A_hat.scale.dtype)
        links = _matrix(A_hat, values, device)
        negatives, negative_scale = None, None
        if isinstance(N_hat, Complement):
            ones = np.ones(len(N_hat.indices), A_hat.scale.dtype)
            same = filters.shares_links and not A_hat.weights.size
            negatives = links if same else _matrix(N_hat, ones, device)
            negative_scale = _column(N_hat.scale.astype(A_hat.scale.dtype), device)
        elif N_hat is not None:
            N_hat = csr_array(N_hat).astype(A_hat.scale.dtype, copy=False)
            negatives = sparse_csr_of(N_hat, device=device)
        scale = _column(A_hat.scale, device)
        own = None if filters.own is None else _column(filters.own.astype(A_hat.scale.dtype), device)
        return cls(A_hat, N_hat, own, links, negatives, scale, negative_scale)

    def mix(
        self,
        U: Any,
        carried: Mixture,
        *,
        out: Any = None,
        gathered: Mixture | None = None,
        total: Any = None,
        X: Any = None,
    ) -> Any:
        """Apply a mixture on the device: see :func:`gssl.operators.mix`. A tensor ``out`` is only read."""
        u = self._place(U)
        mixtures = [carried] if gathered is None or total is None else [carried, gathered]
        smooth = self._smooth(u) if any(m.smooth for m in mixtures) else None
        sharp = self._sharp(u) if any(m.sharp for m in mixtures) else None
        x = self._place(X) if any(m.restart for m in mixtures) else None
        results = [_sum(m, smooth, sharp, u, x) for m in mixtures]
        if carried.past:
            results[0].add_(self._place(out), alpha=carried.past)
        if len(results) > 1:
            total += results[1] if isinstance(total, torch.Tensor) else fetch(results[1])
        if isinstance(U, torch.Tensor):
            return results[0]
        if out is None:
            return fetch(results[0])
        out[...] = fetch(results[0])
        return out

    def _place(self, U: Any) -> Any:
        if isinstance(U, torch.Tensor):
            return U
        U = np.ascontiguousarray(U.toarray() if issparse(U) else U)
        return torch.as_tensor(U, dtype=self.scale.dtype, device=self.scale.device)

    def _smooth(self, u: Any) -> Any:
        """Compute ÂU, with what ``own`` adds to its diagonal."""
        if self.A_hat.weights.size:
            # the off-diagonal weights are already those of Â
            product = (self.links @ u).addcmul_(self.scale.square(), u)
        else:
            v = self.scale * u
            product = (self.links @ v).add_(v).mul_(self.scale)
        return product if self.own is None else product.addcmul_(self.own, u)

    def _sharp(self, u: Any) -> Any:
        """Compute N̂U."""
        if self.negative_scale is None:
            return self.negatives @ u
        v = self.negative_scale * u
        sums = v.sum(dim=0, keepdim=True)
        return (self.negatives @ v).add_(v, alpha=3.0).sub_(sums).mul_(self.negative_scale)


def _sum(mixture: Mixture, smooth: Any, sharp: Any, u: Any, x: Any) -> Any:
    """Return the weighted sum of the terms of a mixture."""
    result = torch.zeros_like(u) if not mixture.keep else mixture.keep * u
    for weight, part in ((mixture.smooth, smooth), (mixture.sharp, sharp), (mixture.restart, x)):
        if weight:
            result.add_(part, alpha=weight)
    return result


def _matrix(pattern: Any, values: np.ndarray, device: str) -> Any:
    n = len(pattern.indptr) - 1
    return sparse_csr_of(csr_array((values, pattern.indices, pattern.indptr), shape=(n, n)), device=device)


def _column(scale: np.ndarray, device: str) -> Any:
    return torch.from_numpy(np.array(scale)).unsqueeze(1).to(device)

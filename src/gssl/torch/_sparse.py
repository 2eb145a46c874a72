"""Sparse matrices for training: products with cheap gradients, and entries that may be dropped."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor


class SparseMatrix:
    r"""A constant CSR matrix M whose products are differentiated by its own transpose.

    .. math:: V = M U, \qquad \partial Q / \partial U = M^\top \, \partial Q / \partial V

    torch sorts a CSR matrix anew for every gradient; here the order of the transpose is found once, and
    serves every matrix with the same pattern.

    Parameters
    ----------
    csr : sparse CSR Tensor of shape (n, m)
    symmetric : bool
        Whether M is its own transpose.

    Examples
    --------
    >>> M = SparseMatrix.from_scipy(csr_array([[1.0, 2.0], [0.0, 3.0]]))
    >>> U = torch.ones(2, 1, requires_grad=True)
    >>> (M @ U).sum().backward()
    >>> U.grad.ravel().tolist()
    [1.0, 5.0]
    """

    def __init__(self, csr: Tensor, *, symmetric: bool = False) -> None:
        self.csr = csr
        self.symmetric = symmetric

    @classmethod
    def from_scipy(cls, M: Any, *, dtype: Any = torch.float32, device: Any = "cpu") -> "SparseMatrix":
        """Take over a CSR matrix of SciPy."""
        M = csr_array(M)
        values = torch.as_tensor(np.array(M.data), dtype=dtype, device=device)
        return cls(_csr(_indices(M.indptr, device), _indices(M.indices, device), values, M.shape))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.csr.shape[0]), int(self.csr.shape[1])

    @property
    def values(self) -> Tensor:
        """The stored entries, row by row."""
        return self.csr.values()

    @cached_property
    def transposed(self) -> Tensor:
        """The transpose, as CSR."""
        if self.symmetric:
            return self.csr
        indptr, indices, order = self._turned
        return _csr(indptr, indices, self.values[order], self.shape[::-1])

    @cached_property
    def _turned(self) -> tuple[Tensor, Tensor, Tensor]:
        """The pattern of the transpose, and where each of its entries stands in M."""
        indptr, indices = self.csr.crow_indices(), self.csr.col_indices()
        places = np.arange(1, len(self.values) + 1)  # a zero is no entry to SciPy
        M = csr_array((places, indices.cpu().numpy(), indptr.cpu().numpy()), shape=self.shape)
        turned = csr_array(M.T)
        device = self.csr.device
        order = torch.as_tensor(turned.data - 1, dtype=torch.int64, device=device)
        return _indices(turned.indptr, device), _indices(turned.indices, device), order

    @cached_property
    def dense(self) -> Tensor:
        """The same matrix with its zeros."""
        return self.csr.to_dense()

    @cached_property
    def scipy(self) -> csr_array:
        """The same matrix for SciPy."""
        parts = (self.values, self.csr.col_indices(), self.csr.crow_indices())
        return csr_array(tuple(part.cpu().numpy() for part in parts), shape=self.shape)

    def rows(self, nodes: np.ndarray) -> "SparseMatrix":
        """Give some of the rows."""
        return SparseMatrix.from_scipy(self.scipy[nodes], dtype=self.csr.dtype, device=self.csr.device)

    def with_values(self, values: Tensor, *, symmetric: bool = False) -> "SparseMatrix":
        """Give a matrix of the same pattern with other entries."""
        other = SparseMatrix(
            _csr(self.csr.crow_indices(), self.csr.col_indices(), values, self.shape), symmetric=symmetric
        )
        if not symmetric:
            other._turned = self._turned
        return other

    def dropped(self, rate: float) -> "SparseMatrix":
        """Give a matrix in which each entry is dropped by chance, and the others make up for it."""
        return self.with_values(drop_entries(self.values, rate)) if rate else self

    def __matmul__(self, U: Tensor) -> Tensor:
        return _Product.apply(U, self)  # type: ignore[no-any-return, no-untyped-call]


class _Product(torch.autograd.Function):
    """M U, with Mᵀ G as its gradient."""

    @staticmethod
    def forward(ctx: Any, U: Tensor, M: SparseMatrix) -> Tensor:
        ctx.M = M
        return M.csr @ U

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, None]:
        return ctx.M.transposed @ gradients[0].contiguous(), None


def drop_entries(values: Tensor, rate: float) -> Tensor:
    r"""Set each entry to zero with probability p and divide the others by 1 − p.

    .. math:: E[v'] = v

    Chances have sixteen bits each, four of them from one draw: on a CPU drawing is most of the cost.

    Parameters
    ----------
    values : Tensor
    rate : float in [0, 1)
        The probability p; in steps of 2⁻¹⁶.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> drop_entries(torch.ones(2, 3), 0.0).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    if not rate:
        return values
    draws = torch.empty((values.numel() + 3) // 4, dtype=torch.int64, device=values.device)
    chances = draws.random_(-(2**63), None).view(torch.int16)[: values.numel()].view(values.shape)
    threshold = round(rate * 2**16) - 2**15
    return values * (chances >= threshold).to(values.dtype).mul_(1.0 / (1.0 - rate))


def _indices(numbers: Any, device: Any) -> Tensor:
    return torch.as_tensor(np.array(numbers), dtype=torch.int64, device=device)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep torch from calling the CSR layout a beta: what is used of it here is tested here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def _csr(indptr: Tensor, indices: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    return torch.sparse_csr_tensor(indptr, indices, values, shape, check_invariants=False)


with quiet():
    # torch warns once: now, and not in every training
    _csr(torch.tensor([0]), torch.tensor([], dtype=torch.int64), torch.tensor([]), (0, 0))

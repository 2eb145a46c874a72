"""The links of a graph, from an edge index or a sparse tensor, and products with them."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor


class SparseMatrix:
    r"""A constant CSR matrix M with :math:`\partial Q / \partial U = M^\top \partial Q / \partial (MU)`.

    torch sorts a CSR matrix again for every gradient. Here the order of the transpose is computed once for
    all matrices with the same pattern; a symmetric matrix is its own transpose.
    """

    def __init__(self, csr: Tensor, *, symmetric: bool = False, like: "SparseMatrix | None" = None) -> None:
        self.csr = csr
        self.shape = (int(csr.shape[0]), int(csr.shape[1]))
        self.values = csr.values()
        self.symmetric = symmetric
        self._like = like

    @cached_property
    def transposed(self) -> Tensor:
        """The transpose, in CSR form."""
        if self.symmetric:
            return self.csr
        pointers, columns, order = self._transposed_pattern
        return sparse_csr(pointers, columns, self.values[order], self.shape[::-1])

    @cached_property
    def _transposed_pattern(self) -> tuple[Tensor, Tensor, Tensor]:
        """Row pointers and columns of the transpose, and the positions of its entries in M."""
        if self._like is not None:
            return self._like._transposed_pattern
        columns = self.csr.col_indices()
        order = torch.argsort(columns, stable=True)
        return row_pointers(columns, self.shape[1]), row_numbers(self.csr)[order], order

    def with_values(self, values: Tensor) -> "SparseMatrix":
        """Return a matrix of the same pattern with other entries, which may not be symmetric."""
        csr = sparse_csr(self.csr.crow_indices(), self.csr.col_indices(), values, self.shape)
        return SparseMatrix(csr, like=self)

    def __matmul__(self, U: Tensor) -> Tensor:
        return _Product.apply(U, self)  # type: ignore[no-any-return, no-untyped-call]


class _Product(torch.autograd.Function):
    """MU, with Mᵀ G as its gradient."""

    @staticmethod
    def forward(ctx: Any, U: Tensor, M: SparseMatrix) -> Tensor:
        ctx.M = M
        return M.csr @ U

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.M.transposed @ gradients[0].contiguous(), None


def row_numbers(csr: Tensor) -> Tensor:
    """Return the row of each entry of a CSR tensor."""
    counts = csr.crow_indices().diff()
    return torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)


def row_pointers(rows: Tensor, n_rows: int) -> Tensor:
    """Return the row pointers of sorted entries, given the row of each."""
    ends = torch.bincount(rows, minlength=n_rows).cumsum(0)
    return torch.cat([ends.new_zeros(1), ends])


def sparse_csr(pointers: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """Build a CSR tensor without torch's checks."""
    return torch.sparse_csr_tensor(pointers, columns, values, shape, check_invariants=False)


def sparse_csr_of(M: Any, dtype: torch.dtype | None = None, device: Any = None) -> Tensor:
    """Copy a SciPy CSR matrix to a tensor."""
    pointers, columns = (
        torch.tensor(part, dtype=torch.long, device=device) for part in (M.indptr, M.indices)
    )
    return sparse_csr(pointers, columns, torch.tensor(M.data, dtype=dtype, device=device), M.shape)


@contextmanager
def ignore_beta_warning() -> Iterator[None]:
    """Ignore torch's warning that CSR tensors are in beta."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
        yield


with ignore_beta_warning():
    # torch warns once per process: trigger the warning here, and not in a fit
    sparse_csr(torch.tensor([0]), torch.tensor([], dtype=torch.int64), torch.tensor([]), (0, 0))


@dataclass(frozen=True)
class Links:
    """Links from ``source[e]`` to ``target[e]`` with ``weight[e]``, which is zero for self-loops.

    If there is a ``pattern_matrix``, links are in the order of its entries.
    """

    target: Tensor
    source: Tensor
    weight: Tensor
    n_nodes: int
    pattern_matrix: SparseMatrix | None = None

    def sums(self, V: Tensor, weight: Tensor) -> Tensor:
        """Return the weighted sums of the neighbours' rows of V."""
        gathered = weight.unsqueeze(1) * V.index_select(0, self.source)
        return V.new_zeros(V.shape).index_add(0, self.target, gathered)

    def as_matrix(self, weight: Tensor) -> SparseMatrix | None:
        """Return a matrix for sums without a row per link; None for unsorted links or learned weights."""
        if self.pattern_matrix is None or weight.requires_grad:
            return None
        return self.pattern_matrix.with_values(weight)

    def degrees(self, weight: Tensor) -> Tensor:
        """Sum each node's weights."""
        return weight.new_zeros(self.n_nodes).index_add(0, self.target, weight)

    def pattern(self) -> Tensor:
        """Return 0/1 weights, with a single 1 for each linked pair, even if the pair is repeated."""
        # sorting keeps shapes fixed, as compilers require
        absent = self.n_nodes * self.n_nodes
        codes = self.target * self.n_nodes + self.source
        codes = torch.where(self.weight != 0, codes, torch.full_like(codes, absent))
        ordered, order = torch.sort(codes)
        repeated = torch.zeros_like(ordered, dtype=torch.bool)
        repeated[1:] = ordered[1:] == ordered[:-1]
        once = (ordered < absent) & ~repeated
        return torch.zeros_like(self.weight).index_copy(0, order, once.to(self.weight.dtype))


def read_links(x: Tensor, edges: Any, edge_weight: Tensor | None = None, *, reused: bool = False) -> Links:
    """Read links between rows of x from an edge index or a sparse tensor, with weights in the type of x.

    ``reused`` links are sorted, so that products with them can use a sparse matrix.
    """
    _check_tensors(x, edges)
    n = x.shape[0]
    if edges.layout == torch.strided:
        _check_edge_index(edges, edge_weight)
        source, target = edges[0], edges[1]
        weight = x.new_ones(edges.shape[1]) if edge_weight is None else edge_weight.to(x.dtype)
    else:
        _check_matrix(x, edges, edge_weight)
        if edges.layout == torch.sparse_csr:
            target, source, weight = row_numbers(edges), edges.col_indices(), edges.values()
        else:
            edges = edges.coalesce()
            (target, source), weight = edges.indices(), edges.values()
        weight = weight.to(x.dtype)
    _check_values(target, source, weight, n)
    weight = torch.where(target == source, torch.zeros_like(weight), weight)
    if edges.layout == torch.strided:
        if not reused or torch.compiler.is_compiling():
            return Links(target, source, weight, n)
        target, order = torch.sort(target, stable=True)
        source, weight = source[order], weight[order]
    csr = sparse_csr(row_pointers(target, n), source, weight.detach(), (n, n))
    return Links(target, source, weight, n, SparseMatrix(csr))


def can_look(tensor: Tensor) -> bool:
    """Return whether values can be read: compilers have none, and a GPU would have to synchronize."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()


def _check_tensors(x: Any, edges: Any) -> None:
    for name, given in (("x", x), ("edge_index", edges)):
        if not isinstance(given, Tensor):
            raise TypeError(f"{name} is a {type(given).__name__}: give a torch tensor.")
    if x.dim() != 2:
        raise ValueError(f"x has the shape {tuple(x.shape)}: give one row for each node, such as x[:, None].")
    if not x.is_floating_point():
        # weights take the type of x, and would be truncated to integers
        raise ValueError(f"x is {x.dtype}: give floating point numbers, such as x.float().")


def _check_edge_index(edge_index: Tensor, edge_weight: Tensor | None) -> None:
    if edge_index.dim() != 2 or edge_index.shape[0] != 2 or edge_index.dtype != torch.long:
        raise ValueError(
            f"edge_index must be a long tensor of shape (2, E), not {edge_index.dtype} of shape "
            f"{tuple(edge_index.shape)}: give sources and targets as its two rows."
        )
    if edge_weight is not None and edge_weight.shape != edge_index.shape[1:]:
        raise ValueError(
            f"edge_weight has the shape {tuple(edge_weight.shape)} for {edge_index.shape[1]} links: give one "
            "number for each."
        )


def _check_matrix(x: Tensor, matrix: Any, edge_weight: Tensor | None) -> None:
    if matrix.layout not in (torch.sparse_coo, torch.sparse_csr):
        raise ValueError(f"a sparse adjacency must be in COO or CSR form, not {matrix.layout}: convert it.")
    if tuple(matrix.shape) != (x.shape[0], x.shape[0]):
        raise ValueError(
            f"the adjacency has the shape {tuple(matrix.shape)} for {x.shape[0]} rows of x: one node per row."
        )
    if matrix.layout == torch.sparse_csr and can_look(matrix):
        rows, columns = matrix.crow_indices(), matrix.col_indices()
        # torch does not check this, and would read out of bounds
        whole = (
            len(rows) == x.shape[0] + 1
            and len(columns) == len(matrix.values())
            and int(rows[0]) == 0
            and int(rows[-1]) == len(columns)
            and not bool((rows.diff() < 0).any())
        )
        if not whole:
            raise ValueError(
                "the adjacency is not a valid CSR tensor: its row pointers do not match its columns."
            )
    if edge_weight is not None:
        raise ValueError("a sparse adjacency has its own weights: leave edge_weight out.")


def _check_values(target: Tensor, source: Tensor, weight: Tensor, n: int) -> None:
    """Raise on nodes out of range, which torch may read out of bounds, and on invalid weights."""
    if not can_look(source) or not source.numel():
        return
    ends = torch.stack([*torch.aminmax(source), *torch.aminmax(target)])
    low, high = int(ends.min()), int(ends.max())
    if low < 0 or high >= n:
        raise ValueError(
            f"edge_index has node {low if low < 0 else high}, but x has rows 0 to {n - 1}: number the nodes "
            "as the rows of x."
        )
    least, most = (float(bound) for bound in torch.aminmax(weight.detach()))
    if not 0.0 <= least <= most < float("inf"):
        raise ValueError(
            f"a link has the weight {least if not least >= 0.0 else most}: weights must be finite and not "
            "negative."
        )

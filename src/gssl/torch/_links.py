"""The links of a graph as PyTorch Geometric gives them, or as a sparse tensor, and sums over them."""

from dataclasses import dataclass
from typing import Any

from gssl.torch._packages import torch


@dataclass(frozen=True)
class Links:
    """Who is linked to whom: node ``target[e]`` hears of node ``source[e]`` with ``weight[e]``.

    A self-loop has the weight zero: operators add their own. ``pointers`` are those of a CSR tensor, and
    ``sparse`` says to multiply with a sparse matrix instead of gathering a row for every link.
    """

    target: torch.Tensor
    source: torch.Tensor
    weight: torch.Tensor
    n_nodes: int
    sparse: bool = False
    pointers: torch.Tensor | None = None

    def sums(self, V: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Give the sum of the neighbours' rows of V, each times its weight."""
        if not self.sparse:
            gathered = weight.unsqueeze(1) * V.index_select(0, self.source)
            return V.new_zeros(V.shape).index_add(0, self.target, gathered)
        shape = (self.n_nodes, self.n_nodes)
        if self.pointers is None:
            places = torch.stack([self.target, self.source])
            matrix = torch.sparse_coo_tensor(places, weight, shape, is_coalesced=True, check_invariants=False)
        else:
            matrix = torch.sparse_csr_tensor(
                self.pointers, self.source, weight, shape, check_invariants=False
            )
        product: torch.Tensor = torch.sparse.mm(matrix, V)
        return product

    def degrees(self, weight: torch.Tensor) -> torch.Tensor:
        """Give the sum of each node's weights."""
        return weight.new_zeros(self.n_nodes).index_add(0, self.target, weight)

    def pattern(self) -> torch.Tensor:
        """Give the weights of the graph as 0 and 1: one for every linked pair, however often it is named."""
        # sorting keeps shapes fixed, which compilers ask for
        absent = self.n_nodes * self.n_nodes
        codes = self.target * self.n_nodes + self.source
        codes = torch.where(self.weight != 0, codes, torch.full_like(codes, absent))
        ordered, places = torch.sort(codes)
        repeated = torch.zeros_like(ordered, dtype=torch.bool)
        repeated[1:] = ordered[1:] == ordered[:-1]
        once = (ordered < absent) & ~repeated
        return torch.zeros_like(self.weight).index_copy(0, places, once.to(self.weight.dtype))


@dataclass(frozen=True)
class Scaled:
    """Links with the weights that an operator gives them, and its scale of each node, as a column."""

    links: Links
    weight: torch.Tensor
    scale: torch.Tensor

    def fits(self, x: torch.Tensor) -> bool:
        """Tell whether it was made for rows like these."""
        known = self.scale
        return len(known) == len(x) and known.dtype == x.dtype and known.device == x.device


def read_links(x: torch.Tensor, edges: Any, edge_weight: torch.Tensor | None = None) -> Links:
    """Read links from an edge index or a sparse tensor.

    Parameters
    ----------
    x : tensor of shape (n, d)
        The rows that will be summed; weights take its type.
    edges : long tensor of shape (2, E), or sparse tensor of shape (n, n) in COO or CSR form
        Every link in both directions; sources in the first row, as PyTorch Geometric has them.
    edge_weight : tensor of shape (E,), optional
        Ones if None; a sparse tensor has its own.

    Returns
    -------
    Links

    Examples
    --------
    >>> read_links(torch.ones(2, 1), torch.tensor([[0, 1, 1], [1, 0, 1]])).weight
    tensor([1., 1., 0.])
    """
    _check_rows(x, edges)
    n = x.shape[0]
    pointers = None
    if edges.layout == torch.strided:
        _check(x, edges, edge_weight)
        source, target = edges[0], edges[1]
        weight = x.new_ones(edges.shape[1]) if edge_weight is None else edge_weight.to(x.dtype)
    else:
        _check_matrix(x, edges, edge_weight)
        if edges.layout == torch.sparse_csr:
            pointers, source, weight = edges.crow_indices(), edges.col_indices(), edges.values()
            target = torch.repeat_interleave(torch.arange(n, device=source.device), pointers.diff())
        else:
            edges = edges.coalesce()
            (target, source), weight = edges.indices(), edges.values()
        weight = weight.to(x.dtype)
    _check_values(target, source, weight, n)
    weight = torch.where(target == source, torch.zeros_like(weight), weight)
    return Links(target, source, weight, n, edges.layout != torch.strided, pointers)


def can_look(tensor: torch.Tensor) -> bool:
    """Tell whether numbers may be looked at: compilers know none, and a GPU would have to be waited for.

    Examples
    --------
    >>> can_look(torch.ones(1))
    True
    """
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()


def _check_rows(x: Any, edges: Any) -> None:
    for name, given in (("x", x), ("edge_index", edges)):
        if not isinstance(given, torch.Tensor):
            raise TypeError(f"{name} is a {type(given).__name__}: give a torch tensor.")
    if x.dim() != 2:
        raise ValueError(f"x has the shape {tuple(x.shape)}: give one row for each node, such as x[:, None].")
    if not x.is_floating_point():
        # weights take the type of x, and would be cut to whole numbers
        raise ValueError(f"x is {x.dtype}: give floating point numbers, such as x.float().")


def _check_values(target: torch.Tensor, source: torch.Tensor, weight: torch.Tensor, n: int) -> None:
    """Refuse links that lead nowhere: torch reads beyond the rows where a sparse tensor says so."""
    if not can_look(source) or not source.numel():
        return
    ends = torch.stack([*torch.aminmax(source), *torch.aminmax(target)])
    low, high = int(ends.min()), int(ends.max())
    if low < 0 or high >= n:
        raise ValueError(
            f"a link names node {low if low < 0 else high}, and x has rows 0 to {n - 1}: number the nodes as "
            "the rows of x."
        )
    least, most = (float(bound) for bound in torch.aminmax(weight.detach()))
    if not 0.0 <= least <= most < float("inf"):
        raise ValueError(
            f"a link has the weight {least if not least >= 0.0 else most}: weights must be finite and not "
            "negative."
        )


def _check(x: torch.Tensor, edge_index: torch.Tensor, edge_weight: torch.Tensor | None) -> None:
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


def _check_matrix(x: torch.Tensor, matrix: Any, edge_weight: torch.Tensor | None) -> None:
    if matrix.layout not in (torch.sparse_coo, torch.sparse_csr):
        raise ValueError(f"a sparse adjacency must be in COO or CSR form, not {matrix.layout}: convert it.")
    if tuple(matrix.shape) != (x.shape[0], x.shape[0]):
        raise ValueError(
            f"the adjacency has the shape {tuple(matrix.shape)} for {x.shape[0]} rows of x: one node per row."
        )
    if matrix.layout == torch.sparse_csr and can_look(matrix):
        rows, columns = matrix.crow_indices(), matrix.col_indices()
        # torch itself looks at none of this, and reads what lies before and behind the columns
        whole = (
            len(rows) == x.shape[0] + 1
            and len(columns) == len(matrix.values())
            and int(rows[0]) == 0
            and int(rows[-1]) == len(columns)
            and not bool((rows.diff() < 0).any())
        )
        if not whole:
            raise ValueError("the adjacency is no whole CSR tensor: its row pointers do not fit its columns.")
    if edge_weight is not None:
        raise ValueError("a sparse adjacency has its own weights: leave edge_weight out.")

"""How many columns at a time: one plan for slabs on disk and for slabs on workers."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from gssl.graph.mapped import mapped_file

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {unit + "i": 1024**power for power, unit in enumerate("kmgt", start=1)}
# codes of labels, the classes of two steps, which nodes are watched and reached
_NODE_BYTES = 48
# columns that fill a cache line in single precision: wider slabs are cut at a multiple of it
_LINE = 16
# what is in memory at a time of the links of a graph in files
MAPPED = 1 << 26
# blocks of rows in flight, and what Python itself takes while it works
_REST = 1 << 26


@dataclass(frozen=True)
class SlabPlan:
    """Columns cut into slabs of one width, the last of which may be narrower.

    Examples
    --------
    >>> SlabPlan(n_columns=5, width=2).slabs
    (slice(0, 2, None), slice(2, 4, None), slice(4, 5, None))
    """

    n_columns: int
    width: int

    @property
    def slabs(self) -> tuple[slice, ...]:
        """The columns of each slab, in order."""
        starts = range(0, self.n_columns, self.width)
        return tuple(slice(start, min(start + self.width, self.n_columns)) for start in starts)


@dataclass(frozen=True)
class Load:
    """What a run holds in memory, in bytes: for each column of a slab, and whatever the slab's width.

    Examples
    --------
    >>> Load(per_column=8 * 100, fixed=1000).of(3)
    3400
    """

    per_column: int
    fixed: int = 0

    def of(self, width: int) -> int:
        """Give the bytes for a slab of so many columns."""
        return self.fixed + width * self.per_column


def read_size(size: Any) -> int:
    """Read a number of bytes: ``4e9``, ``"4GB"``, ``"512 MiB"``.

    Parameters
    ----------
    size : number or str

    Returns
    -------
    int

    Examples
    --------
    >>> read_size("4GB"), read_size("1.5 kiB"), read_size(2e6)
    (4000000000, 1536, 2000000)
    """
    text = str(size).strip().lower()
    found = re.fullmatch(r"([0-9.]+(?:e[+]?[0-9]+)?)\s*([kmgt]?i?)b?", text)
    units = _UNITS | _BINARY
    if isinstance(size, bool) or found is None or found[2] not in units or found[1].count(".") > 1:
        raise ValueError(f"{size!r} is no amount of memory: give bytes, or a text such as '4GB' or '512MB'.")
    n_bytes = float(found[1].replace(".e", "e") if found[1] != "." else "0") * units[found[2]]
    if not 1 <= n_bytes < 2**63:
        raise ValueError(f"{size!r} is no amount of memory that anything fits in: give at least a few MB.")
    return int(n_bytes)


def plan_slabs(n_columns: int, load: Load, budget: int, n_at_once: int = 1) -> SlabPlan:
    """Choose the width of slabs so that those in memory at once keep to a budget.

    Parameters
    ----------
    n_columns : int
    load : Load
    budget : int
        Bytes, for the slabs that are in memory at once and for what they share.
    n_at_once : int, default=1
        Slabs that are in memory at once, as one on each worker of a machine.

    Returns
    -------
    SlabPlan

    Examples
    --------
    >>> plan_slabs(100, Load(per_column=10**6), budget=80 * 10**6)
    SlabPlan(n_columns=100, width=64)
    """
    rest = min(_REST, budget // 16)
    room = (budget - load.fixed - rest) // max(1, n_at_once * load.per_column)
    if room < 1 and n_columns:
        least = (load.fixed + n_at_once * load.per_column) * 16 // 15
        raise ValueError(
            f"a memory budget of {write_size(budget)} is too small: a column needs {write_size(least)} "
            "with the graph and the scores of all nodes; give more."
        )
    width = max(1, min(int(room), n_columns))
    n_slabs = -(-n_columns // width) if n_columns else 1
    even = max(1, -(-n_columns // n_slabs))
    if n_slabs > 1 and even > _LINE:
        even = min(-(-even // _LINE) * _LINE, width // _LINE * _LINE)
    return SlabPlan(n_columns, even)


def spread_slabs(n_columns: int, n_workers: int) -> SlabPlan:
    """Give every worker the same number of columns.

    Examples
    --------
    >>> spread_slabs(10, 4)
    SlabPlan(n_columns=10, width=3)
    """
    return SlabPlan(n_columns, max(1, -(-n_columns // max(1, n_workers))))


def guided_load(
    shape: tuple[int, int], n_classes: int, n_labelled: int, itemsize: int, graph: int, budget: int
) -> tuple[Load, bool]:
    """Tell what OGC holds: all slabs and one to write to if the budget has room for them, else two in all.

    Parameters
    ----------
    shape : (int, int)
        Nodes and features.
    n_classes, n_labelled, itemsize : int
    graph, budget : int
        Bytes.

    Returns
    -------
    Load, bool
        The second is whether all slabs are in memory.

    Examples
    --------
    >>> guided_load((100, 20), 2, 5, 4, 1000, budget=30_000)
    (Load(per_column=400, fixed=17400), True)
    >>> guided_load((100, 20), 2, 5, 4, 1000, budget=10_000)
    (Load(per_column=800, fixed=9400), False)
    """
    n, d = shape
    column = n * itemsize
    # scores in double precision, those of two steps in single, labels and classes of every node, and the
    # labelled rows
    fixed = graph + n * n_classes * (8 + 2 * itemsize) + n * _NODE_BYTES + n_labelled * d * itemsize
    if fixed + (d + min(d, _LINE)) * column < budget * 15 // 16:
        return Load(column, fixed + d * column), True
    return Load(2 * column, fixed), False


def graph_bytes(filters: Any) -> int:
    """Count the bytes of the matrices of one iteration, arrays that they share once, those in files hardly.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from gssl.operators import Filters, normalized_adjacency
    >>> graph_bytes(Filters(normalized_adjacency(csr_array(np.ones((2, 2))), np.float32)))
    48
    """
    arrays: dict[int, int] = {}
    for matrix in (filters.A_hat, filters.N_hat):
        for name in ("indptr", "indices", "weights", "scale", "data"):
            array = getattr(matrix, name, None)
            if isinstance(array, np.ndarray) and array.size:
                # a pass lets go of links block by block, and of where rows begin never
                passing = mapped_file(array) is not None and name != "indptr"
                held = min(array.nbytes, MAPPED) if passing else array.nbytes
                arrays[array.__array_interface__["data"][0]] = held
    return sum(arrays.values())


def write_size(n_bytes: int) -> str:
    """Write bytes in the unit that fits.

    Examples
    --------
    >>> write_size(1000), write_size(25 * 10**8), write_size(10**13)
    ('1.0 kB', '2.5 GB', '10.0 TB')
    """
    units = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"))
    unit, name = next(((u, s) for u, s in units if n_bytes >= u), (10**3, "kB"))
    return f"{n_bytes / unit:.1f} {name}"

"""What was odd about the edges of a graph, counted by whoever made the graph and told in the same words."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array


@dataclass(frozen=True)
class EdgeFacts:
    """Counts over the rows of an edge table.

    Attributes
    ----------
    self_loops, zeros : int
        Rows that were left out: both ends the same, and a weight of 0.
    duplicates : int
        Rows beyond the first with the same ends in the same direction.
    summed : bool
        Whether any weight, after those of repeated rows were added, is not 1.
    two_way, one_way : int
        Edges that are listed in both directions, and in one.
    differ : int
        Edges whose two directions have different weights.
    isolated : int
        Nodes without an edge to another.

    Examples
    --------
    >>> EdgeFacts(self_loops=2, isolated=1).notes("e.csv")
    ['e.csv: removed 2 self-loops.', '1 node without any edge.']
    """

    self_loops: int = 0
    duplicates: int = 0
    zeros: int = 0
    summed: bool = False
    two_way: int = 0
    one_way: int = 0
    differ: int = 0
    isolated: int = 0

    def notes(self, name: str) -> list[str]:
        """One sentence per kind of oddity; ``name`` is where the edges came from."""
        notes = []
        if self.self_loops:
            notes.append(f"{name}: removed {counted(self.self_loops, 'self-loop')}.")
        if self.duplicates:
            what = "has the sum of their weights" if self.summed else "stays one"
            merged = counted(self.duplicates, "repeated edge")
            notes.append(f"{name}: merged {merged}; an edge listed twice {what}.")
        if self.zeros:
            notes.append(f"{name}: removed {counted(self.zeros, 'edge')} of weight 0.")
        if self.two_way and self.one_way:
            notes.append(
                f"{name}: {counted(self.two_way, 'edge')} listed in both directions and {self.one_way:,} in "
                "one; directions are ignored."
            )
        if self.differ:
            differ = counted(self.differ, "edge")
            notes.append(f"{name}: {differ} of two weights, one per direction; the larger counts.")
        if self.isolated:
            notes.append(f"{counted(self.isolated, 'node')} without any edge.")
        return notes

    def as_dict(self) -> dict[str, Any]:
        """Give the counts by name."""
        return asdict(self)


def count_facts(simple: csr_array, mirrored: csr_array, removed: tuple[int, int, int]) -> EdgeFacts:
    """Count what is odd about a directed graph in memory.

    Parameters
    ----------
    simple : csr_array of shape (n, n)
        One entry for each pair and direction.
    mirrored : csr_array of shape (n, n)
        Its transpose.
    removed : tuple of int
        Self-loops, duplicates and zeros that are no longer there.

    Examples
    --------
    >>> A = csr_array([[0.0, 2.0], [1.0, 0.0]])
    >>> count_facts(A, A.T.tocsr(), (0, 0, 0)).differ
    1
    """
    self_loops, duplicates, zeros = removed
    both = (simple != 0).multiply(mirrored != 0)
    two_way = int(both.nnz) // 2
    differ = int((simple.multiply(both) != mirrored.multiply(both)).nnz) // 2 if two_way else 0
    linked = (np.diff(simple.indptr) > 0) | (np.diff(mirrored.indptr) > 0)
    return EdgeFacts(
        self_loops=self_loops,
        duplicates=duplicates,
        zeros=zeros,
        summed=not bool((simple.data == 1).all()),
        two_way=two_way,
        one_way=int(simple.nnz) - 2 * two_way,
        differ=differ,
        isolated=len(linked) - int(np.count_nonzero(linked)),
    )


def counted(number: int, what: str) -> str:
    """Write a number of things.

    Examples
    --------
    >>> counted(1, "edge"), counted(1234, "edge")
    ('1 edge', '1,234 edges')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"

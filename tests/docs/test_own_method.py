"""The example method of the manual is correct and fulfils the contract of all methods."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import gssl

_ROOT = Path(__file__).parents[2]
_FILE = _ROOT / "docs" / "katz.py"


@pytest.fixture(scope="module")
def katz():
    spec = importlib.util.spec_from_file_location("katz", _FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Katz


def test_it_tends_to_the_inverse_of_one_minus_the_discounted_graph(katz):
    A = gssl.datasets.load("karate").adjacency
    X = np.random.default_rng(0).random((34, 3))
    s = 1 / np.sqrt(A.sum(axis=1) + 1)
    A_hat = s[:, None] * (A.toarray() + np.eye(34)) * s
    exact = np.linalg.solve(np.eye(34) - 0.7 * A_hat, X)
    U = katz(discount=0.7, depth=100).fit_transform(X, adjacency=A)
    np.testing.assert_allclose(U, exact, rtol=1e-9)


def test_it_serves_a_classifier_and_a_clone(katz):
    data = gssl.datasets.load("karate")
    y = data.mask_labels("default")
    model = gssl.EmbeddingClassifier(clone(katz(discount=0.6)), head="ridge")
    model.fit(data.features, y, adjacency=data.adjacency)
    assert (model.transduction_ == data.labels).mean() > 0.9
    assert model.embedder_.get_params() == {"discount": 0.6, "depth": 16}


def test_it_refuses_what_makes_no_sense(katz):
    with pytest.raises(ValueError, match="discount"):
        katz(discount=-1.0).fit(np.eye(2), adjacency=[[0, 1], [1, 0]])


def test_the_steps_of_the_page_make_it_a_method_of_the_package(tmp_path):
    package = tmp_path / "src" / "gssl"
    shutil.copytree(_ROOT / "src" / "gssl", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(_FILE, package / "methods" / "katz.py")
    with (package / "methods" / "__init__.pyi").open("a", encoding="utf-8") as names:
        names.write("from .katz import Katz as Katz\n")
    # no fits here, because the copy has no compiled kernels yet; they are tested above
    code = (
        "import gssl; print(gssl.__file__)\n"
        "from gssl.cli import arguments; from gssl.selection import choice\n"
        "print(gssl.Katz(discount=0.6), gssl.Katz.__module__, 'Katz' in gssl.__all__)\n"
        "print('katz' in arguments.METHODS, 'katz' in choice.embedder_names())\n"
        "print(choice.classifier('katz', calibrate=False))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        str(package / "__init__.py"),
        "Katz(discount=0.6) gssl.methods.katz True",
        "True True",
        "EmbeddingClassifier(embedder=Katz(), random_state=0)",
    ]

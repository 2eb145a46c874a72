import subprocess
import sys

import pytest

import gssl

# run the command, and print the modules of gssl that were loaded
CLASSIFY = """
import sys
sys.argv = "gssl classify --edges e.csv --labels l.csv --features f.csv --out p.csv".split()
from gssl.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code
print("loaded", *(name for name in sys.modules if name.split(".")[0] == "gssl"))
"""


def test_classifying_without_a_report_loads_few_modules(tmp_path):
    nodes = range(30)
    (tmp_path / "e.csv").write_text("a,b\n" + "".join(f"n{i},n{(i + 3) % 30}\n" for i in nodes))
    (tmp_path / "l.csv").write_text("id,label\n" + "".join(f"n{i},c{i % 3}\n" for i in nodes[:9]))
    (tmp_path / "f.csv").write_text("id,x,y\n" + "".join(f"n{i},{i % 3},{i % 2}\n" for i in nodes))
    done = subprocess.run(
        [sys.executable, "-c", CLASSIFY], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    loaded = done.stdout.splitlines()[-1].split()[1:]
    assert "gssl.selection.auto" in loaded
    assert not [name for name in loaded if name.startswith(("gssl.report.page", "gssl.torch"))]
    assert len(loaded) <= 162


def test_every_public_name_loads_and_no_other():
    for name in gssl.__all__:
        assert getattr(gssl, name) is not None
    assert "OGC" in dir(gssl)
    with pytest.raises(AttributeError, match="OGCC"):
        gssl.OGCC  # noqa: B018


def test_importing_the_benchmarks_sets_no_threads():
    """Tests import them, and two processes with two OpenMP threads each would block each other in torch."""
    code = "import os; old = dict(os.environ); import benchmarks.accuracy.bench; print(os.environ == old)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


# without the package around it, whose own imports do not matter
DATASETS = (
    "import sys, types; from importlib.util import find_spec; package = types.ModuleType('gssl'); "
    "package.__path__ = find_spec('gssl').submodule_search_locations; "
    "sys.modules['gssl'] = package; import gssl.datasets\n"
)
# stopped where the first line is printed, before slow imports
FIRST_LINE = (
    "import sys; import gssl.cli.arguments; from gssl.cli import main\n"
    "gssl.cli.arguments.announce = lambda _: sys.exit()\n"
    "sys.argv = 'gssl classify --edges e.csv --labels l.csv --out p.csv'.split()\n"
    "try: main()\nexcept SystemExit: pass\n"
)


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        (
            "import gssl\n",
            "sklearn numba duckdb altair torch torch_geometric networkx pandas rich pooch dask gensim",
        ),
        ("import gssl.cli.app\n", "altair rich torch gssl.report"),
        (FIRST_LINE, "numpy sklearn rich duckdb"),
        (DATASETS, "sklearn pooch networkx"),
    ],
    ids=["package", "command line", "first line", "datasets"],
)
def test_nothing_heavy_is_loaded(code, heavy):
    code += f"import sys; print('loaded', {set(heavy.split())} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded set()"

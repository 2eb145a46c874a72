"""Without torch everything else works, and the room says in one sentence what is missing."""

import subprocess
import sys

import pytest

# as where it is not installed: looking for it finds nothing
_WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import gssl, numpy as np
"""


def run(code):
    return subprocess.run([sys.executable, "-c", _WITHOUT + code], capture_output=True, text=True)


@pytest.mark.parametrize(
    "code",
    [
        "gssl.torch.LazyConv",
        "with gssl.execution(backend='torch'): gssl.SGC().fit(np.eye(3), adjacency=np.eye(3)[::-1])",
    ],
)
def test_a_missing_torch_is_one_sentence(code):
    found = run(code)
    assert found.returncode == 1
    last_line = found.stderr.strip().splitlines()[-1]
    assert last_line == "ImportError: gssl.torch needs torch: pip install gssl[torch]."


def test_everything_else_works_without():
    code = (
        "import gssl.torch; dir(gssl.torch); "
        "print(gssl.SGC().fit_transform(np.eye(3), adjacency=np.ones((3, 3)) - np.eye(3)).sum().round(6))"
    )
    found = run(code)
    assert found.stdout.strip() == "3.0", found.stderr


def test_the_room_alone_loads_no_torch():
    code = "import sys, gssl.torch; print('torch' in sys.modules, 'Guide' in gssl.torch.__all__)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "True"]

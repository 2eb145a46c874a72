"""Without torch everything else works, and gssl.torch raises one clear error."""

import subprocess
import sys

# simulate that it is not installed: finding its spec fails
_WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import gssl, numpy as np
"""


def test_without_torch_its_subpackage_says_so_and_everything_else_works():
    code = """
def use_a_layer():
    gssl.torch.LazyConv
def use_the_backend():
    with gssl.execution(backend="torch"):
        gssl.SGC().fit(np.eye(3), adjacency=np.eye(3)[::-1])
for use in (use_a_layer, use_the_backend):
    try:
        use()
    except ImportError as error:
        print(error)
import gssl.torch
dir(gssl.torch)
print(gssl.SGC().fit_transform(np.eye(3), adjacency=np.ones((3, 3)) - np.eye(3)).sum().round(6))
"""
    done = subprocess.run([sys.executable, "-c", _WITHOUT + code], capture_output=True, text=True)
    sentence = "gssl.torch needs torch: pip install gssl[torch]."
    assert done.stdout.splitlines() == [sentence, sentence, "3.0"], done.stderr


def test_the_subpackage_alone_loads_no_torch():
    code = "import sys, gssl.torch; print('torch' in sys.modules, 'Guide' in gssl.torch.__all__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]

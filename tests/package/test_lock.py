"""The lock has the versions of constraints.txt, and knows which files may be installed."""

import re
from io import BytesIO

import pytest
from tests.package.scripts import ROOT, load_script

lock = load_script("lock")
LINUX = "manylinux_2_17_x86_64.manylinux2014_x86_64"


@pytest.fixture(scope="module")
def text():
    return (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_versions_are_those_of_the_constraints(text):
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert lock.read_pins(text) == lock.read_pins(constraints), "run: make lock"
    assert len(lock.read_pins(text)) == len(re.findall("==", re.sub("#.*|;.*", "", constraints)))


def test_every_version_has_a_hash_and_nothing_has_an_address(text):
    entries = re.split(r"(?m)^(?=\w)", text)[1:]
    assert [entry for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry)] == []
    assert "//" not in text
    assert len(text) < 300_000


@pytest.mark.parametrize(
    "file",
    [
        "numpy-2.4.6.tar.gz",
        "click-8.5.1-py3-none-any.whl",
        f"numpy-2.4.6-cp311-cp311-{LINUX}.whl",
        "numpy-2.4.6-cp314-cp314-macosx_14_0_arm64.whl",
        "numpy-2.4.6-cp312-cp312-win_amd64.whl",
        f"safetensors-0.8.0-cp38-abi3-{LINUX}.whl",
    ],
)
def test_files_that_can_be_installed_are_locked(file):
    assert lock.fits(file)


@pytest.mark.parametrize(
    "file",
    [
        f"numpy-2.4.6-cp310-cp310-{LINUX}.whl",
        f"numpy-2.4.6-cp314-cp314t-{LINUX}.whl",
        "numpy-2.4.6-cp311-cp311-win32.whl",
        "numpy-2.4.6-cp311-cp311-musllinux_1_2_x86_64.whl",
        f"numpy-2.4.6-pp311-pypy311_pp73-{LINUX}.whl",
        "numpy-2.4.6.exe",
    ],
)
def test_other_files_are_not_locked(file):
    assert not lock.fits(file)


def test_hashes_are_those_of_the_files_of_one_version(monkeypatch):
    files = ["a_b-1.0-py3-none-any.whl", "a_b-1.0.tar.gz", "a_b-1.0.1.tar.gz", "a_b-1.0-cp27-none-win32.whl"]
    links = [f'<a href="../{file}#sha256={number:064x}">{file}</a>' for number, file in enumerate(files)]
    pages = {"https://index.example/simple/a-b/": "".join(links).encode()}
    monkeypatch.setattr(lock, "urlopen", lambda address, timeout: BytesIO(pages[address]))
    pin, missing = lock.Pin("a.b", "1.0", "python_version < '4'"), []
    (entry,) = lock.locked([pin, lock.Pin("A_B", "2.0", "")], "https://index.example/simple", missing)
    assert entry.splitlines()[0] == "a.b==1.0 ; python_version < '4' \\"
    assert re.findall("sha256:0*([0-9])", entry) == ["0", "1"]
    assert missing == ["A_B==2.0"]

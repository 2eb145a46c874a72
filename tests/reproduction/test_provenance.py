"""The hash of code changes with whatever may change a result, and with nothing else."""

import pytest

from reproduction import provenance

CACHED = ("_file", "_imports", "_lazy_names", "_code", "code_hash")
FILES = {
    "__init__.py": "",
    "lazy/__init__.py": "import lazy_loader\n",
    "lazy/__init__.pyi": "from .far import Far as Far\n",
    "lazy/far.py": "class Far:\n    size = 1\n",
    "near.py": "def near():\n    return 1\n",
    "start.py": '''
from toy import near
from toy.lazy import Far

PUBLISHED = {"OGC": 86.9}


def measured():
    """A docstring."""
    from toy.later import later  # a comment
    return near.near() + later()


TABLE = Artefact(
    note="words"
)
''',
    "later.py": "def later():\n    return 2\n",
    "other.py": "x = 1\n",
}


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Hash a package that is written anew, with some text of some file in place of another."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(provenance, "_ROOMS", ("toy",))

    def forget():
        for function in CACHED:
            getattr(provenance, function).cache_clear()

    def hashed(file="", old="", new=""):
        for name, text in FILES.items():
            place = tmp_path / "toy" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text.replace(old, new) if name == file else text, encoding="utf-8")
        forget()
        return provenance.code_hash(frozenset({"toy.start"}))

    yield hashed
    forget()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("start.py", "+ later()", "- later()"),
        ("near.py", "return 1", "return 2"),
        # imported inside of a function
        ("later.py", "return 2", "return 3"),
        # a name that its package loads when it is used
        ("lazy/far.py", "size = 1", "size = 2"),
    ],
)
def test_other_code_has_another_hash(toy, file, old, new):
    assert toy(file, old, new) != toy()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("start.py", "a comment", "another comment"),
        ("start.py", "A docstring.", "Another docstring."),
        ("start.py", "86.9", "86.8"),
        ("start.py", "words", "other words"),
        ("other.py", "x = 1", "x = 2"),
    ],
)
def test_what_computes_nothing_has_no_part_in_it(toy, file, old, new):
    assert toy(file, old, new) == toy()


def test_a_whole_package_may_be_meant(toy):
    toy()
    assert {"toy.near", "toy.other", "toy.lazy.far"} <= provenance._closure(["toy.*"])


def test_rooms_that_only_read_or_show_do_not_count():
    found = provenance._closure(["reproduction.measures", "reproduction.spec", "gssl.methods.ogc"])
    assert {"gssl.methods.heads", "gssl.operators.convolution", "reproduction.measures"} <= found
    rooms = {".".join(name.split(".")[:2]) for name in found}
    assert not rooms & {"gssl.cli", "gssl.io", "gssl.report", "gssl.scale"}

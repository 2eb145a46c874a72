"""The hash of code changes exactly with code that may change a result."""

import pytest

from reproduction import provenance

CACHED = ("_file", "_lazy_names", "_source", "_used", "code_hash")
FILES = {
    "__init__.py": "",
    "lazy/__init__.py": "import lazy_loader\n",
    "lazy/__init__.pyi": "from .far import Far as Far\n",
    "lazy/far.py": "class Far:\n    size = 1\n",
    "near.py": "def near():\n    return 1\n\n\ndef far():\n    return 1\n",
    "start.py": '''
import toy.other
from toy import near
from toy.lazy import Far as Distant

PUBLISHED = {"OGC": 86.9}
SIZES = {}
SIZES["first"] = 1


def measured(cell: Near) -> Far:
    """A docstring."""
    from toy.later import later  # a comment
    return near.near() + later() + Distant.size + SIZES["first"] + toy.other.x


def unused():
    return 1


TABLE = [near for near in range(3)]
''',
    "later.py": "def later():\n    return 2\n",
    "other.py": "x = 1\ny = 1\n",
}


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Return a function that hashes a newly written package, with some text in a file replaced."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(provenance, "_PACKAGES", ("toy",))

    def forget():
        for function in CACHED:
            getattr(provenance, function).cache_clear()

    def hashed(file="", old="", new=""):
        for name, text in FILES.items():
            path = tmp_path / "toy" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace(old, new) if name == file else text, encoding="utf-8")
        forget()
        return provenance.code_hash(frozenset({("toy.start", "measured")}))

    yield hashed
    forget()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("start.py", "+ later()", "- later()"),
        ("near.py", "return 1", "return 2"),
        # imported inside a function
        ("later.py", "return 2", "return 3"),
        # a name that its package loads lazily
        ("lazy/far.py", "size = 1", "size = 2"),
        # a table that is filled after its definition
        ("start.py", '["first"] = 1', '["first"] = 2'),
        # the name of a module that is imported by its path
        ("other.py", "x = 1", "x = 2"),
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
        ("start.py", "cell: Near", "cell: Distant"),
        # an unused table whose comprehension variable has the name of a used module
        ("start.py", "range(3)", "range(4)"),
        # unused definitions in used modules
        ("start.py", "return 1", "return 2"),
        ("near.py", "far():\n    return 1", "far():\n    return 2"),
        ("other.py", "y = 1", "y = 2"),
    ],
)
def test_what_computes_nothing_has_no_part_in_it(toy, file, old, new):
    assert toy(file, old, new) == toy()


def test_a_whole_module_may_be_meant(toy):
    toy()
    assert ("toy.start", "") in provenance._closure([("toy.start", "")])
    assert ("toy.later", "later") in provenance._closure([("toy.start", "")])


def test_rooms_that_only_read_or_show_do_not_count():
    roots = [("reproduction.measures", "classify"), ("gssl.methods.ogc", "OGC")]
    reached = provenance._closure(roots)
    assert {("gssl.operators.convolution", "normalized_adjacency"), roots[0]} <= reached
    packages = {".".join(module.split(".")[:2]) for module, _ in reached}
    assert not packages & {"gssl.cli", "gssl.io", "gssl.report", "gssl.scale"}
    # other methods are not included
    assert not {("gssl.methods.ggc", "GGC"), ("reproduction.measures", "tune_embedding")} & reached

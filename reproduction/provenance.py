"""The code behind a result, as a hash: of the modules that computed it and of all that they import.

Comments and docstrings do not count, nor do published numbers and the words of an artefact: what is said
about a result, and what it is compared with, do not make it.
"""

import ast
import hashlib
import io
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

# rooms that compute; others say where a fit runs, read files or show results
_ROOMS = (
    *(
        f"gssl.{room}"
        for room in ("datasets", "evaluation", "graph", "methods", "operators", "selection", "torch")
    ),
    "benchmarks.accuracy",
    "reproduction",
)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def code_hash(modules: frozenset[str]) -> str:
    """Hash the code of modules, ``package.*`` for all of a package, and of what they import."""
    digest = hashlib.sha256()
    for name in sorted(_closure(modules)):
        digest.update(f"{name}\n{_code(_file(name))}\n".encode())
    return digest.hexdigest()[:16]


def _closure(modules: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = [name for module in modules for name in _expanded(module)]
    while waiting:
        name = waiting.pop()
        if name not in found and _computes(name) and _file(name) is not None:
            found.add(name)
            waiting += _imports(name)
    return found


def _expanded(module: str) -> Iterator[str]:
    package, star, _ = module.partition(".*")
    yield package
    folder = _file(package) if star else None
    if folder is not None:
        for path in sorted(folder.parent.rglob("*.py")):
            if path.stem != "__init__":
                yield ".".join([package, *path.relative_to(folder.parent).with_suffix("").parts])


def _computes(name: str) -> bool:
    return any(name == room or name.startswith(f"{room}.") for room in _ROOMS)


@cache
def _file(name: str) -> Path | None:
    """Find the source of a module without loading it; None if there is no such module."""
    root, *rest = name.split(".")
    spec = find_spec(root)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        place = Path(folder, *rest)
        for file in (place / "__init__.py", place.with_suffix(".py")):
            if file.is_file():
                return file
    return None


@cache
def _imports(name: str) -> tuple[str, ...]:
    """List what a module imports, wherever in its code; some of it may be names that are no modules."""
    file = _file(name)
    assert file is not None
    return tuple(_imported(file.read_text(encoding="utf-8")))


def _imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            names = _lazy_names(node.module)
            for alias in node.names:
                yield names.get(alias.name, f"{node.module}.{alias.name}")


@cache
def _lazy_names(package: str) -> dict[str, str]:
    """Read from a package's stub which module each of its names is in, where names load when used."""
    file = _file(package)
    stub = None if file is None else file.with_suffix(".pyi")
    if stub is None or not stub.is_file():
        return {}
    found: dict[str, str] = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            found |= {alias.name: f"{package}.{node.module}" for alias in node.names}
    return found


@cache
def _code(file: Path) -> str:
    """Read a source without comments, docstrings, blank lines, published numbers and artefacts."""
    source = file.read_text(encoding="utf-8")
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    dropped: set[int] = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            dropped |= _rows(node.body[0])
    for statement in tree.body:
        if _is_said(statement):
            dropped |= _rows(statement)
    return "\n".join(line.rstrip() for row, line in enumerate(lines) if row not in dropped and line.strip())


def _rows(node: ast.stmt) -> set[int]:
    return set(range(node.lineno - 1, node.end_lineno or node.lineno))


def _is_said(statement: ast.stmt) -> bool:
    """Tell published numbers and artefacts, which compute nothing, by their names."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return False
    target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
    if isinstance(target, ast.Name) and target.id.startswith("PUBLISHED"):
        return True
    value = statement.value
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "Artefact"

"""A hash of the code behind a result: the definitions that computed it and everything they use.

Only definitions that are reached count. Tables, published numbers, comments, docstrings and annotations do
not, and a change to one method does not affect the hashes of others.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

# packages that compute results; others schedule fits, read files or show results
_PACKAGES = (
    *(
        f"gssl.{package}"
        for package in ("datasets", "evaluation", "graph", "methods", "operators", "selection", "torch")
    ),
    "benchmarks.accuracy",
    "benchmarks.rivals",
    "reproduction",
)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# (module, name); an empty name stands for the whole module
Definition = tuple[str, str]


@cache
def code_hash(roots: frozenset[Definition]) -> str:
    """Hash the given definitions and everything they use."""
    digest = hashlib.sha256()
    for module, name in sorted(_closure(roots)):
        for statement in _statements(module, name):
            digest.update(f"{module}\n{ast.unparse(statement)}\n".encode())
    return digest.hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class _Source:
    """A module: its top-level statements by the names they bind, and the origins of imported names."""

    statements: dict[str, list[ast.stmt]]
    imports: dict[str, Definition]


def _closure(roots: Iterable[Definition]) -> set[Definition]:
    reached: set[Definition] = set()
    waiting = list(roots)
    while waiting:
        definition = _resolved(waiting.pop())
        if definition is not None and definition not in reached:
            reached.add(definition)
            waiting += _used(definition)
    return reached


@cache
def _used(source: Definition) -> frozenset[Definition]:
    """Find the definitions that one definition uses."""
    used = (_resolved(name) for statement in _statements(*source) for name in _names(source[0], statement))
    return frozenset(definition for definition in used if definition is not None)


def _resolved(definition: Definition | None) -> Definition | None:
    """Follow imports to the definition of a name; None if it is outside the packages that compute."""
    seen: set[Definition] = set()
    while definition is not None and definition not in seen:
        seen.add(definition)
        module, name = definition
        if not _computes(module) or _file(module) is None:
            return None
        source = _source(module)
        if not name or name in source.statements:
            return definition
        if _file(f"{module}.{name}") is not None:
            # a submodule: only the names used from it count
            return None
        lazy = _lazy_names(module).get(name)
        definition = (lazy, name) if lazy else source.imports.get(name)
    return None


def _computes(module: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in _PACKAGES)


def _statements(module: str, name: str) -> list[ast.stmt]:
    statements = _source(module).statements
    if name:
        return statements[name]
    return list({id(statement): statement for group in statements.values() for statement in group}.values())


def _names(module: str, statement: ast.stmt) -> Iterator[Definition]:
    """Yield the names that a statement reads, and those that it imports itself."""
    # imports inside a function shadow those of its module
    inner = dict(_imported(statement))
    known = _source(module).imports | inner
    yield from inner.values()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            yield known.get(node.id, (module, node.id))
        elif isinstance(node, ast.Attribute):
            path = _dotted(node)
            if path and path[0] in known:
                package, name = known[path[0]]
                parts = [part for part in (name, *path[1:]) if part]
                for k, part in enumerate(parts):
                    yield ".".join([package, *parts[:k]]), part


def _dotted(node: ast.expr) -> list[str]:
    """Return the parts of a.b.c, or an empty list if it does not begin with a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []


def _imported(node: ast.AST) -> Iterator[tuple[str, Definition]]:
    for part in ast.walk(node):
        if isinstance(part, ast.Import):
            for alias in part.names:
                root = alias.name if alias.asname else alias.name.partition(".")[0]
                yield alias.asname or root, (root, "")
        elif isinstance(part, ast.ImportFrom) and part.module and not part.level:
            for alias in part.names:
                yield alias.asname or alias.name, (part.module, alias.name)


@cache
def _source(module: str) -> _Source:
    file = _file(module)
    assert file is not None
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        _strip(node)
    statements: dict[str, list[ast.stmt]] = {}
    imports: dict[str, Definition] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            imports |= dict(_imported(statement))
            continue
        for name in _bound(statement):
            statements.setdefault(name, []).append(statement)
    return _Source(statements, imports)


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a top-level statement binds or changes in place."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
        return
    for field, value in ast.iter_fields(statement):
        # only targets: names bound by a comprehension in the value are local to it
        if field in ("target", "targets"):
            for target in value if isinstance(value, list) else [value]:
                yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))
        elif isinstance(value, list):
            for part in value:
                if isinstance(part, ast.stmt):
                    yield from _bound(part)


def _strip(node: ast.AST) -> None:
    """Remove the docstring and annotations of a definition."""
    if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
        node.body = node.body[1:] or [ast.Pass()]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        node.returns = None
    elif isinstance(node, ast.arg):
        node.annotation = None
    elif isinstance(node, ast.AnnAssign):
        node.annotation = ast.Constant(...)


@cache
def _file(name: str) -> Path | None:
    """Find the source file of a module without importing it; None if there is no such module."""
    root, *rest = name.split(".")
    spec = find_spec(root)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        base = Path(folder, *rest)
        for file in (base / "__init__.py", base.with_suffix(".py")):
            if file.is_file():
                return file
    return None


@cache
def _lazy_names(package: str) -> dict[str, str]:
    """Read from a package's stub, if any, which module each of its lazily loaded names is in."""
    file = _file(package)
    stub = None if file is None else file.with_suffix(".pyi")
    if stub is None or not stub.is_file():
        return {}
    modules: dict[str, str] = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            modules |= {alias.name: f"{package}.{node.module}" for alias in node.names}
    return modules

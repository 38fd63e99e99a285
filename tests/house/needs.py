"""What a test needs besides netpart, found by reading: what it, its fixtures and what these call import, in this
process or in others.

A name stands for what defines it, in tests/, benchmarks/ or tools/. What a text says counts too: a program with
imports, or the name of a module that is run. netpart itself does without what is not installed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.house.tree import ROOT, parsed, python_files

FOLDERS = ("tests", "benchmarks", "tools")
PEERS = "benchmarks.peers"
INDEX = "the package index"
PROGRAMS = ("chromium",)
"""Programs that are no packages of Python."""
RUN = "__main__"
OFFLINE = "--no-index"


@dataclass(frozen=True)
class Definition:
    """A name of a module; "" is that it is imported, and "__main__" that it is run."""

    module: str
    name: str = ""


Need = Definition | str
"""What is of ours, or the name of a package."""


@dataclass
class Source:
    """A module of ours: the code behind each of its names, and what it imports under which name."""

    code: dict[str, list[ast.AST]] = field(default_factory=dict)
    imported: dict[str, Need] = field(default_factory=dict)


@cache
def modules() -> dict[str, Path]:
    """Our modules by their names."""
    return {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in python_files(*FOLDERS)}


@cache
def source(module: str) -> Source:
    """A module, read."""
    return read(parsed(modules()[module]))


def read(tree: ast.Module) -> Source:
    """What the statements at the top of a module define and import; those for the type checker alone do not count."""
    made = Source()
    for statement in tree.body:
        for name, code in named(statement):
            made.code.setdefault(name, []).append(code)
        if isinstance(statement, ast.Import | ast.ImportFrom):
            made.imported.update(brought(statement))
    return made


def named(statement: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """The names that a statement at the top of a module defines, each with the code that it stands for."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name, statement
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            yield from ((ast.unparse(name), value) for name, value in zip(names, values, strict=False))
        case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
            yield ast.unparse(target), value
        case ast.If(test=test) if RUN in ast.unparse(test):
            yield RUN, statement


def brought(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Need]]:
    """The names that an import brings, and what they stand for: what is of ours, else the name of a package."""
    for alias in node.names:
        module = node.module or "" if isinstance(node, ast.ImportFrom) else alias.name
        whole = f"{module}.{alias.name}" if isinstance(node, ast.ImportFrom) else module
        bound = alias.asname or alias.name
        if whole in modules():
            yield bound, Definition(whole)
        else:
            yield bound, Definition(module, alias.name) if module in modules() else module.split(".")[0]


def needs(start: Iterable[Need], without: Iterable[Need] = ()) -> set[str]:
    """The packages that ``start`` needs, where nothing calls what is in ``without``."""
    seen, todo = set(without), list(start)
    found = set[str]()
    while todo:
        need = todo.pop()
        if need not in seen:
            seen.add(need)
            if isinstance(need, Definition):
                todo += within(need)
            else:
                found.add(need)
    return found


@cache
def within(need: Definition) -> tuple[Need, ...]:
    """What a definition takes: that its module is imported, what it was imported from, and what its code names."""
    return tuple(dict.fromkeys(taken(need)))


def taken(need: Definition) -> Iterator[Need]:
    """``within``, one by one."""
    read = source(need.module)
    if not need.name:
        yield from (other if isinstance(other, str) else Definition(other.module) for other in read.imported.values())
        return
    yield Definition(need.module)
    if need.name in read.imported:
        yield read.imported[need.name]
    for code in read.code.get(need.name, []):
        yield from direct(need.module, code)


def direct(module: str, code: ast.AST) -> Iterator[Need]:
    """What some code of a module names."""
    texts = {node.value for node in walk(code) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    if "pip" in texts and OFFLINE not in texts:
        yield INDEX
    yield from (name for name in PROGRAMS if name in texts)
    for text in texts:
        yield from said(text)
    for node in walk(code):
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from (need for _, need in brought(node))
            case ast.Name(id=name) | ast.arg(arg=name):
                yield from defined(module, name)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                owner = source(module).imported.get(name)
                if isinstance(owner, Definition) and not owner.name:
                    yield Definition(owner.module, attribute)
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]):
                if ast.unparse(function).split(".")[-1] in {"importorskip", "import_module"}:
                    yield name.split(".")[0]


def walk(code: ast.AST) -> Iterator[ast.AST]:
    """A piece of code and all within it but annotations, which are never evaluated."""
    yield code
    for part, value in ast.iter_fields(code):
        if part not in {"annotation", "returns"}:
            for each in value if isinstance(value, list) else [value]:
                yield from walk(each) if isinstance(each, ast.AST) else ()


def defined(module: str, name: str) -> Iterator[Definition]:
    """Where a name of a module is defined: there, or as a fixture in a conftest.py above it."""
    above = module.split(".")[:-1]
    conftests = [".".join([*above[:depth], "conftest"]) for depth in range(len(above), 0, -1)]
    for place in [module, *(each for each in conftests if each in modules())]:
        if name in source(place).code or name in source(place).imported:
            yield Definition(place, name)
            return


def said(text: str) -> Iterator[Need]:
    """What a text speaks of: a module that is run, any peer where only their folder is, a program with imports."""
    meant = [module for module in modules() if module.startswith(text)] if text == f"{PEERS}." else [text]
    yield from (Definition(module, RUN) for module in meant if module in modules())
    if "import " in text:
        with suppress(SyntaxError):
            nodes = ast.walk(ast.parse(text))
            imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
            yield from (need for node in imports for _, need in brought(node))

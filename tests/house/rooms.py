"""The rooms of netpart: its packages whose ``__init__`` has no code, and the modules of each that others import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from tests.house.tree import ROOT, python_files


@cache
def room_doors() -> dict[str, list[str]]:
    """By folder of a room ("netpart/plan/text"), the names of its modules that modules outside of it import, sorted."""
    rooms = [str(path.parent.relative_to(ROOT)) for path in python_files("netpart") if path.name == "__init__.py"]
    found: dict[str, set[str]] = {room: set() for room in rooms if _has_no_code(room)}
    for path in python_files("netpart"):
        for module in _imported_modules(path.read_text(encoding="utf-8")):
            _note_import(found, str(path.parent.relative_to(ROOT)), module)
    return {room: sorted(names) for room, names in sorted(found.items())}


def declared_doors(room: str) -> list[str] | None:
    """What ``__all__`` of a room says; None if it says nothing."""
    for node in _init_tree(room).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return None


def _init_tree(room: str) -> ast.Module:
    return ast.parse((ROOT / room / "__init__.py").read_text(encoding="utf-8"))


def _has_no_code(room: str) -> bool:
    """True if ``__init__`` has a docstring and ``__all__`` at most, and names that it imports on first use."""
    return all(_is_no_code(node) for node in _init_tree(room).body)


def _is_no_code(node: ast.stmt) -> bool:
    """True for a docstring, an assignment, ``__getattr__``, and imports for it and for types."""
    match node:
        case ast.Expr() | ast.Assign() | ast.ImportFrom(module="__future__" | "typing"):
            return True
        case ast.FunctionDef(name="__getattr__") | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
    return False


def _imported_modules(source: str) -> Iterator[str]:
    """Every module of netpart that ``source`` imports, also from within functions; in doubt a name is a module's."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("netpart."):
            yield node.value.partition(":")[0]  # families name their members by text, and commands their modules


def _note_import(found: dict[str, set[str]], importer: str, module: str) -> None:
    """Notes in ``found`` that a module in the folder ``importer`` imports ``module``, if that is in another room."""
    path = ROOT / module.replace(".", "/")
    room = str(path.parent.relative_to(ROOT))
    inside = importer == room or importer.startswith(f"{room}/")
    if room in found and not inside and path.with_suffix(".py").exists():
        found[room].add(path.name)

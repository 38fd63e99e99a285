"""The project's own files, as the tests of the house see them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MADE = {".git", ".venv", "__pycache__", "build", "dist", "data", "out"}
"""What is not written by hand: at the root whatever .gitignore names, below it only caches.

In a worktree .git is a file.
"""


def top_level_folders() -> list[Path]:
    """Folders at the root that hold something of ours."""
    found = (p for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith(".") and p.name not in MADE)
    return sorted(p for p in found if p.suffix != ".egg-info" and any(p.iterdir()))


def text_files() -> Iterator[Path]:
    """Every file that a person wrote or that is committed as if, except those that are not text."""
    yield from (p for p in ROOT.iterdir() if p.is_file() and p.name not in MADE and not p.name.startswith(".coverage"))
    for folder in [*top_level_folders(), ROOT / ".ci"]:
        yield from (p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts and is_text(p))


def is_text(path: Path) -> bool:
    return b"\0" not in path.read_bytes()[:4096]


def python_files(*folders: str) -> list[Path]:
    """The modules of ``folders`` except generated ones."""
    found = (p for folder in folders for p in (ROOT / folder).rglob("*.py"))
    return sorted(p for p in found if not p.stem.endswith("_pb2"))


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def name(path: Path) -> str:
    """A file as its path from the root."""
    return path.relative_to(ROOT).as_posix()

"""Citations lead somewhere: points of docs/regions.md, decision records, pages and their sections.

A docstring or comment cites a point as "regions.md, D9" or "D9", a record as "decision 9" or by its file, and a page
as "docs/verify.md" or as 'docs/verify.md, "What decides"'. Pages cite points and records in the same words, and
test_docs.py follows their links.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.house.tree import ROOT, name, parsed, python_files

DOCS = ROOT / "docs"
RECORDS = DOCS / "decisions"
PAGES = sorted(DOCS.rglob("*.md"))
MODULES = python_files("netpart", "tests", "tools", "benchmarks")
PROTOS = sorted((ROOT / "proto").glob("*.proto"))
POINT = re.compile(r"\bD(\d{1,2})\b")
DECISION = re.compile(r"\bdecisions?(?:\.md)?[\s(#]*\[?(\d+)(?:\s*[-–]\s*(\d+))?", re.IGNORECASE)
RECORD_FILE = re.compile(r"\bdecisions/(\d{4}[\w-]*\.md)")
LABELLED_LINK = re.compile(r"\[decision (\d+)\]\(\S*?(\d{4})-[\w-]+\.md\)", re.IGNORECASE)
MODULE = re.compile(r"(?<![\w/.{<-])((?:\w+/)*[a-z]\w*\.py)\b(?!\w|[({])")
PAGE = re.compile(r'(?<![\w/-])((?:docs/)?[\w-]+\.md)\b(?:,\s+"([^"]+)")?')


def written_words(path: Path) -> str:
    """What a file says to readers: of a module its docstrings and comments, of any other file all of it."""
    text = path.read_text(encoding="utf-8")
    return "\n".join([*docstrings(parsed(path)), *comments(text)]) if path.suffix == ".py" else text


def docstrings(module: ast.Module) -> Iterator[str]:
    """The strings that stand alone as statements: docstrings, also those of attributes."""
    for node in ast.walk(module):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def comments(text: str) -> Iterator[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    yield from (token.string for token in tokens if token.type == tokenize.COMMENT)


def headings(page: Path) -> set[str]:
    return set(re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE))


@cache
def points() -> set[int]:
    """Numbers of the points that docs/regions.md has."""
    return {int(found[1]) for heading in headings(DOCS / "regions.md") if (found := re.match(r"D(\d+)\. ", heading))}


@cache
def records() -> set[int]:
    return {int(path.name[:4]) for path in RECORDS.glob("[0-9]*.md")}


def dead_points(text: str) -> list[str]:
    return [f"D{number}" for number in POINT.findall(text) if int(number) not in points()]


def dead_decisions(text: str) -> list[str]:
    cited = {int(last or first) for first, last in DECISION.findall(text)}
    cited |= {int(first) for first, _ in DECISION.findall(text)}
    files = [file for file in RECORD_FILE.findall(text) if not (RECORDS / file).exists()]
    other = [f"{number} is not {file}" for number, file in LABELLED_LINK.findall(text) if int(number) != int(file)]
    return [*(f"decision {number}" for number in sorted(cited - records())), *files, *other]


def dead_pages(text: str) -> list[str]:
    """Pages, and sections of pages, that are cited and not there; without a folder: in docs/ or at the root."""
    return [f"{page} {section}".strip() for page, section in PAGE.findall(text) if not page_exists(page, section)]


def dead_modules(text: str) -> list[str]:
    """Modules of netpart that are cited as "passes/connect.py" or "doorbell.py" and are not there."""
    return [
        cited for cited in MODULE.findall(text) if not any(f"/{path}".endswith(f"/{cited}") for path in module_paths())
    ]


@cache
def module_paths() -> tuple[str, ...]:
    """Every Python file of the project, from its root."""
    folders = ("netpart", "tests", "tools", "benchmarks")
    return tuple(path.relative_to(ROOT).as_posix() for folder in folders for path in (ROOT / folder).rglob("*.py"))


def page_exists(page: str, section: str) -> bool:
    path = next((found for folder in (ROOT, DOCS) if (found := folder / page).exists()), None)
    return path is not None and (not section or " ".join(section.split()) in headings(path))


@pytest.mark.parametrize("path", [*MODULES, *PROTOS, *PAGES], ids=name)
def test_citations_lead_somewhere(path: Path) -> None:
    text = written_words(path)
    found = [*dead_points(text), *dead_decisions(text)]
    if path.is_relative_to(ROOT / "netpart"):
        found += dead_modules(text)
    elif path.suffix == ".md":  # a page has examples of a reader's own modules, which lie in no folder of netpart
        found += [cited for cited in dead_modules(text) if "/" in cited]
    assert [*found, *(dead_pages(text) if path.suffix == ".py" else ())] == []


def test_points_are_numbered_without_gaps() -> None:
    assert points() == set(range(1, len(points()) + 1))


def test_dead_citations_are_seen() -> None:
    assert dead_points("regions.md, D1 and D99; 3D") == ["D99"]
    assert dead_decisions("(decisions 3-98) [decision 8](decisions/0009-x.md)") == [
        "decision 98",
        "0009-x.md",
        "8 is not 0009",
    ]
    text = 'docs/none.md and regions.md, "Invariants worth\n    asserting" and house.md, "No such section"'
    assert dead_pages(text) == ["docs/none.md", "house.md No such section"]
    assert dead_modules("passes/none.py, passes/connect.py, doorbell.py and (bell.py)") == ["passes/none.py", "bell.py"]
    module = "'''D1'''\nX = 'D2'\n'''D3'''\n# D4"
    assert [*docstrings(ast.parse(module)), *comments(module)] == ["D1", "D3", "# D4"]

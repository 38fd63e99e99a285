"""The pages agree with the tree: links lead somewhere and the layout is the one described."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.tree import ROOT, name, top_level_folders

PAGES = sorted([*ROOT.glob("*.md"), *(p for f in ("docs", "graphs", "workers") for p in (ROOT / f).rglob("*.md"))])
RECORDS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
SECTIONS = ["Context", "Decision", "Alternatives", "Consequences"]
OF_THEIR_OWN = {
    "benchmarks",
    "cuda",
    "data",
    "datasets",
    "end2end",
    "fuzz",
    "graphs",
    "house",
    "laws",
    "oracle",
    "workers",
}


def slug(heading: str) -> str:
    """The anchor that forges give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {slug(h) for h in re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)}


def prose(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def images(page: Path) -> list[str]:
    """The files that a page shows, not those that it links."""
    return re.findall(r'(?:<img src="|!\[[^\]]*\]\()([^")\s]+)', prose(page))


def leads_somewhere(page: Path, link: str) -> bool:
    if "://" in link or link.startswith("mailto:"):
        return True
    file, _, anchor = link.partition("#")
    target = (page.parent / file).resolve() if file else page
    return target.exists() and (not anchor or anchor in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)", prose(page))
    assert not [link for link in [*links, *images(page)] if not leads_somewhere(page, link)]


def test_every_image_is_on_a_page() -> None:
    """What no page shows is made on demand, as `make draw-zoo` does."""
    shown = {(page.parent / image).resolve() for page in PAGES for image in images(page)}
    assert {path for path in (ROOT / "docs" / "images").rglob("*.*") if path not in shown} == set()


def test_every_folder_is_on_the_map() -> None:
    page = (ROOT / "docs" / "house.md").read_text(encoding="utf-8")
    described = set(re.findall(r"^(\w+)/ ", page, flags=re.MULTILINE))
    assert {folder.name for folder in top_level_folders()} <= described


def test_tests_mirror_the_code() -> None:
    packages = {p.name for p in (ROOT / "netpart").iterdir() if p.is_dir()}
    folders = {p.name for p in (ROOT / "tests").iterdir() if p.is_dir() and any(p.glob("**/*.*"))}
    assert folders - {"__pycache__"} <= packages | OF_THEIR_OWN


def test_decisions_are_numbered_without_gaps() -> None:
    assert [r.name[:4] for r in RECORDS] == [f"{i:04d}" for i in range(1, len(RECORDS) + 1)]


@pytest.mark.parametrize("record", RECORDS, ids=name)
def test_records_have_one_format(record: Path) -> None:
    """Title, date and status, and the sections of SECTIONS in this order; a record may lack alternatives."""
    text = record.read_text(encoding="utf-8")
    assert re.match(r"# \d+\. [^\n]+\n\nDate: \d{4}-\d\d-\d\d\. Status: [^\n]+\.\n\n## ", text)
    found = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)[1:]
    assert found in (SECTIONS, [section for section in SECTIONS if section != "Alternatives"])


def test_the_index_of_decisions_has_a_line_for_each() -> None:
    index = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d+) \| \[(.+)\]\((.+)\) \| .+ \|$", index, flags=re.MULTILINE)
    titles = [record.read_text(encoding="utf-8").splitlines()[0] for record in RECORDS]
    assert [(f"# {number}. {title}", file) for number, title, file in listed] == [
        (title, record.name) for title, record in zip(titles, RECORDS, strict=True)
    ]

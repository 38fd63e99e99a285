"""Every dependency has bounds, the upper ones are tested, and constraints.txt has a version within for each."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.house.requirements import required
from tests.house.tree import ROOT, name, text_files

EXTRAS = required()
TESTED = {"protobuf": Version("7.36")}
"""What is tested beyond constraints.txt, where another package holds it back: tests/proto/test_versions.py."""
COMMAND = re.compile(r"pip install (?:-e )?[`']*(?:\.|netpart|\S*\.whl)\[([\w,]+)\]")


def requirements() -> Iterator[Requirement]:
    yield from (each for extra in EXTRAS.values() for each in extra if each.name != "netpart")
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    yield from map(Requirement, re.findall(r'^requires = \["(.*)"\]$', text, flags=re.MULTILINE))


def pins() -> dict[str, Version]:
    """constraints.txt: name -> version."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    read = [Requirement(line) for line in lines if not line.startswith("#")]
    return {canonicalize_name(each.name): Version(str(each.specifier).removeprefix("==")) for each in read}


def breaking(version: Version) -> Version:
    """The next one that may break what this one does."""
    return Version(f"{version.major + 1}" if version.major else f"0.{version.minor + 1}")


@pytest.mark.parametrize("required", list(requirements()), ids=str)
def test_a_requirement_has_both_bounds(required: Requirement) -> None:
    assert {each.operator for each in required.specifier} in ({">=", "<"}, {"=="})


@pytest.mark.parametrize("required", list(requirements()), ids=str)
def test_an_upper_bound_is_the_end_of_what_is_tested(required: Requirement) -> None:
    pinned = pins().get(canonicalize_name(required.name))
    if pinned is None:  # of a GPU
        return
    assert required.specifier.contains(pinned)
    tested = TESTED.get(required.name, pinned)
    assert all(Version(each.version) <= breaking(tested) for each in required.specifier if each.operator == "<")


def test_all_that_tests_and_peers_need_is_pinned() -> None:
    wanted = [*EXTRAS[""], *EXTRAS["dev"], *EXTRAS["peers"]]
    wanted += [each for one in wanted for extra in one.extras if one.name == "netpart" for each in EXTRAS[extra]]
    assert {canonicalize_name(each.name) for each in wanted} - pins().keys() == {"netpart"}


def test_code_generation_holds_nothing_else_back() -> None:
    assert [str(each) for each in EXTRAS["proto"]] == ["grpcio-tools==1.71.2"]
    assert not [extra for extra, each in EXTRAS.items() if extra != "proto" and "grpcio" in str(each)]


def test_extras_that_pages_and_messages_name_exist() -> None:
    texts = [(name(path), path.read_text(encoding="utf-8")) for path in text_files() if path.name != "CHANGELOG.md"]
    named = {(file, extra) for file, text in texts for some in COMMAND.findall(text) for extra in some.split(",")}
    assert len(named) >= 10
    assert {(file, extra) for file, extra in named if extra not in EXTRAS and not file.startswith("tests/")} == set()


def test_nobody_is_told_that_an_index_has_netpart() -> None:
    """A page says `pip install -e '.[mri]'` or names a wheel; a message may name an extra: who reads it has netpart."""
    pages = [path for path in text_files() if path.suffix in {".md", ".yaml", ".sh", ".txt"}]
    found = [path for path in pages if path.name != "CHANGELOG.md" and says(path.read_text(encoding="utf-8"))]
    assert list(map(name, found)) == []
    assert says("`pip install netpart[viz]`")
    assert not says("pip install dist/netpart-0.1.0-py3-none-any.whl")


def says(text: str) -> bool:
    return bool(re.search(r"pip install +[`'\"]*netpart\b", text))


def test_pages_and_continuous_integration_name_the_same_commands() -> None:
    ran = re.findall(r"^make --no-print-directory ([\w-]+)", (ROOT / ".ci/run").read_text(encoding="utf-8"), re.M)
    assert ran == ["test", "test-thorough", "test-peers"]
    for page in ("README.md", "CONTRIBUTING.md"):
        listed = re.findall(r"^make ([\w-]+)", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert set(ran) <= set(listed)

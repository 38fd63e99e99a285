"""What setup.cfg asks for, as the tests of the house see it."""

from __future__ import annotations

from configparser import ConfigParser

from packaging.requirements import Requirement

from tests.house.tree import ROOT


def options() -> ConfigParser:
    """setup.cfg, read."""
    read = ConfigParser()
    read.read(ROOT / "setup.cfg", encoding="utf-8")
    return read


def required() -> dict[str, list[Requirement]]:
    """The requirements of each extra; "" has those of a plain install."""
    read = options()
    texts = {"": read["options"]["install_requires"], **read["options.extras_require"]}
    return {extra: [Requirement(line) for line in text.splitlines() if line] for extra, text in texts.items()}


def installed_by(extra: str) -> set[str]:
    """The names, in small letters, of what a plain install and an extra bring, without what these ask for in turn."""
    found, todo = set[str](), ["", extra]
    while todo:
        for requirement in required()[todo.pop()]:
            todo += requirement.extras if requirement.name == "netpart" else ()
            found.add(requirement.name.lower())
    return found

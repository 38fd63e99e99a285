"""The grammars in editors/ are those of today's language, and give each word of the zoo's jobs its colour."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from netpart.proto.job_files import jobs_below
from netpart.proto.layout.words import Role, Word, read_words
from netpart.resources import zoo_folder
from tests.house.textmate import coloured_words
from tests.house.tree import ROOT
from tests.thorough import sampled
from tools import gen_editors

GRAMMAR = json.loads((ROOT / gen_editors.TEXTMATE).read_text(encoding="utf-8"))
ZOO = jobs_below(zoo_folder())
WRITTEN = """#: made by netpart
[a.package.conf] { size: ${width} }
layer { name: 'x\\'s ${id}' type: kConvolution partition_dim: -1 location: [0, 1] # cut
  lrn_conf < alpha: .5e-3 beta: 0x1F > bm_conf { frozen: true } pooling_conf { pool: MAX } nam: 3 }
"""
SCOPES = {
    "#: made by netpart": "comment.line.documentation",
    "[a.package.conf]": "entity.name.tag.extension",
    "size": None,
    "${width}": "variable.other.placeholder",
    "layer": "keyword.control.block",
    "name": "variable.other.field",
    "'x\\'s ${id}'": "string.quoted.single",
    "kConvolution": "entity.name.type.layer",
    "-1": "constant.numeric",
    "# cut": "comment.line.number-sign",
    ".5e-3": "constant.numeric",
    "0x1F": "constant.numeric",
    "true": "constant.language.boolean",
    "MAX": "constant.language.enum",
    "nam": None,
}
GROUPS = {
    "comment.line.number-sign": "netpartComment",
    "keyword.control.block": "netpartBlock",
    "variable.other.field": "netpartField",
    "string.quoted.double": "netpartString",
    "entity.name.type.layer": "netpartLayerType",
    "constant.numeric": "netpartNumber",
    "constant.language.boolean": "netpartBoolean",
    "constant.language.enum": "netpartValue",
}
"""Scopes of TextMate, and vim's groups."""


def test_the_grammars_are_those_of_the_language() -> None:
    assert gen_editors.stale(ROOT) == []


def test_the_vs_code_extension_names_its_files() -> None:
    folder = ROOT / "editors" / "vscode"
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))["contributes"]
    assert (folder / package["languages"][0]["configuration"]).is_file()
    assert package["grammars"][0]["scopeName"] == GRAMMAR["scopeName"]
    assert (folder / package["grammars"][0]["path"]) == ROOT / gen_editors.TEXTMATE


def scopes_of(text: str) -> dict[tuple[int, int], tuple[str, str]]:
    """Where each coloured word begins, by line and column from 1: the word and its scope."""
    found = {}
    for number, line in enumerate(text.split("\n"), start=1):
        for start, stop, name in coloured_words(GRAMMAR["patterns"], line):
            found[number, start + 1] = line[start:stop], name.removesuffix(".netpart")
    return found


def test_every_kind_of_word_has_its_scope() -> None:
    found = dict(scopes_of(WRITTEN).values())
    assert {word: found.get(word) for word in SCOPES} == SCOPES


def expected_scopes(words: list[Word]) -> Iterator[tuple[Word, str]]:
    """Each word of a job with what it is."""
    for word, after in pairwise([*words, Word("", Role.COMMENT, 0, 0)]):
        if word.role is Role.COMMENT:
            yield word, "comment"
        elif word.role is Role.NAME:
            yield word, "keyword.control.block" if after.role is Role.OPEN_BLOCK else "variable.other.field"
        elif word.role in (Role.VALUE, Role.ELEMENT, Role.NEXT_STRING):
            yield word, "string" if word.text[0] == '"' else ""


@pytest.mark.parametrize("path", sampled(ZOO, 14), ids=lambda path: path.stem)
def test_every_word_of_the_zoo_is_coloured(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = scopes_of(text)
    for word, scope in expected_scopes(read_words(text)):
        coloured, name = found[word.line, word.column]
        plain = word.text if word.role is Role.COMMENT else word.text.rstrip(",:")
        assert coloured.rstrip() == plain, word
        assert name.startswith(scope or ("constant", "entity.name.type", "variable.other.placeholder")), word


@pytest.mark.peers
def test_a_textmate_engine_colours_the_same_words() -> None:
    from textmate_grammar.parsers.base import LanguageParser

    text = (zoo_folder() / "mnist" / "conv.conf").read_text(encoding="utf-8") + WRITTEN
    found = LanguageParser({**GRAMMAR, "fileTypes": ["conf"], "repository": {}}).parse_string(text)
    pieces = {
        (line + 1, column + 1): scopes[1].removesuffix(".netpart")
        for (line, column), _, scopes in found.flatten()
        if len(scopes) > 1
    }
    mine = {place: scope for place, (_, scope) in scopes_of(text).items()}
    assert mine.items() <= pieces.items()
    assert {pieces[place] for place in pieces.keys() - mine.keys()} <= {"string.quoted.double", "string.quoted.single"}


@pytest.mark.skipif(shutil.which("vim") is None, reason="there is no vim")
def test_vim_colours_the_same_words(tmp_path: Path) -> None:
    path = zoo_folder() / "mnist" / "conv.conf"
    found = scopes_of(path.read_text(encoding="utf-8"))
    asked = [f"synIDattr(synID({line},{column},1),'name')" for line, column in found]
    script = [f"call writefile([&filetype, &equalprg, {', '.join(asked)}], '{tmp_path / 'groups'}')", "qa!"]
    (tmp_path / "ask.vim").write_text("\n".join(script))
    runtime = f"set runtimepath^={ROOT / 'editors' / 'vim'} | filetype plugin on | syntax on"
    vim: list[str | Path] = [
        "vim",
        "-e",
        "-s",
        "-N",
        "-u",
        "NONE",
        "-i",
        "NONE",
        "--cmd",
        runtime,
        "-S",
        tmp_path / "ask.vim",
        path,
    ]
    subprocess.run(vim, check=True, stdin=subprocess.DEVNULL, timeout=60)
    answers = (tmp_path / "groups").read_text().splitlines()
    assert answers[:2] == ["netpart", "netpart fmt -"]
    assert answers[2:] == [GROUPS[name] for _, name in found.values()]

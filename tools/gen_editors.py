"""Generates the grammars in editors/ from the fields of the language: for TextMate and VS Code, and for vim.

``python -m tools.gen_editors`` writes them; ``--check`` writes nothing and exits 1 if the committed files differ from
those of today's language.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

from netpart.proto.field_catalogue import all_fields
from tools import command

ROOT = Path(__file__).resolve().parent.parent
TEXTMATE = "editors/vscode/syntaxes/netpart.tmLanguage.json"
VIM = "editors/vim/syntax/netpart.vim"
MADE = "Made by tools/gen_editors.py: a change belongs there."
PLACEHOLDER = r"\$\{[A-Za-z_]\w*\}"
NUMBER = r"[-+]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fF]?|inf(?:inity)?\b|nan\b)"


class Vocabulary(NamedTuple):
    """The words of the language: names of fields that hold blocks, of all others, types of layers, other values."""

    blocks: list[str]
    fields: list[str]
    layer_types: list[str]
    values: list[str]


def vocabulary() -> Vocabulary:
    """The words of today's language, sorted; a name that holds a block in one place only is in both of the first."""
    known = all_fields()
    holders = {field.block for field in known}
    values = {field.type: {value.name for value in field.values} for field in known if field.values}
    layer_types = values.pop("LayerType")
    return Vocabulary(
        sorted({field.name for field in known if field.type in holders}),
        sorted({field.name for field in known if field.type not in holders}),
        sorted(layer_types),
        sorted(set().union(*values.values())),
    )


def fresh() -> dict[str, str]:
    """The grammars: path -> content."""
    words = vocabulary()
    return {TEXTMATE: textmate_text(words), VIM: "\n".join(vim_lines(words)) + "\n"}


def textmate_text(words: Vocabulary) -> str:
    """The grammar of TextMate: the first pattern that matches at a place colours it."""
    patterns = [*comments(), *strings(), *names(words), *values(words)]
    grammar = {"information_for_contributors": [MADE], "scopeName": "source.netpart", "name": "netpart job"}
    return json.dumps(grammar | {"patterns": patterns}, indent=2) + "\n"


def rule(scope: str, match: str) -> dict[str, Any]:
    """One pattern."""
    return {"name": f"{scope}.netpart", "match": match}


def one_of(words: Iterable[str]) -> str:
    """A regular expression of whole words."""
    return rf"\b(?:{'|'.join(words)})\b"


def comments() -> list[dict[str, Any]]:
    """Comments of netpart itself, then those of people."""
    return [rule("comment.line.documentation", "#:.*$"), rule("comment.line.number-sign", "#.*$")]


def strings() -> list[dict[str, Any]]:
    """Strings in either quotes, which end with their line, with escapes and placeholders in them."""
    inner = [rule("constant.character.escape", r"\\."), rule("variable.other.placeholder", PLACEHOLDER)]
    kinds = {"double": '"', "single": "'"}
    return [
        {"name": f"string.quoted.{kind}.netpart", "begin": quote, "end": f"{quote}|$", "patterns": inner}
        for kind, quote in kinds.items()
    ]


def names(words: Vocabulary) -> list[dict[str, Any]]:
    """Names of blocks and fields; names of extensions of packages."""
    return [
        rule("entity.name.tag.extension", r"\[[A-Za-z_][\w./]*\](?=\s*[:{<])"),
        rule("keyword.control.block", rf"{one_of(words.blocks)}(?=\s*:?\s*[{{<])"),
        rule("variable.other.field", rf"{one_of([*words.fields, *words.blocks])}(?=\s*:)"),
    ]


def values(words: Vocabulary) -> list[dict[str, Any]]:
    """Values without quotes."""
    return [
        rule("variable.other.placeholder", PLACEHOLDER),
        rule("entity.name.type.layer", one_of(words.layer_types)),
        rule("constant.language.boolean", one_of(("true", "false"))),
        rule("constant.language.enum", one_of(words.values)),
        rule("constant.numeric", NUMBER),
    ]


def vim_lines(words: Vocabulary) -> Iterator[str]:
    """The syntax file of vim. Its keywords go before its patterns."""
    yield from (f'" Jobs of netpart. {MADE}', "if exists('b:current_syntax')", "  finish", "endif", "")
    both = set(words.fields) & set(words.blocks)
    yield from vim_keywords("netpartField", [word for word in words.fields if word not in both])
    yield from vim_keywords("netpartBlock", [word for word in words.blocks if word not in both])
    yield from vim_keywords("netpartLayerType", words.layer_types)
    yield from vim_keywords("netpartValue", words.values)
    yield from vim_keywords("netpartBoolean", ["true", "false"])
    # A keyword would go before any pattern, so the words that are both are patterns.
    either = r"/\<\(" + r"\|".join(sorted(both)) + r"\)\>"
    yield rf"syn match netpartField {either}\ze\s*:/"
    yield rf"syn match netpartBlock {either}\ze\s*:\=\s*[{{<]/"
    yield from VIM_PATTERNS
    yield from ("", *(f"hi def link netpart{name} {group}" for name, group in VIM_GROUPS.items()))
    yield from ("", "let b:current_syntax = 'netpart'")


def vim_keywords(group: str, words: Iterable[str]) -> list[str]:
    """The lines that give ``words`` their group."""
    return [f"syn keyword {group} {line}" for line in wrap(" ".join(words), 120 - len(group) - 13)]


VIM_PATTERNS = (
    r"syn match netpartPlaceholder /\${\h\w*}/",
    r"syn match netpartNumber /[-+]\=\<\(0[xX]\x\+\|\d\+\.\=\d*\([eE][-+]\=\d\+\)\=[fF]\=\|inf\|nan\)\>/",
    r"syn match netpartNumber /[-+]\=\.\d\+\([eE][-+]\=\d\+\)\=[fF]\=\>/",
    r"syn match netpartExtension /\[\h[[:alnum:]_./]*\]\ze\s*[:{<]/",
    r"syn match netpartEscape /\\./ contained",
    r"""syn region netpartString oneline start=/"/ skip=/\\./ end=/"/ contains=netpartEscape,netpartPlaceholder""",
    r"""syn region netpartString oneline start=/'/ skip=/\\./ end=/'/ contains=netpartEscape,netpartPlaceholder""",
    r"syn match netpartComment /#.*$/",
    r"syn match netpartOwnComment /#:.*$/",
)
"""Of two patterns that match at one place, the later one counts."""
VIM_GROUPS = {
    "Field": "Identifier", "Block": "Statement", "LayerType": "Type", "Value": "Constant", "Boolean": "Boolean",
    "Placeholder": "PreProc", "Number": "Number", "Extension": "Special", "Escape": "SpecialChar",
    "String": "String", "Comment": "Comment", "OwnComment": "SpecialComment",
}  # fmt: skip
"""The colour of each kind of word, by vim's names."""


def stale(root: Path) -> list[str]:
    """Grammars that are missing below ``root``, or not those of today's language."""
    return [name for name, text in fresh().items() if committed_text(root / name) != text]


def committed_text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def write(root: Path) -> None:
    """Write the grammars below ``root``."""
    for name, text in fresh().items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status: 0 done or up to date, 1 stale."""
    about = "Generates the grammars in editors/ from the fields of the language."
    return command.run("gen_editors", about, partial(stale, ROOT), partial(write, ROOT), arguments)


if __name__ == "__main__":
    sys.exit(main())

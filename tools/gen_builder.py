"""Generates netpart/builder/layer_methods.pyi: the methods of ``netpart.Net`` with the types of their arguments.

``python -m tools.gen_builder`` writes it; ``--check`` writes nothing and exits 1 if the committed file differs from
that of today's language. Editors complete and explain from it, and mypy checks programs that build nets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from netpart.builder.layer_fields import POSITIONAL
from netpart.builder.layer_methods import method_types
from netpart.layers import layer_class
from netpart.proto.field_catalogue import FieldDescription, all_fields
from tools import command

ROOT = Path(__file__).resolve().parent.parent
STUB = "netpart/builder/layer_methods.pyi"
COMMON = ("partition_dim", "location", "cut", "remainder", "shard", "sum_gradient", "include", "exclude", "recompute")
"""Fields of every layer that methods take."""
HEAD = '''"""Made by tools/gen_builder.py: a change belongs there."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

from netpart.builder.layer_list import LayerHandle
from netpart.builder.named_value import NamedValue

Whole = int | NamedValue
Number = float | NamedValue
Truth = bool | NamedValue

class LayerFields(TypedDict, total=False):
    """Fields that every layer may have."""

'''
CLASS = """
def method_types() -> dict[str, str]: ...

class LayerMethods:
    def add_layer(
        self,
        type: str,
        /,
        *given: Any,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        **fields: Any,
    ) -> LayerHandle: ...
"""
SCALARS = {
    "int32": "Whole", "int64": "Whole", "uint32": "Whole", "uint64": "Whole", "float": "Number", "double": "Number",
    "bool": "Truth", "string": "str",
}  # fmt: skip


def stub_text() -> str:
    """The whole file."""
    known = all_fields()
    common = [field for field in known if field.block == "LayerProto" and field.name in COMMON]
    methods = sorted(method_types().items())
    return "".join(
        [HEAD, *(f"    {field.name}: {value_type(field)}\n" for field in common), CLASS]
        + [
            f"\n{line}" if n == 0 else line
            for name, of in methods
            for n, line in enumerate(method_lines(name, of, known))
        ]
    )


def method_lines(name: str, of: str, known: list[FieldDescription]) -> Iterator[str]:
    """The method that adds a layer of the type ``of``, with the meanings of the type and of its fields."""
    fields = conf_fields(of, known)
    meanings = {value.name: value.meaning for field in known if field.type == "LayerType" for value in field.values}
    first = fields[:POSITIONAL]
    types = " | ".join(dict.fromkeys(["LayerHandle", *map(value_type, first)]))
    yield f"    def {name}(\n        self,\n        *sources: {types},\n        name: str | None = None,\n"
    yield "        params: Sequence[Mapping[str, Any]] = (),\n"
    yield from (f"        {field.name}: {value_type(field)} | None = None,\n" for field in fields)
    yield "        **common: Unpack[LayerFields],\n    ) -> LayerHandle:\n"
    yield f'        """{of}: {meanings[of]}.\n\n' if fields else f'        """{of}: {meanings[of]}."""\n'
    yield f"        After the sources: {', '.join(field.name for field in first)}.\n\n" if fields else ""
    yield from (f"        {field.name}: {field.meaning}\n".replace("\\", "\\\\") for field in fields)
    yield '        """\n' if fields else ""


def conf_fields(of: str, known: list[FieldDescription]) -> list[FieldDescription]:
    """The fields of the confs of a layer type; of two with one name the first."""
    blocks = {field.name: field.type for field in known if field.block == "LayerProto"}
    found: dict[str, FieldDescription] = {}
    for conf in layer_class(of).confs:
        for field in known:
            if field.block == blocks[conf]:
                found.setdefault(field.name, field)
    return list(found.values())


def value_type(field: FieldDescription) -> str:
    """The type of the argument for a field: names of an enum's values, mappings for blocks."""
    single = SCALARS.get(field.type, "Mapping[str, Any]")
    if field.values:
        names = ", ".join(repr(value.name) for value in field.values).replace("'", '"')
        single = f"Literal[{names}] | NamedValue"
    return f"{single} | Sequence[{single}]" if field.repeated else single


def stale(root: Path) -> list[str]:
    """The file, if it is missing below ``root`` or not that of today's language."""
    path = root / STUB
    return [] if path.exists() and path.read_text(encoding="utf-8") == stub_text() else [STUB]


def write(root: Path) -> None:
    """Write the file below ``root``."""
    (root / STUB).write_text(stub_text(), encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status: 0 done or up to date, 1 stale."""
    about = f"Generates {STUB} from the fields of the language."
    return command.run("gen_builder", about, partial(stale, ROOT), partial(write, ROOT), arguments)


if __name__ == "__main__":
    sys.exit(main())

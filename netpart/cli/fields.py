"""netpart fields: the fields of the language with their types, defaults and meanings."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netpart.proto.field_catalogue import FieldDescription

HELP = "list the fields of a job: type, default, meaning, and the values of enums; all, or those that NAME means"
COLUMNS = ("field", "type", "default", "meaning", "declared in")


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser("fields", help=HELP, description=HELP)
    parser.add_argument(
        "name", nargs="?", metavar="NAME",
        help="field, also after its block (updater.type, LayerProto.type); block; type; or value of an enum",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print everything as JSON, for editors")
    return parser


def run_verb(args: argparse.Namespace) -> int:
    """Print the fields. Returns 0. Raises ConfigError for a name that no field has."""
    from dataclasses import asdict

    from netpart.proto.field_catalogue import all_fields, find_fields

    fields = all_fields() if args.name is None else find_fields(args.name)
    if args.json:
        print(json.dumps([asdict(field) for field in fields], indent=2, ensure_ascii=False))
    else:
        _print_fields(fields)
    return 0


def _print_fields(fields: list[FieldDescription]) -> None:
    """Print a table of fields; of a single one also the values."""
    from netpart.cli.table import TextTable

    TextTable(COLUMNS, [_field_cells(field) for field in fields]).print()
    if len(fields) == 1 and fields[0].values:
        print()
        TextTable(("value", "meaning"), [(value.name, value.meaning) for value in fields[0].values]).print()


def _field_cells(field: FieldDescription) -> tuple[str, ...]:
    """The cells of one field."""
    kind = f"repeated {field.type}" if field.repeated else field.type
    default = "must be set" if field.required else field.default or "-"
    place = f"proto/{field.file}:{field.line}" if field.file else "-"
    return f"{field.block}.{field.name}", kind, default, field.meaning, place

"""python -m tools.updater_page: fills the table of updaters in docs/language.md from the classes of the updaters.

The first sentence of a class is its formula; its ``slots`` are the states that a checkpoint keeps. The defaults are
those of the language.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.results_page import filled, keep

PAGE = "docs/language.md"


def updater_rows(name: str) -> str:
    """The table, whatever its ``name``: one row for each updater of netpart, in the order of their family."""
    from netpart.families import UPDATERS

    rows = ["| `updater.type` | in each step | defaults | states in a checkpoint |", "|---|---|---|---|"]
    for updater_type, rule in UPDATERS.items():
        formula = re.split(r"\.(?:\s|$)", inspect.cleandoc(rule.__doc__ or ""))[0]
        slots = ", ".join(f"`{slot}`" for slot in rule.slots)
        defaults = ", ".join(default_values(updater_type, formula, rule.slots))
        rows.append(f"| `{updater_type}` | {formula} | {defaults} | {slots} |")
    return "\n".join(rows) + "\n"


def default_values(updater_type: str, formula: str, slots: Sequence[str]) -> Iterator[str]:
    """The fields in a formula, each with its default, or the word that it has none."""
    from netpart.proto.updater_pb2 import UpdaterProto

    fields = UpdaterProto.DESCRIPTOR.fields_by_name
    conf = fields.get(f"{updater_type[1:].lower()}_conf")
    common = [name for name, read in (("momentum", "momentum" in slots), ("delta", "delta" in formula)) if read]
    own = conf.message_type.fields if conf and conf.message_type else ()
    for field in [*own, *(fields[name] for name in common)]:
        value = str(field.default_value).lower()
        yield f"`{field.name}` {'must be set' if field.is_required else value}"


def fresh(root: Path) -> dict[str, str]:
    """The page with its table anew."""
    return {PAGE: filled((root / PAGE).read_text(encoding="utf-8"), updater_rows)}


if __name__ == "__main__":
    sys.exit(keep("updater_page", fresh, None))

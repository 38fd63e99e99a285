"""python -m tools.updater_page: fills the table of updaters in docs/language.md from the classes of the updaters.

The first sentence of a class is its formula; its ``slots`` are the states that a checkpoint keeps.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

from tools.results_page import filled, keep

PAGE = "docs/language.md"


def updater_rows(name: str) -> str:
    """The table, whatever its ``name``: one row for each updater of netpart, in the order of their family."""
    from netpart.families import UPDATERS

    rows = ["| `updater.type` | in each step | states in a checkpoint |", "|---|---|---|"]
    for updater_type, rule in UPDATERS.items():
        formula = re.split(r"\.(?:\s|$)", inspect.cleandoc(rule.__doc__ or ""))[0]
        rows.append(f"| `{updater_type}` | {formula} | {', '.join(f'`{slot}`' for slot in rule.slots)} |")
    return "\n".join(rows) + "\n"


def fresh(root: Path) -> dict[str, str]:
    """The page with its table anew."""
    return {PAGE: filled((root / PAGE).read_text(encoding="utf-8"), updater_rows)}


if __name__ == "__main__":
    sys.exit(keep("updater_page", fresh, None))

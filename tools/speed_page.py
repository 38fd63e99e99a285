"""Fills the tables of docs/speed.md with what the benchmarks found: run it after them.

python -m tools.speed_page            write the tables anew from benchmarks/results/*.json
python -m tools.speed_page --check    write nothing; exit 1 if the page does not say what the files say
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from netpart.units import bytes_text, seconds_text

ROOT = Path(__file__).resolve().parents[1]
PAGE = "docs/speed.md"
RESULTS = "benchmarks/results"
TABLE = re.compile(r"(<!-- results: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
"""Where the table of a benchmark stands: what is between the two lines is written by this tool."""
HEAD = "| work | beside | netpart | peer | ratio | goal |\n|---|---|--:|--:|--:|--:|"

Json = dict[str, Any]


def filled(root: Path) -> str:
    """The page with its tables as the results of ``root`` have them."""
    page = (root / PAGE).read_text(encoding="utf-8")
    return TABLE.sub(lambda found: found[1] + table(root, found[2]) + found[3], page)


def table(root: Path, name: str) -> str:
    """The table of one benchmark, with what it depends on; or that it has not been run."""
    path = root / RESULTS / f"{name}.json"
    if not path.exists():
        return f"Not measured yet: `make bench-{name}`.\n"
    found: Json = json.loads(path.read_text(encoding="utf-8"))
    machine, versions = found["machine"], found["versions"]
    packages = ", ".join(f"{package} {version}" for package, version in versions.items() if package != "system")
    about = f"{found['date']}, {machine['processor']}, {machine['cores']} cores; {packages}."
    return "\n".join([about, "", HEAD, *map(line, found["rows"])]) + "\n"


def line(row: Json) -> str:
    """One comparison."""
    ours, theirs = (value(row[who], row["unit"]) for who in ("netpart", "peer"))
    goal = "–" if row["goal"] is None else f"{row['goal']:.2f}"
    behind = row["goal"] is not None and row["ratio"] < row["goal"]
    ratio = f"{row['ratio']:.2f}{' (missed)' if behind else ''}"
    return f"| {row['work']} | {row['against']} | {ours} | {theirs} | {ratio} | {goal} |"


def value(number: float, unit: str) -> str:
    """A figure in its unit."""
    if unit == "B":
        return bytes_text(number)
    return seconds_text(number) if unit.split("/")[0] == "s" else f"{number:.2f} {unit}"


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status: 0 done or up to date, 1 stale."""
    parser = argparse.ArgumentParser(description="Writes the tables of docs/speed.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the page is stale")
    options = parser.parse_args(arguments)
    page = filled(ROOT)
    if not options.check:
        (ROOT / PAGE).write_text(page, encoding="utf-8")
        return 0
    if page != (ROOT / PAGE).read_text(encoding="utf-8"):
        print("speed_page: stale; run python -m tools.speed_page", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

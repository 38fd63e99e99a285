"""Fills the tables of docs/gpu-results.md with the results of the benchmarks: run it after them.

python -m tools.gpu_page            write the tables anew from benchmarks/results/gpu-*.json
python -m tools.gpu_page --check    write nothing; exit 1 if the page differs from the files
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.gpu_contest import NETPART, WAYS
from benchmarks.gpu_results import rows, seconds, shares
from netpart.units import bytes_text, seconds_text
from tools import results_page
from tools.results_page import Json, keep, results
from tools.speed_page import HEAD
from tools.speed_page import line as compared

PAGE = "docs/gpu-results.md"
BRIDGES = "gpu-bridges"
STEP_HEAD = ["net", NETPART, *WAYS, "of the product ceiling", "of the copy ceiling"]


def filled(root: Path) -> str:
    """The page with its tables as the results of ``root`` have them."""
    return results_page.filled((root / PAGE).read_text(encoding="utf-8"), lambda name: table(root, name))


def table(root: Path, name: str) -> str:
    """The tables of one file of results, or a sentence that it is missing."""
    found = results(root, name)
    if found is None:
        return missing(name)
    return "\n".join([about(found), "", *(bridges(found) if name == BRIDGES else precision(found))]) + "\n"


def missing(name: str) -> str:
    """The sentence in place of missing results."""
    command = f"bench-{name}" if name == BRIDGES else f"bench-gpu PRECISION={name.removeprefix('gpu-')}"
    return f"Not measured yet: `make {command}`.\n"


def precision(found: Json) -> list[str]:
    """Steps of all nets, failures, and the comparisons."""
    nets = found["nets"]
    cells = [[f"{net['title']}, batch {net['batch']}", *step_cells(net)] for net in nets.values()]
    failed = [
        f"- {net['title']}, {name}: could not be measured: {why.splitlines()[-1]}"
        for net in nets.values() for name, why in net["failed"].items()
    ]  # fmt: skip
    against = [compared(row.as_json()) for row in rows(nets)]
    return [*markdown(STEP_HEAD, cells), *(["", *failed] if failed else []), "", HEAD, *against]


def step_cells(net: Json) -> list[str]:
    """Seconds of a step by each contender, and fractions of the ceilings."""
    taken = seconds(net)
    times = [seconds_text(taken[name]) if name in taken else "–" for name in (NETPART, *WAYS)]
    reached = [f"{share:.0%}" for share in shares(net).values()] if NETPART in taken else ["–", "–"]
    return [*times, *reached]


def bridges(found: Json) -> list[str]:
    """The table of transports between workers of one GPU."""
    cells = [
        [name, bytes_text(each["bytes"]), seconds_text(each["seconds"]), f"{each['bytes'] / each['seconds'] / 1e9:.1f}"]
        for name, each in found["bridges"].items()
    ]
    lines = markdown(["what", "bytes", "time", "GB/s"], cells)
    return [*lines, *(["", HEAD, *map(compared, found["rows"])] if found["rows"] else [])]


def markdown(head: list[str], cells: list[list[str]]) -> list[str]:
    """A table whose first column is text and whose others are figures."""
    rule = "|".join(["---", *["--:"] * (len(head) - 1)])
    return [f"| {' | '.join(head)} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in cells)]


def about(found: Json) -> str:
    """The conditions of the figures, in one line."""
    packages = ", ".join(f"{name} {version}" for name, version in found["versions"].items() if name != "system")
    return f"{found['date']}, {found['gpu']}, driver {found['driver']}; {packages}."


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status: 0 done or up to date, 1 stale."""
    return keep("gpu_page", lambda root: {PAGE: filled(root)}, arguments)


if __name__ == "__main__":
    sys.exit(main())

"""Fills the tables of docs/speed-results.md with the results of the benchmarks: run it after them.

python -m tools.speed_page            write the tables anew from benchmarks/results/*.json
python -m tools.speed_page --check    write nothing; exit 1 if the page differs from the files
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.load import loaded
from benchmarks.narrow_accuracy import GOAL
from netpart.choices import AUTO
from netpart.units import bytes_text, seconds_text
from tools import results_page
from tools.results_page import Json, about, keep, missing, results

PAGE = "docs/speed-results.md"
HEAD = "| work | compared with | netpart | peer | ratio | goal |\n|---|---|--:|--:|--:|--:|"
SHARES_HEAD = HEAD.replace(" goal |", " goal | of the peak |").replace("--:|--:|--:|--:|", "--:|--:|--:|--:|--:|")
"""With the shares of the GEMM peak that netpart and the peer reach."""

ACCURACY = "narrow-accuracy"
"""The results that are a table of their own."""
OTHER = "cpu-avx2"
"""The results of another machine: their ratios alone, a row for each net."""
COMMANDS = {
    OTHER: "make bench-cpu ARGS='-o benchmarks/results/cpu-avx2.json'",
    "cpu-bfloat16": "make bench-cpu ARGS='--precision bfloat16'",
    ACCURACY: "python -m benchmarks.narrow_accuracy",
}
"""The commands of benchmarks without a make target of their own name."""
THREADS = "1 thread", "2 threads"
ACCURACY_HEAD = "| job | float32, % | bfloat16, % | points | measured |\n|---|---|---|--:|---|"


def filled(root: Path) -> str:
    """The page with its tables as the results of ``root`` have them."""
    return results_page.filled((root / PAGE).read_text(encoding="utf-8"), lambda name: table(root, name))


def table(root: Path, name: str) -> str:
    """The table of one benchmark, with its conditions, or a sentence that it has not been run."""
    found = results(root, name)
    if found is None:
        return missing(name, COMMANDS.get(name, ""))
    return {ACCURACY: accuracy_table, OTHER: ratio_table}.get(name, comparison_table)(found)


def comparison_table(found: Json) -> str:
    """The table of one benchmark, a line for each comparison."""
    shares = any(row.get("shares") for row in found["rows"])
    lines = (line(row) + (share_cell(row) if shares else "") for row in found["rows"])
    return "\n".join([about(found), "", SHARES_HEAD if shares else HEAD, *lines]) + "\n"


def accuracy_table(found: Json) -> str:
    """The table of accuracies in two precisions, in percent, one for each seed."""
    lines = []
    for row in found["rows"]:
        cells = [" ".join(f"{each:.1f}" for each in row[precision]) for precision in ("float32", "bfloat16")]
        missed = " (missed)" if row["points"] < -GOAL else ""
        # A single seed shows nothing of how much is chance.
        error = f" ± {row['standard_error']:.2f}" if len(row["float32"]) > 1 else ""
        apart = f"{row['points']:+.2f}{error}{missed}"
        kernels = "" if row["kernels"] == AUTO else f", {row['kernels']} kernels"
        where = f"{row['date']}, {row['processor']}{kernels}"
        lines.append(f"| {row['work']} | {cells[0]} | {cells[1]} | {apart} | {where} |")
    return "\n".join([ACCURACY_HEAD, *lines]) + "\n"


def ratio_table(found: Json) -> str:
    """The table of one worker's ratios: a line for each net, a cell for each number of threads."""
    cells: dict[str, dict[str, str]] = {}
    for row in found["rows"]:
        work, _, threads = row["work"].rpartition(", ")
        if row["against"].startswith("PyTorch") and threads in THREADS:
            parts = ratio_text(row), *([shares_text(row)] if row.get("shares") else [])
            cells.setdefault(work, {})[threads] = "; ".join(parts)
    lines = (f"| {work} | {' | '.join(each.get(n, '–') for n in THREADS)} |" for work, each in cells.items())
    head = f"| net | {' | '.join(THREADS)} |\n|---|{'--:|' * len(THREADS)}"
    return "\n".join([about(found), "", head, *lines]) + "\n"


def share_cell(row: Json) -> str:
    """The cell of the shares of the GEMM peak."""
    return f" {shares_text(row) or '–'} |"


def shares_text(row: Json) -> str:
    """The shares of the GEMM peak that netpart and the peer reach; "" if the row has none."""
    return " / ".join(f"{share:.2f}" for share in row.get("shares", ()))


def line(row: Json) -> str:
    """One comparison."""
    ours, theirs = (value(row[who], row["unit"]) for who in ("netpart", "peer"))
    goal = "–" if row["goal"] is None else f"{row['goal']:.2f}"
    return f"| {row['work']} | {row['against']} | {ours} | {theirs} | {ratio_text(row)} | {goal} |"


def ratio_text(row: Json) -> str:
    """A ratio, with the range of its runs, and with marks if it missed its goal or others used the machine."""
    missed = row["goal"] is not None and row["ratio"] < row["goal"]
    runs = row.get("runs", ())
    spread = f" ({min(runs):.2f}–{max(runs):.2f})" if runs else ""
    busy = f" (busy: {row['load']:.1f} cores)" if loaded(row.get("load")) else ""
    return f"{row['ratio']:.2f}{spread}{' (missed)' if missed else ''}{busy}"


def value(number: float, unit: str) -> str:
    """A figure in its unit."""
    if unit == "B":
        return bytes_text(number)
    return seconds_text(number) if unit.split("/")[0] == "s" else f"{number:.2f} {unit}"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status: 0 done or up to date, 1 stale."""
    return keep("speed_page", lambda root: {PAGE: filled(root)}, arguments)


if __name__ == "__main__":
    sys.exit(main())

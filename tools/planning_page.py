"""Fills the tables of docs/planning.md with the results of its benchmarks: run it last.

python -m tools.planning_page            write the tables anew from benchmarks/results
python -m tools.planning_page --check    write nothing; exit 1 if the page differs from the files
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from benchmarks.optimal import DEVICES
from netpart.plan.search.planners import OPTIMAL
from netpart.units import seconds_text
from tools import results_page
from tools.planning_measured import chosen_table, predicted_table
from tools.results_page import Json, about, keep, results
from tools.scale_table import scale_table

PAGE = "docs/planning.md"
MEASURED = {"choices": chosen_table, "predictions": predicted_table}
COUNTS = 2, 8
HEAD = ["net", "layers", *(f"{kind}, {workers}" for workers in COUNTS for kind in DEVICES), "largest gap", "search"]


def filled(root: Path) -> str:
    """The page with its tables as the results of ``root`` have them."""
    return results_page.filled((root / PAGE).read_text(encoding="utf-8"), partial(table, root))


def table(root: Path, name: str) -> str:
    """The table of all nets and the sentences below it."""
    found = results(root, name)
    if name in MEASURED:
        return MEASURED[name](found)
    if found is None:
        return f"Not measured yet: `python -m benchmarks.{name}`.\n"
    if name == "scale":
        return scale_table(found)
    rows = found["rows"]
    lines = [_net_line(list(of_net)) for _, of_net in groupby(rows, key=lambda row: row["net"])]
    return "\n".join(["", *_heading(), *lines, "", *_verdict(rows), "", about(found), ""])


def _heading() -> Iterator[str]:
    yield f"| {' | '.join(HEAD)} |"
    yield f"|---{'|--:' * (len(HEAD) - 1)}|"


def _net_line(rows: Sequence[Json]) -> str:
    """The line of a net: a cell for each number of workers and kind of devices."""
    cells = {(row["workers"], row["devices"]): _case_cell(row) for row in rows}
    gap = max(row["gap"] for row in rows)
    search = max(row["search"] for row in rows)
    found = [cells.get((workers, kind), "–") for workers in COUNTS for kind in DEVICES]
    return f"| {' | '.join([rows[0]['net'], str(rows[0]['layers']), *found, f'{gap:.2%}', f'{search:.0f} s'])} |"


def _case_cell(row: Json) -> str:
    """The simulated step of `optimal`, and how much longer the best other plan takes."""
    return f"{seconds_text(row[OPTIMAL][1])}, {_next_best(row) - 1:+.1%}"


def _next_best(row: Json) -> float:
    """The best of other rows and plans by hand over `optimal`: simulated, or predicted for those far from best."""
    told, played = row[OPTIMAL]
    others = [each for each in (row["others"] | row["hand"]).values() if not isinstance(each, str)]
    return float(min(simulated / played if simulated else predicted / told for predicted, simulated in others))


def _verdict(rows: Sequence[Json]) -> Iterator[str]:
    """What holds of all cases."""
    worse = [row for row in rows if row["worse"]]
    yield f"In {len(worse) or 'none'} of these {len(rows)} cases a row or a plan by hand takes less than *optimal*."
    told = [row for row in rows if row["worse"] or row["predicted worse"]]
    if told:
        yield f"In {len(told)} of them one takes less by prediction or by simulation:"
        yield ""
        yield from (_told_line(row) for row in told)


def _told_line(row: Json) -> str:
    """A case in which other plans take less: how much, by prediction and by simulation."""
    plans = row["others"] | row["hand"]
    told, played = row[OPTIMAL]
    texts = (
        f"{name} predicted {plans[name][0] / told - 1:+.2%}, simulated {plans[name][1] / played - 1:+.2%}"
        for name in dict.fromkeys(each.rpartition(" ")[0] for each in row["predicted worse"] + row["worse"])
    )
    return f"- {row['net']}, {row['devices']}, {row['workers']} workers: {'; '.join(texts)}"


def fresh(root: Path) -> dict[str, str]:
    """The page: path -> content."""
    return {PAGE: filled(root)}


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status: 0 done or up to date, 1 stale."""
    return keep("planning_page", fresh, arguments)


if __name__ == "__main__":
    sys.exit(main())

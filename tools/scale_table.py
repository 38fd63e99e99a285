"""The table of docs/planning.md with the processor time of planning for many workers, from benchmarks.scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from benchmarks.scale import LIMITS, MOST_MIB, VERBS
from benchmarks.zoo_nets import NETS
from tools.results_page import Json, about

HEAD = ["net", "workers", *(f"`{verb}`" for verb in VERBS), "most MiB"]


def scale_table(found: Json) -> str:
    """The table, and what it misses."""
    rows = sorted(found["rows"], key=lambda row: (list(NETS).index(row["net"]), row["workers"]))
    lines = [_net_line(list(of_net)) for _, of_net in groupby(rows, key=itemgetter("net", "workers"))]
    heading = [f"| {' | '.join(HEAD)} |", f"|---{'|--:' * (len(HEAD) - 1)}|"]
    return "\n".join(["", *heading, *lines, "", *_verdict(rows), "", about(found), ""])


def _net_line(rows: Sequence[Json]) -> str:
    """The line of a net and a number of workers."""
    cells = {row["verb"]: row for row in rows}
    seconds = [_seconds_cell(cells[verb]) if verb in cells else "–" for verb in VERBS]
    most = max((row["mib"] for row in rows if "mib" in row), default=None)
    first = rows[0]["net"], f"{rows[0]['workers']:,}"
    return f"| {' | '.join([*first, *seconds, '–' if most is None else f'{most:,}'])} |"


def _seconds_cell(row: Json) -> str:
    """The seconds of a verb; that it was ended, or refused."""
    if "seconds" in row:
        return f"{row['seconds']:.1f}"
    return f"> {row['ended_after']:.0f}" if "ended_after" in row else "refused"


def _missed_figure(row: Json) -> str:
    """The seconds or the memory that is over the goal."""
    return f"{row['mib']:,} MiB" if row.get("mib", 0) > MOST_MIB else _seconds_cell(row)


def _verdict(rows: Sequence[Json]) -> Iterator[str]:
    """How many figures are within the goals, and which are not."""
    for workers, limit in LIMITS.items():
        of = [row for row in rows if row["workers"] == workers]
        over = [f"`{row['verb']}` of {row['net']} {_missed_figure(row)}" for row in of if not row["within"]]
        if of:
            told = f"; over it: {', '.join(over)}" if over else ""
            able = f"{len(of) - len(over)} of {len(of)} figures"
            yield f"- {workers:,} workers: {able} within {limit:g} s and {MOST_MIB:,} MiB{told}."

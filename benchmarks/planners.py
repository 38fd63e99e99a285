"""Gaps of GABRA and the other planners to proved bounds, on random heterogeneous problems.

    python -m benchmarks.planners            100 problems; benchmarks/results/planners.json, out/planners.json has each
    python -m benchmarks.planners heuristics only the heuristics again, with CP-SAT's results of out/planners.json
    python -m benchmarks.planners 5          as many problems, and no file

Each problem has 50 partitions and 8 devices of different speeds, whose capacities are in proportion to the speeds and
70 to 95 % full. Gaps are those to the closed-form bound, which no plan can beat, or to the bound that CP-SAT proves if
that is nearer. CP-SAT has five seconds, and starts from GREEDY's plan. The seconds of heuristics are the processor time
of one core, which excludes other work on the machine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.rows import RESULTS as FOLDER
from benchmarks.rows import write_report
from netpart.choices import MAKESPAN, OBJECTIVES, PROFIT
from netpart.errors import ConfigError
from netpart.plan.search.exact import solve_exactly
from netpart.plan.search.gabra import run_gabra
from netpart.plan.search.greedy import allocate_greedily
from netpart.plan.search.knapsacks import Knapsacks, Plan

PARTITIONS = 50
DEVICES = 8
PROBLEMS = 100
LIMIT = 5.0
PACKAGES = ("netpart", "numpy", "ortools")
HEURISTICS: dict[str, Callable[[Knapsacks], Plan]] = {
    "greedy": allocate_greedily,
    "gabra": lambda problem: run_gabra(problem).plan,
}
MOST_GAP = 0.01
MOST_BEHIND = 0.02
MOST_SECONDS = 5.0
"""The limits: GABRA's mean gap on the profit, the best heuristic's gap to CP-SAT on the makespan, GABRA's seconds."""
RESULTS = FOLDER / "planners.json"
"""The figures of docs/planning.md, and what they depend on."""
ROWS = Path(__file__).resolve().parents[1] / "out" / "planners.json"
"""Every problem of the last whole run on this machine: 100 kB that git ignores."""

Row = dict[str, Any]


def problem_of(seed: int) -> Knapsacks:
    """One random problem."""
    random = np.random.default_rng(seed)
    loads, speeds = random.integers(10, 1000, PARTITIONS).astype(float), random.uniform(1, 8, DEVICES)
    capacities = speeds / speeds.sum() * loads.sum() / random.uniform(0.70, 0.95)
    return Knapsacks(loads, capacities, speeds)


def measure(seed: int, objective: str) -> Row:
    """Run every planner on one problem: value, legality, gap to the proved bound, seconds."""
    problem = replace(problem_of(seed), objective=objective)
    fill = problem.loads.sum() / problem.capacities.sum()
    started = perf_counter()
    proof = solve_exactly(problem, LIMIT, allocate_greedily(problem))
    row = {"seed": seed, "objective": objective, "fill": round(float(fill), 4), "bound": problem.bound}
    row["exact"] = plan_row(problem, proof.plan, perf_counter() - started, proof.bound) | {"proved": proof.bound}
    return anew(row)


def anew(row: Row) -> Row:
    """``row`` with its heuristics measured again."""
    problem = replace(problem_of(row["seed"]), objective=row["objective"])
    for name, planner in HEURISTICS.items():
        started = process_time()
        plan = planner(problem)
        row[name] = plan_row(problem, plan, process_time() - started, row["exact"]["proved"])
    return row


def plan_row(problem: Knapsacks, plan: Plan, seconds: float, proved: float) -> Row:
    """The figures of one plan."""
    value = problem.value(plan)
    figures = {"value": value, "legal": problem.is_legal(plan), "seconds": round(seconds, 3)}
    return figures | {"gap": problem.gap(value, proved)}


def gap_to_exact(row: Row) -> float:
    """The relative gap of the best heuristic to CP-SAT's plan on the makespan; negative if the heuristic is better."""
    best = min(row[name]["value"] for name in HEURISTICS)
    return float(best / row["exact"]["value"] - 1)


def summary(rows: list[Row]) -> Row:
    """Summarise all problems."""
    found: Row = {}
    for objective in OBJECTIVES:
        of = [row for row in rows if row["objective"] == objective]
        for name in ("exact", *HEURISTICS):
            gaps, seconds = [row[name]["gap"] for row in of], [row[name]["seconds"] for row in of]
            found[f"{name} {objective}"] = {
                "legal": sum(row[name]["legal"] for row in of), "mean_gap": float(np.mean(gaps)),
                "largest_gap": max(gaps), "mean_seconds": float(np.mean(seconds)), "most_seconds": max(seconds),
            }  # fmt: skip
    found["best heuristic behind CP-SAT on the makespan"] = max(
        gap_to_exact(r) for r in rows if r["objective"] == MAKESPAN
    )
    return found


def missed(found: Row, problems: int) -> list[str]:
    """The missed goals."""
    goals = {
        "every plan legal": all(found[f"gabra {objective}"]["legal"] == problems for objective in OBJECTIVES),
        "gap on the profit": found[f"gabra {PROFIT}"]["mean_gap"] <= MOST_GAP,
        "time": max(found[f"gabra {objective}"]["most_seconds"] for objective in OBJECTIVES) <= MOST_SECONDS,
        "makespan": found["best heuristic behind CP-SAT on the makespan"] <= MOST_BEHIND,
    }
    return [goal for goal, reached in goals.items() if not reached]


def print_summary(found: Row) -> None:
    """The summary as a table."""
    print(f"{'':18}{'legal':>6}{'mean gap':>10}{'largest':>10}{'mean time':>11}{'longest':>10}")
    for name, figures in found.items():
        if isinstance(figures, dict):
            gaps = f"{figures['mean_gap']:>10.4%}{figures['largest_gap']:>10.4%}"
            times = f"{figures['mean_seconds']:>9.2f} s{figures['most_seconds']:>8.2f} s"
            print(f"{name:18}{figures['legal']:>6}{gaps}{times}")
        else:
            print(f"{name}: {figures:.4%}")


def measured(wanted: str) -> list[Row]:
    """Measure as many problems as are ``wanted``, or the heuristics of the last whole run again."""
    if wanted == "heuristics":
        return [anew(row) for row in rows_of(ROWS)]
    return [measure(seed, objective) for seed in range(int(wanted)) for objective in OBJECTIVES]


def rows_of(path: Path) -> list[Row]:
    """Every problem of the last whole run; raises ConfigError if there was none."""
    if not path.exists():
        raise ConfigError(str(path), "what `make bench-planners` leaves there", "no file", "run that first: 20 minutes")
    rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return rows


def keep(rows: list[Row], found: Row) -> None:
    """Write the summary, which is committed, and the rows of all problems, which git ignores."""
    settings = {"partitions": PARTITIONS, "devices": DEVICES, "problems": PROBLEMS, "cp_sat_seconds": LIMIT}
    write_report(RESULTS, PACKAGES, {"settings": settings, "summary": found})
    write_report(ROWS, PACKAGES, {"settings": settings, "rows": rows})


def main() -> int:
    """Measure, print, and write the summary; 1 if a goal is missed, 2 if there are no rows yet."""
    try:
        rows = measured(sys.argv[1] if sys.argv[1:] else str(PROBLEMS))
    except ConfigError as error:
        print(f"benchmarks.planners: {error}", file=sys.stderr)
        return 2
    found = summary(rows)
    print_summary(found)
    if len(rows) == PROBLEMS * len(OBJECTIVES):
        keep(rows, found)
    goals = missed(found, len(rows) // len(OBJECTIVES))
    print(f"missed: {', '.join(goals)}" if goals else "all goals reached")
    return int(bool(goals))


if __name__ == "__main__":
    sys.exit(main())

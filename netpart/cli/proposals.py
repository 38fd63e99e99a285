"""Tables of the proposals that netpart plan prints, and the same as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netpart.plan.search.portfolio import Portfolio
    from netpart.plan.search.proposal import ProposalRow as Proposed
    from netpart.plan.search.task import PlanningTask
    from netpart.proto.reader import Job

PLANS = ("", "plan", ">micro", ">a step takes")
PREDICTED = (">predicted",)
FIGURES = (">gap", ">moves", ">most memory", ">profit", ">gap", ">makespan", ">gap")
BLOCKS = (">block", "layers", ">work", "device")
FOOTNOTE = """* marks the chosen plan. The gap of a step is the distance to perfect balance without messages. The gaps
of profit (equation 5, larger is better) and makespan (of the blocks of a mini-batch, smaller is better) are distances
to the proved bounds. Memory is that of the worker with the most."""
PLAYED = """
Steps with a prediction beside them are simulated, message by message; all others are as predicted."""
LEAST = """
"At least": a step of this plan takes no less, so it is not the fastest, and not worked out."""
LATE = " Those with less than the\nchosen plan are not worked out for lack of time: a larger --limit tries them."
UNTRIED = "\n{} of micro-batches, variants and groups {} not tried for lack of time: a larger --limit tries {}."
AGAIN = ' "again": activations are computed again, as there is not enough memory to keep them.'


def print_plans_json(task: PlanningTask, portfolio: Portfolio, best: Proposed) -> None:
    """Print the devices, the blocks and the table as one JSON object."""
    from dataclasses import asdict

    layers = task.profile.layers
    blocks = [{"layers": [layers[i].name for i in block.layers], "work": block.work} for block in task.blocks]
    devices = [{k: None if v == float("inf") else v for k, v in asdict(d).items()} for d in task.devices.devices]
    # JSON has no infinity: the unlimited memory of a device is null, and a refused plan has no such figure at all.
    rows = [{k: v for k, v in asdict(row).items() if v != float("inf")} for row in portfolio.rows]
    print(json.dumps({"devices": devices, "blocks": blocks, "plans": rows, "best": best.name}, indent=2))


def print_plan_tables(job: Job, portfolio: Portfolio, best: Proposed, objective: str | None) -> None:
    """Print the title, the blocks as allocated for ``objective`` (None: omit them), and the table of proposals."""
    from netpart.cli.table import TextTable

    print(_planning_title(job, portfolio.task), end="\n\n")
    if objective:
        TextTable(BLOCKS, list(_block_cells(portfolio, objective))).print()
        print()
    able = [row for row in portfolio.rows if not row.refused]
    devices = len(portfolio.task.devices)
    simulated = any(row.predicted is not None for row in able)
    head = (*PLANS, *PREDICTED * simulated, *FIGURES)
    TextTable(head, [_proposal_cells(row, row is best, devices, simulated) for row in able]).print()
    notes = AGAIN * any(row.recompute for row in able) + _floor_text(able) + PLAYED * simulated
    print(f"\n{FOOTNOTE}{notes}{_proof_text(able)}{_untried_text(portfolio.untried)}")
    if refused := _refusal_lines(portfolio):
        print("\n".join(["", *refused]))


def _floor_text(rows: list[Proposed]) -> str:
    """What rows with only a floor mean; "" without one."""
    floors = [row.seconds for row in rows if row.is_floor]
    known = min((row.seconds for row in rows if row.usable), default=0.0)
    return LEAST * bool(floors) + LATE * (min(floors, default=known) < known)


def _untried_text(count: int) -> str:
    """What the limit left out, as a sentence; "" if nothing."""
    from netpart.units import plural_text

    if not count:
        return ""
    return UNTRIED.format(plural_text(count, "combination"), *(("is", "it") if count == 1 else ("are", "them")))


def _proof_text(rows: list[Proposed]) -> str:
    """What is proved of the best plan, as a sentence; "" if nothing is."""
    from netpart.units import seconds_text

    proof = next((row.proof for row in rows if row.proof), None)
    if proof is None:
        return ""
    what = "no placement of the layers takes less than" if proof.proved else "the search expects no less than"
    return (
        f"\nOptimal: if all workers wait for each other after every layer, {what}\n{seconds_text(proof.bound)}; the"
        f" best plan of the search takes {proof.gap:.2%} more."
    )


def _refusal_lines(portfolio: Portfolio) -> list[str]:
    """The searches that have only what others found, and the refused proposals: one line per reason."""
    named: dict[str, list[str]] = {}
    for row in portfolio.rows:
        if row.refused:
            named.setdefault(row.refused, []).append(row.name)
    able = {name for row in portfolio.rows if not row.refused for name in row.name.split(", ")}
    adopted = [
        f"{name} is not searched, and is the fastest of the others: {reason.removeprefix(f'{name}: ')}"
        for name, reason in portfolio.adopting.items()
        if name in able
    ]
    return adopted + [
        f"not {shorten_plan_name(', '.join(names))}: {reason.removeprefix(f'{names[0]}: ')}"
        for reason, names in named.items()
    ]


def _planning_title(job: Job, task: PlanningTask) -> str:
    """The title line: the job's name, layers, blocks and devices."""
    from netpart.units import count_text, plural_text

    kinds = {(d.name, d.speed): 0 for d in task.devices.devices}
    for device in task.devices.devices:
        kinds[device.name, device.speed] += 1
    named = ", ".join(f"{n} × {name} at {count_text(speed)}FLOP/s" for (name, speed), n in kinds.items())
    layers = plural_text(len(task.profile.layers), "layer")
    blocks = plural_text(len(task.blocks), "block")
    return f"{job.name}: {layers} in {blocks} on {named}"


def _block_cells(portfolio: Portfolio, objective: str) -> Any:
    """The cells of each block, with the devices that the best allocation for ``objective`` assigns to it."""
    task = portfolio.task
    plan = portfolio.allocated(objective)
    for i, block in enumerate(task.blocks):
        names = [task.profile.layers[k].name for k in block.layers]
        layers = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
        yield (
            str(i),
            layers,
            f"{block.work / task.profile.work:.1%}",
            "-" if plan is None else _device_group_text(task, plan[i]),
        )


def _device_group_text(task: PlanningTask, workers: tuple[int, ...]) -> str:
    """A group of devices as text: the numbers of its workers and the device's name."""
    return f"{', '.join(map(str, workers))} {task.devices.devices[workers[0]].name}"


def _proposal_cells(row: Proposed, best: bool, devices: int, simulated: bool) -> tuple[str, ...]:
    """The cells of one proposal, with a cell for its prediction if some are ``simulated``. If it leaves some of the
    ``devices`` without a part, its name lists the others; of an allocator it has the size of the groups of devices."""
    from netpart.cli.check import workers_text
    from netpart.units import bytes_text, seconds_text

    profit = (f"{row.profit[0]:.4g}", f"{row.profit[1]:.2%}") if row.profit else ("-", "-")
    makespan = (seconds_text(row.makespan[0]), f"{row.makespan[1]:.2%}") if row.makespan else ("-", "-")
    told = "-" if row.predicted is None else seconds_text(row.predicted)
    least = "at least " * row.is_floor
    step = f"{least}{seconds_text(row.seconds)}", *(told,) * simulated
    known = bytes_text(row.moved), bytes_text(max(row.memory, default=0))
    figures = f"{row.gap:.1%}", *(("-", "-") if row.is_floor else known)
    pieces = f"{row.micro_batches}{' again' if row.recompute else ''}"
    on = f" on {workers_text(row.workers)}" if row.workers and len(row.workers) < devices else ""
    on = f" in groups of {row.group}{on}" if row.group > 1 else on
    return "*" if best else "", shorten_plan_name(row.name) + on, pieces, *step, *figures, *profit, *makespan


def shorten_plan_name(name: str) -> str:
    """Shorten the names of a row's planners by naming each objective once: ``greedy+gabra profit+makespan``."""
    allocators: dict[str, list[str]] = {}
    others = []
    for one in name.split(", "):
        planner, _, objective = one.rpartition(" ")
        if objective in ("profit", "makespan"):
            allocators.setdefault(objective, []).append(planner)
        else:
            others.append(one)
    alike: dict[str, list[str]] = {}
    for objective, planners in allocators.items():
        alike.setdefault("+".join(planners), []).append(objective)
    return ", ".join(others + [f"{planners} {'+'.join(objectives)}" for planners, objectives in alike.items()])

"""netpart check: the size and the cost of a job, layer by layer and worker by worker, before it runs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from netpart.choices import LOCAL

if TYPE_CHECKING:
    from netpart.errors import JobError
    from netpart.graph.partition import Partition
    from netpart.launch.snapshots.forecast import SnapshotMemory
    from netpart.measure.epoch_size import EpochSize
    from netpart.plan.price.group_traffic import GroupTraffic
    from netpart.plan.text import plan_table as plan
    from netpart.plan.text.plan_table import LayerRow, WorkerRow
    from netpart.proto.reader import Job

HELP = "show each layer's shape, cut, parameters, FLOPs, bytes moved and memory, or the errors of the job"
LAYERS = ("layer", "type", "shape", "cut", "workers", ">parameters", ">FLOPs", ">moved", ">memory")
SNAPSHOTS = (">worker", ">copies", ">takes", ">sends", ">memory")
WORKERS = (">worker", ">parts", ">parameters", ">FLOPs", ">share", ">sends", ">memory")

FOOTNOTE = """FLOPs and bytes are those of one training step. A worker's memory holds values, gradients, parameters,
messages in flight, the workspace of its CPU kernels, and copies to write checkpoints from. Layers reuse each other's
space, so a worker needs less than the sum of its layers. It is that of one host: sealed links to others take more,
which the first line of a run has."""


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    from netpart.cli.common import add_job_options
    from netpart.cli.launch_options import add_elastic_options

    parser: argparse.ArgumentParser = subparsers.add_parser("check", help=HELP, description=HELP)
    add_job_options(parser)
    add_elastic_options(parser)
    parser.add_argument("--json", action="store_true", help="print everything as JSON, in bytes and FLOPs")
    return parser


def run_verb(args: argparse.Namespace) -> int:
    """Compute the cost of the job and print it. Returns 0 if the job has no errors, else ``_failures_exit_code``.

    What only ``netpart run`` refuses is a warning: data files that do not exist yet, no loss, no number of training
    steps.
    """
    from netpart.cli.common import load_job
    from netpart.cli.launch_options import set_elastic
    from netpart.cli.progress_line import show_progress
    from netpart.cli.table import print_epoch_table
    from netpart.graph.partition import keep_objects
    from netpart.graph.server_pieces import add_job_servers
    from netpart.graph.uncomputed import uncomputed_warnings
    from netpart.measure.epoch_size import tabulate_epochs
    from netpart.plan.partition import partition_by_scheme
    from netpart.plan.price.group_traffic import predict_group_traffic
    from netpart.plan.text.advice import partition_warnings, recut_warnings
    from netpart.plan.text.plan_table import tabulate_partition

    # Without warnings on stderr: they are collected below, since --json prints them as part of its object.
    job = load_job(args, provide=False, warn=False)
    set_elastic(job.proto, args)
    with show_progress("cutting the net"), keep_objects():
        cut = partition_by_scheme(job.proto, job.worker_count, job.folder, compact=True)
        failures, absent = _find_failures(job, cut)
        warnings = [
            *uncomputed_warnings(job),
            *recut_warnings(job, cut.workers),
            *partition_warnings(cut, job),
            *map(_missing_data_warning, absent),
        ]
        table = tabulate_partition(cut)
        errors = [error.line() for error in failures]
        groups = predict_group_traffic(add_job_servers(cut))
        epochs = tabulate_epochs(cut, [*failures, *absent])
        snapshots = _forecast_snapshots(cut)
    if args.json:
        _print_check_json(table, epochs, warnings, errors, groups, snapshots)
    else:
        _print_check_tables(table)
        _print_snapshots(snapshots)
        print_epoch_table(epochs)
        _print_messages("groups", [f"{groups}"] if groups else [])
        _print_messages("warning", warnings)
        _print_messages("error", errors)
    return _failures_exit_code(failures)


def _find_failures(job: Job, cut: Partition) -> tuple[list[JobError], list[JobError]]:
    """The errors that keep the job from running, and the data files that are missing; both with their positions."""
    from netpart.errors import FaultList, MissingData, combine_faults
    from netpart.graph.ready import find_run_faults
    from netpart.launch.report.workspace import job_workspace
    from netpart.launch.run_options import find_start_checkpoint
    from netpart.worker.initial_values import restored_names

    known = FaultList()
    names = frozenset(parameter.name for parameter in cut.parameters)
    # If the checkpoint cannot be read, that is the only error: assume that it holds every parameter, so that none is
    # also reported for a missing initial value.
    with known.collecting():
        names = frozenset(restored_names(find_start_checkpoint(job.proto, job_workspace(job.proto) / "checkpoint")[0]))
    every = [*known.found, *find_run_faults(cut, names)]
    once = job.explain(combine_faults(every)).faults if every else ()  # phases may read the same data
    return [e for e in once if not isinstance(e, MissingData)], [e for e in once if isinstance(e, MissingData)]


def _forecast_snapshots(cut: Partition) -> list[SnapshotMemory]:
    """The memory of the snapshots of an elastic run, with all workers on one host; [] for other runs."""
    if not cut.job.HasField("elastic"):
        return []
    from netpart.graph.saved_holdings import assign_checkpoint_writes
    from netpart.launch.control.elastic_choice import refuse_inelastic
    from netpart.launch.snapshots.duties import assign_duties
    from netpart.launch.snapshots.forecast import forecast_snapshots

    refuse_inelastic(cut.job, cut.workers, LOCAL)
    return forecast_snapshots(cut, assign_duties(cut, assign_checkpoint_writes(cut), [""] * cut.workers))


def _print_snapshots(snapshots: Sequence[SnapshotMemory]) -> None:
    """Print what snapshots take on each worker."""
    from netpart.cli.table import TextTable
    from netpart.units import bytes_text

    if snapshots:
        print("\nSnapshots; a worker keeps two of them, and messages on their way, in addition to the memory above:\n")
        cells = [(r.worker, *map(bytes_text, (r.copied, r.taken, r.sent, r.memory))) for r in snapshots]
        TextTable(SNAPSHOTS, [tuple(map(str, row)) for row in cells]).print()


def _missing_data_warning(error: JobError) -> str:
    """The warning for a missing data file: planning does not need it, training does."""
    return f"{error.line()}; `netpart run` needs it"


def _failures_exit_code(failures: Sequence[Exception]) -> int:
    """The exit code: 0 without failures, 2 if one of them is in the job, 1 if all are in its data."""
    from netpart.errors import ConfigError

    return 0 if not failures else 2 if any(isinstance(error, ConfigError) for error in failures) else 1


def _print_check_json(
    table: plan.PlanTable, epochs: Sequence[EpochSize], warnings: list[str], errors: list[str],
    groups: GroupTraffic | None, snapshots: list[SnapshotMemory],
) -> None:  # fmt: skip
    """Print the tables, the warnings, the errors, the traffic between groups and snapshots as one JSON object."""
    from dataclasses import asdict

    found = {**asdict(table), "inputs": [asdict(epoch) for epoch in epochs], "warnings": warnings, "errors": errors}
    found |= {"groups": asdict(groups)} if groups else {}
    found |= {"snapshots": [asdict(row) for row in snapshots]} if snapshots else {}
    print(json.dumps(found, indent=2, ensure_ascii=False))


def _print_check_tables(table: plan.PlanTable) -> None:
    """Print the title, the table of layers, the table of workers and the notes below them."""
    from netpart.cli.table import TextTable
    from netpart.units import bytes_text, count_text

    print(_checked_job_title(table), end="\n\n")
    memory = sum(row.memory for row in table.layers)
    totals = ("total", "", "", "", "", f"{table.parameters:,}", count_text(table.flops), _moved_text(table.moved))
    TextTable(LAYERS, [_layer_cost_cells(row) for row in table.layers], (*totals, bytes_text(memory))).print()
    print()
    TextTable(WORKERS, [_worker_cost_cells(row, table.flops) for row in table.workers]).print()
    if table.multiply_adds:
        print(f"\n{count_text(table.multiply_adds)} multiply-adds a row, in products and convolutions forward.")
    if table.recomputed_flops:
        share = table.recomputed_flops / table.flops
        print(f"\n{count_text(table.recomputed_flops)} of the FLOPs ({share:.1%}) compute activations again.")
    _print_parameter_versions(table)
    print(f"\n{FOOTNOTE} {_process_text(table)}")


def _process_text(table: plan.PlanTable) -> str:
    """What a process takes besides the memory of its worker."""
    from netpart.units import bytes_text

    bound = max((row.bound_bytes for row in table.workers), default=0)
    kept = f"at most {bytes_text(bound)} for bound instructions and kernels, and " if bound else ""
    return f"Its process takes besides\n{kept}about 36 MiB for Python, NumPy and the library of kernels."


def _print_parameter_versions(table: plan.PlanTable) -> None:
    """Print how many versions of their parameters delayed pipeline stages hold, if there are such stages."""
    from netpart.units import bytes_text

    held = [f"{row.versions} on worker {row.worker}" for row in table.workers if row.versions > 1]
    if held:
        nbytes = bytes_text(sum(row.version_bytes for row in table.workers))
        print(f"\nVersions of the parameters: {', '.join(held)}; all but the newest take {nbytes}.")


def _checked_job_title(table: plan.PlanTable) -> str:
    """The title line: the job's name, layers, workers, batch and kernels."""
    from netpart.units import plural_text

    layers = len(table.layers)
    workers = len(table.workers)
    micro = table.micro_batches
    pieces = f" in {micro} micro-batches" if micro > 1 else ""
    cut = f"{plural_text(layers, 'layer')} on {plural_text(workers, 'worker')}, batch {table.rows}{pieces}"
    return f"{table.name}: {cut}, {table.kernels}"


def _layer_cost_cells(row: LayerRow) -> tuple[str, ...]:
    """The cells of one layer's row."""
    from netpart.units import bytes_text, count_text

    shape = "×".join(map(str, row.shape)) or "records"
    parameters = f"{row.parameters:,}" if row.parameters else "-"
    flops = count_text(row.flops) if row.flops else "-"
    workers = workers_text(row.workers)
    return (
        row.name,
        row.type,
        shape,
        row.cut,
        workers,
        parameters,
        flops,
        _moved_text(row.moved),
        bytes_text(row.memory),
    )


def _worker_cost_cells(row: WorkerRow, flops: int) -> tuple[str, ...]:
    """The cells of one worker's row."""
    from netpart.units import bytes_text, count_text

    share = f"{row.flops / flops:.1%}" if flops else "-"
    counts = str(row.worker), str(row.parts), f"{row.parameters:,}", count_text(row.flops), share
    return *counts, _moved_text(row.sent), bytes_text(row.memory)


def _moved_text(count: int) -> str:
    """The bytes that cross workers as text, "-" for none."""
    from netpart.units import bytes_text

    return bytes_text(count) if count else "-"


def workers_text(workers: tuple[int, ...]) -> str:
    """Worker numbers as text: ``0-2`` for more than two consecutive ones, ``0,2,5`` otherwise."""
    if len(workers) > 2 and workers[-1] - workers[0] == len(workers) - 1:
        return f"{workers[0]}-{workers[-1]}"
    return ",".join(map(str, workers))


def _print_messages(kind: str, messages: list[str]) -> None:
    """Print ``messages`` after an empty line, one per line and each with ``kind`` before it."""
    if messages:
        print("", *(f"{kind}: {message}" for message in messages), sep="\n")

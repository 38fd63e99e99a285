"""netpart profile: measures the time and memory of training steps, layer by layer and worker by worker."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.choices import LOCAL_LAUNCHERS

if TYPE_CHECKING:
    from netpart.measure.data_waits import DataWait
    from netpart.measure.profile import ProfiledRun
    from netpart.measure.step_profile import LayerTime, StepProfile, WorkerMemory, WorkerTime

HELP = "run some training steps on real workers, and show their time and memory by layer and by worker"
LAYERS = ("layer", "type", ">forward", ">backward", ">update", ">share", ">FLOPs", ">GFLOP/s")
WORKERS = (
    ">worker", ">step", ">reading", ">forward", ">backward", ">update", ">moving", ">talking", ">waiting", ">other",
    ">travelling", ">overlapped",
)  # fmt: skip
LARGEST = 8
"""Number of buffers that are named of those in use at a worker's memory peak."""

FOOTNOTE = """All times are medians over the steps. A layer's times are those of the worker that needs longest for it;
its share is relative to the sum over all layers; GFLOP/s are those of one worker while it computes the layer.
reading     waiting for rows of the data that were not read ahead, and copying them; of a layer it is forward
moving      copying, adding and clearing within a worker
talking     sending messages and reading received ones
travelling  time for which messages to or from the worker were in flight
overlapped  share of travelling during which the worker computed"""


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    from netpart.cli.common import add_job_options, add_transport_option, parse_positive
    from netpart.cli.threads import add_threads_option

    parser: argparse.ArgumentParser = subparsers.add_parser("profile", help=HELP, description=HELP)
    add_job_options(parser)
    add_threads_option(parser)
    parser.add_argument(
        "--steps", type=parse_positive, default=10, metavar="K", help="number of measured steps (default: 10)"
    )
    parser.add_argument(
        "--launcher", choices=LOCAL_LAUNCHERS, default=LOCAL_LAUNCHERS[0],
        help="local: a process per worker; threads: a thread per worker (default: local)",
    )  # fmt: skip
    add_transport_option(parser)
    add_output_options(parser, "traced")
    return parser


def add_output_options(parser: argparse.ArgumentParser, done: str) -> None:
    """Add the options of the output; ``done`` is the verb's word for what it recorded, e.g. "traced"."""
    parser.add_argument("--json", action="store_true", help="print everything as JSON, in seconds, bytes and FLOPs")
    parser.add_argument(
        "-o", "--output", type=_parse_trace_path, metavar="F.json|F.svg",
        help=f"write the {done} steps: F.json has all of them, for ui.perfetto.dev; F.svg draws the median step",
    )  # fmt: skip


def _parse_trace_path(text: str) -> Path:
    """Parse --output. Raises ArgumentTypeError for a name with another ending than .json or .svg."""
    path = Path(text)
    if path.suffix not in (".json", ".svg"):
        raise argparse.ArgumentTypeError(f"expected a name that ends with .json or .svg, got {text!r}")
    return path


def run_verb(args: argparse.Namespace) -> int:
    """Profile the job and print the tables. Returns 0."""
    from netpart.cli.common import load_job
    from netpart.cli.progress_line import show_progress
    from netpart.cli.threads import set_job_threads

    job = load_job(args)
    set_job_threads(job, args)
    # Only now, as this import loads the kernels' libraries, which read their number of threads once.
    from netpart.measure.profile import profile_job

    create_trace_file(args.output)
    with show_progress("cutting the net"):
        found = profile_job(job, args.workers, args.steps, launcher=args.launcher, transport=args.transport)
    show_profile(found, args)
    return 0


def create_trace_file(path: Path | None) -> None:
    """Create the file ``path``, unless it is None. Raises OSError now, before the steps take their time."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def show_profile(found: ProfiledRun, args: argparse.Namespace) -> None:
    """Print the figures, and write the trace if --output is given."""
    if args.output:
        args.output.write_text(_trace_text(found, args.output.suffix), encoding="utf-8")
    if args.json:
        _print_profile_json(found.profile)
    else:
        _print_profile_tables(found.profile)


def _trace_text(found: ProfiledRun, suffix: str) -> str:
    """The trace in the format of the file ending ``suffix``."""
    return found.to_chrome_trace() if suffix == ".json" else found._repr_svg_()


def _print_profile_json(profile: StepProfile) -> None:
    """Print the figures as one JSON object."""
    from dataclasses import asdict

    found = asdict(profile)
    for row in found["memory"]:
        del row["load"]  # a row for each instruction: it is in traces
    print(json.dumps(found, indent=2, ensure_ascii=False))


def _print_profile_tables(profile: StepProfile) -> None:
    """Print the title, then the tables of layers, of workers and of their memory."""
    from netpart.cli.table import TextTable
    from netpart.units import plural_text, seconds_text

    speed = f"{profile.rows / profile.step_seconds:,.0f} samples/s"
    about = f"{plural_text(len(profile.workers), 'worker')}, batch {profile.rows}, {plural_text(profile.steps, 'step')}"
    print(f"{profile.name}: {about}; a step takes {seconds_text(profile.step_seconds)}, {speed}", end="\n\n")
    total = sum(row.seconds for row in profile.layers)
    TextTable(LAYERS, [_layer_time_cells(row, total) for row in profile.layers]).print()
    print()
    TextTable(WORKERS, [_worker_time_cells(row) for row in profile.workers]).print()
    print()
    parts = [f">{name}" for name in profile.memory[0].parts]
    TextTable((">worker", *parts, ">total"), [_worker_memory_cells(row) for row in profile.memory]).print()
    peaks = [_peak_line(row) for row in profile.memory]
    print("", *map(_data_wait_line, profile.data), *peaks, "", FOOTNOTE, sep="\n")
    for wait in profile.data:
        if wait.hint:
            print(f"\nhint: {wait.share:.0%} of a step is the wait for rows of {wait.name}; {wait.hint}")


def _data_wait_line(wait: DataWait) -> str:
    """The line about the wait for rows of one input layer."""
    from netpart.units import seconds_text

    return f"{wait.name}: a step waits {seconds_text(wait.seconds)} for its rows, {wait.share:.1%} of the step"


def _layer_time_cells(row: LayerTime, total: float) -> tuple[str, ...]:
    """The cells of one layer's row."""
    from netpart.units import count_text

    times = map(_duration_text, (row.forward, row.backward, row.update))
    share = f"{row.seconds / total:.1%}" if row.seconds and total else "-"
    flops = count_text(row.flops) if row.flops else "-"
    return row.name, row.type, *times, share, flops, f"{row.rate / 1e9:.1f}" if row.rate else "-"


def _worker_time_cells(row: WorkerTime) -> tuple[str, ...]:
    """The cells of one worker's row."""
    busy = row.reading, row.forward, row.backward, row.update, row.moving, row.talking, row.waiting, row.other
    share = f"{row.overlapped / row.travelling:.0%}" if row.travelling else "-"
    return str(row.worker), _duration_text(row.step), *map(_duration_text, busy), _duration_text(row.travelling), share


def _worker_memory_cells(row: WorkerMemory) -> tuple[str, ...]:
    """The cells of one worker's memory."""
    from netpart.units import bytes_text

    return str(row.worker), *map(bytes_text, row.parts.values()), bytes_text(row.total)


def _peak_line(row: WorkerMemory) -> str:
    """The line about the buffers that one worker's arena holds at its peak."""
    from netpart.units import bytes_text

    largest = list(row.peak.items())[:LARGEST]
    named = ", ".join(f"{name} {bytes_text(nbytes)}" for name, nbytes in largest)
    rest = f", and {len(row.peak) - len(largest)} more" if len(row.peak) > len(largest) else ""
    mark = bytes_text(sum(row.peak.values()))
    return f"worker {row.worker}: most of the arena, {mark}, is in use in {row.peak_at}: {named}{rest}"


def _duration_text(seconds: float) -> str:
    """A time as text, "-" for none."""
    from netpart.units import seconds_text

    return seconds_text(seconds) if seconds > 0 else "-"

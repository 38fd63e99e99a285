"""netpart data look: the first rows that a job reads, figures of a sample, and what an epoch costs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.choices import PHASES
from netpart.cli.common import add_uncut_job_options, load_job, parse_count, parse_positive

if TYPE_CHECKING:
    from netpart.cli.table import TextTable
    from netpart.measure.class_counts import ClassCount
    from netpart.measure.data_look import InputLook
    from netpart.measure.row_look import RowLook
    from netpart.measure.value_statistics import ChannelValues, ValueSummary

LOOK = "show the first rows that a job reads, figures of a sample of them, and what an epoch costs"
ROWS = (">row", "label", "class", ">min", ">mean", ">max", "values")
CHANNELS = ("values", ">min", ">mean", ">max", ">std")
TARGETS = ("targets", *CHANNELS[1:])
CLASSES = (">class", "name", ">labels", ">share")
PICTURES = ".png", ".svg", ".html"
MOST = 16
"""Largest number of channels, and of classes, in a table; --json has all."""
ROW_COUNT, SAMPLE = 8, 1000


def add_look_parser(sets: Any) -> None:
    """Add the command and its options."""
    parser: argparse.ArgumentParser = sets.add_parser("look", help=LOOK, description=LOOK)
    add_uncut_job_options(parser, computes=False)
    parser.add_argument("--seed", type=int, metavar="S", help="seed of all random numbers (default: the job's)")
    parser.add_argument(
        "--phase", choices=PHASES, default=PHASES[0], help=f"phase whose data is read (default: {PHASES[0]})"
    )
    parser.add_argument(
        "--rows", type=parse_positive, default=ROW_COUNT, metavar="N", help=f"rows to show (default: {ROW_COUNT})"
    )
    parser.add_argument(
        "--sample", type=parse_count, default=SAMPLE, metavar="N",
        help=f"rows to read for the figures; 0: a whole epoch (default: {SAMPLE})",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print everything as JSON, in seconds and bytes")
    parser.add_argument(
        "-o", "--output", type=_parse_picture_path, metavar="F.png|F.svg|F.html",
        help="draw the rows: images, with their masks over them, and slices of volumes; F.html has the tables too",
    )  # fmt: skip
    parser.set_defaults(make=_look_at_job)


def _parse_picture_path(text: str) -> Path:
    """Parse --output. Raises ArgumentTypeError for another ending than those of pictures."""
    path = Path(text)
    if path.suffix not in PICTURES:
        raise argparse.ArgumentTypeError(f"expected a name that ends with {', '.join(PICTURES)}, got {text!r}")
    return path


def _look_at_job(args: argparse.Namespace) -> str:
    """Read the rows, write the picture, and return what to print."""
    from netpart.measure.data_look import look_at_data

    job = load_job(args, warn=False)
    title = f"{job.proto.name or args.job}: {args.phase}, seed {job.proto.seed}"
    looks, drawn = [], []
    for look, shown in look_at_data(job, args.phase, args.rows, args.sample):
        looks.append(look)
        drawn.append((look, shown) if args.output else None)
    report = "\n\n".join([title, *("\n".join(_input_lines(look)) for look in looks)])
    if args.output:
        _write_pictures(args.output, title, report, [each for each in drawn if each])
    return _as_json(title, looks) if args.json else report


def _as_json(title: str, looks: list[InputLook]) -> str:
    """All figures as one JSON object. Numbers that are not finite have been counted apart, so there are none."""
    from dataclasses import asdict

    return json.dumps({"title": title, "inputs": [asdict(look) for look in looks]}, indent=2, ensure_ascii=False)


def _write_pictures(path: Path, title: str, report: str, drawn: list[Any]) -> None:
    """Draw the rows to the file ``path``, which appears as a whole."""
    from netpart.data.atomic_file import atomic_file
    from netpart.draw.contact_sheet import draw_sheet
    from netpart.measure.row_pictures import sheet_section

    content = draw_sheet(path.suffix, title, [sheet_section(*each) for each in drawn], report)
    with atomic_file(path) as file:
        file.write(content)


def _input_lines(look: InputLook) -> list[str]:
    """The lines about one input."""
    found = [
        _shape_line(look),
        "",
        *_full_columns(_row_headings(look), [_row_cells(row) for row in look.first]).lines(),
        "",
    ]
    if look.values is not None:
        found += [*_full_columns(CHANNELS, _channel_rows(look)).lines(), _finite_line(look, look.values), ""]
    found += [_scaling_line(look, name, values) for name, values in look.scaling.items()]
    found += [""] * bool(look.scaling)
    if look.classes:
        found += [*_full_columns(CLASSES, _class_rows(look.classes)).lines(), _balance_line(look)]
        found += [f"label {c.label} is ignored: {c.count:,} labels, {c.share:.1%} of all" for c in look.ignored] + [""]
    if look.targets is not None:
        found += [*_full_columns(TARGETS, _target_rows(look)).lines(), _finite_line(look, look.targets), ""]
    return [*found, *_cost_lines(look)]


def _scaling_line(look: InputLook, name: str, values: Sequence[float]) -> str:
    """The line about a field that scales rows; of a file it shows how to write it."""
    shown = ", ".join(f"{value:g}" for value in values)
    if not name.endswith("_file"):
        return f"{name}: {shown if len(values) == 1 else f'[{shown}]'}"
    kind = name.rpartition(".")[2].removesuffix("_file")
    if look.type == "kArrayInput":
        return f'{name}: "{kind}.npy", after numpy.save("{kind}.npy", [{shown}])'
    return f'{name}: "{kind}.csv", a file with the line {shown.replace(" ", "")}'


def _full_columns(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> TextTable:
    """The table without columns in which every row is empty."""
    from netpart.cli.table import TextTable

    full = [k for k in range(len(headings)) if any(row[k] for row in rows)]
    return TextTable([headings[k] for k in full], [[row[k] for k in full] for row in rows])


def _shape_line(look: InputLook) -> str:
    """The line about the type of an input, and the shape of its rows."""
    from netpart.units import plural_text

    shape = "x".join(map(str, look.shape)) or "one value"
    count = "no" if look.labels is None else "x".join(map(str, look.labels)) or "one"
    labels = f"{count} label" + "s" * (count != "one")
    if look.targets is not None:
        labels = plural_text(len(look.targets.channels), "target")
    sizes = f"; {look.sizes}" if look.sizes else ""
    return f"{look.name}: {look.type}, rows of {shape}, {labels}, batch {look.batch}{sizes}"


def _row_headings(look: InputLook) -> Sequence[str]:
    return ROWS if look.targets is None else (ROWS[0], "targets", *ROWS[2:])


def _row_cells(row: RowLook) -> tuple[str, ...]:
    figures = map(_figure, (row.minimum, row.mean, row.maximum))
    return str(row.row), row.label, row.name, *figures, row.text


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _channel_rows(look: InputLook) -> list[tuple[str, ...]]:
    """The rows of the table of channels; the last one is that of all."""
    assert look.values is not None
    return _figure_rows(look.values, look.columns, "column" if len(look.shape) == 1 else "channel")


def _target_rows(look: InputLook) -> list[tuple[str, ...]]:
    """The rows of the table of targets; the last one is that of all."""
    assert look.targets is not None
    return _figure_rows(look.targets, look.target_columns, "target")


def _figure_rows(values: ValueSummary, names: Sequence[str], word: str) -> list[tuple[str, ...]]:
    """The rows of the figures of each channel, by its name or else ``word`` and its number, and of all."""
    channels = values.channels
    named = names if len(names) == len(channels) else [f"{word} {k}" for k in range(len(channels))]
    shown = zip(named, channels[:MOST], strict=False) if len(channels) > 1 or named is names else ()
    rows: list[tuple[str, ...]] = [(name, *_value_cells(each)) for name, each in shown]
    rows += [(f"{len(channels) - MOST} more", "", "", "", "")] * (len(channels) > MOST)
    return [*rows, ("all", *_value_cells(values.overall))]


def _value_cells(values: ChannelValues) -> tuple[str, ...]:
    return tuple(map(_figure, (values.minimum, values.mean, values.maximum, values.std)))


def _finite_line(look: InputLook, values: ValueSummary) -> str:
    """The line about ``values``, or targets, that are not finite."""
    read = f"of {look.cost.rows:,} rows"
    if not values.nan + values.infinite:
        return f"{read}; all values are finite"
    rows = ", ".join(map(str, values.rows))
    order = f"--set {look.name}.{look.shuffled}=false"
    hint = f"; with {order} these are the rows of the files" if look.shuffled else ""
    return f"{read}; {values.nan} values are NaN and {values.infinite} are infinite, first in rows {rows}{hint}"


def _class_rows(classes: tuple[ClassCount, ...]) -> list[tuple[str, ...]]:
    """The rows of the table of classes; of many, the first ones."""
    rows: list[tuple[str, ...]] = [(str(c.label), c.name, f"{c.count:,}", f"{c.share:.1%}") for c in classes[:MOST]]
    return [*rows, *[("", f"{len(classes) - MOST} more", "", "")] * (len(classes) > MOST)]


def _balance_line(look: InputLook) -> str:
    """The line about how unequal the classes are."""
    most, least = max(look.classes, key=lambda c: c.count), min(look.classes, key=lambda c: c.count)
    if most.count == least.count:
        return f"of {look.cost.rows:,} rows; {len(look.classes)} classes, all equally often"
    times = f"{most.count / least.count:.3g} times as often as {least.label}" if least.count else "and others never"
    return f"of {look.cost.rows:,} rows; {len(look.classes)} classes; class {most.label} is there {times}"


def _cost_lines(look: InputLook) -> list[str]:
    """The lines about an epoch, and the time of reading."""
    from netpart.cli.table import stored_text
    from netpart.units import bytes_text, plural_text, seconds_text

    epoch, cost = look.epoch, look.cost
    if epoch.rows is None or epoch.steps is None:
        size = "an epoch: endless, as rows are drawn" if epoch.endless else "an epoch: unknown"
    else:
        files = "unknown files" if epoch.files is None else plural_text(epoch.files, "file")
        held = "unknown" if epoch.value_bytes is None else bytes_text(epoch.value_bytes)
        size = f"an epoch: {plural_text(epoch.rows, 'row')}, {plural_text(epoch.steps, 'step')}"
        size += f"; {files}, {stored_text(epoch)}, as values {held}"
    stored = "" if cost.stored_rate is None else f", {bytes_text(cost.stored_rate)} of files per second"
    lasts = "" if cost.epoch_seconds is None else f"; an epoch takes {seconds_text(cost.epoch_seconds)} of reading"
    opened = f"opened in {seconds_text(cost.opening)}"
    return [size, f"reading: {cost.rows_per_second:,.0f} rows per second{stored}{lasts} ({opened})"]

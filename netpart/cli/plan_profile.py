"""Planning for netpart plan --profile: a table of pipelines for a net that another framework has profiled."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from netpart.cli.check import workers_text

if TYPE_CHECKING:
    from netpart.plan.price.net_profile import NetProfile
    from netpart.plan.search.pipelines import PipelineRow
    from netpart.plan.stages.link_levels import LinkLevels

PIPELINES = ("", "plan", "replicas", "workers", ">a mini-batch takes", ">speed-up", ">gap", ">moves", ">most memory")


def plan_profile(args: argparse.Namespace) -> int:
    """Plan for a profile and print the table. Returns 0.

    Raises ConfigError for options that need a job, MemoryRefused if no plan fits into the devices' memory.
    """
    from netpart.errors import ConfigError, MemoryRefused
    from netpart.plan.price.devices import equal_devices
    from netpart.plan.price.named_devices import named_devices
    from netpart.plan.price.net_profile import read_profile
    from netpart.plan.search.pipelines import plan_pipelines

    for option in ("output", "picture", "partitions", "group", "slack", "micro_batches", "take"):
        if getattr(args, option) is not None:
            raise ConfigError(
                f"--{option.replace('_', '-')}", "a JOB", "a --profile", "omit it: a profile has no layers to cut"
            )
    profile = read_profile(args.profile)
    levels = _named_levels(args)
    workers = levels.workers if levels else args.workers
    devices = named_devices(args.devices, workers, args.bandwidth, equal_devices(workers or 1))
    states = args.states
    rows = plan_pipelines(profile, devices, 1 if states is None else states, levels)
    if args.json:
        from dataclasses import asdict

        print(json.dumps({"plans": [_drop_refused_figures(asdict(row)) for row in rows]}, indent=2))
    else:
        _print_pipelines(args, profile, rows)
    if all(row.refused for row in rows):
        raise MemoryRefused("plan: expected a plan that the devices have room for, found none; name more devices")
    return 0


def _named_levels(args: argparse.Namespace) -> LinkLevels | None:
    """The levels of --levels; None without the option. Raises ConfigError for another option that names workers."""
    from netpart.errors import ConfigError
    from netpart.plan.stages.link_levels import LinkLevels

    if args.levels is None:
        return None
    for option in ("workers", "devices", "bandwidth"):
        if getattr(args, option) is not None:
            hint = "omit one of the two: the levels name workers and links"
            raise ConfigError("--levels", f"no --{option}", "both", hint)
    counts, bandwidths = zip(*args.levels, strict=True)
    return LinkLevels(counts, bandwidths)


def _drop_refused_figures(figures: dict[str, Any]) -> dict[str, Any]:
    """``figures``; of a refused plan only name and reason, as its numbers are infinite, which JSON cannot write."""
    if not figures["refused"]:
        return figures
    return {"name": figures["name"], "refused": figures["refused"]}


def _print_pipelines(args: argparse.Namespace, profile: NetProfile, rows: list[PipelineRow]) -> None:
    """Print the table, and below it the plans that need more memory than the devices have."""
    from netpart.cli.table import Row, TextTable
    from netpart.units import bytes_text, seconds_text

    print(f"{args.profile}: {len(profile.layers)} layers, {seconds_text(profile.work)} for a mini-batch\n")
    lines: list[Row] = [
        (
            "*" if row is rows[0] else "", row.name, row.pipeline.replicas, workers_text(row.workers),
            seconds_text(row.seconds), f"{profile.work / row.seconds:.2f}", f"{row.gap:.1%}", bytes_text(row.moved),
            bytes_text(max(row.memory)),
        )
        for row in rows if not row.refused
    ]  # fmt: skip
    if lines:
        TextTable(PIPELINES, lines).print()
    if refused := [f"not {row.name}: {row.refused}" for row in rows if row.refused]:
        print("\n".join([""] * bool(lines) + refused))

"""What netpart plan does with a --profile: the pipelines of a net that was profiled elsewhere, in a table."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from netpart.cli.check import workers_text

if TYPE_CHECKING:
    from netpart.plan.price.net_profile import NetProfile
    from netpart.plan.search.pipelines import PipelineRow

PIPELINES = ("", "plan", "replicas", "workers", ">a mini-batch takes", ">speed-up", ">gap", ">moves", ">most memory")


def plan_profile(args: argparse.Namespace) -> int:
    """Plans for a profile: prints its table."""
    from netpart.cli.devices import devices_of
    from netpart.errors import ConfigError, MemoryRefused
    from netpart.plan.price.devices import alike
    from netpart.plan.price.net_profile import read_profile
    from netpart.plan.search.pipelines import pipelines

    for option in ("output", "picture", "partitions", "group", "slack", "micro_batches", "take"):
        if getattr(args, option) is not None:
            raise ConfigError(f"--{option.replace('_', '-')}", "a JOB", "a --profile", "a profile has no layers to cut")
    profile = read_profile(args.profile)
    devices, states = devices_of(args, args.workers, alike(args.workers or 1)), args.states
    rows = pipelines(profile, devices, 1 if states is None else states)
    if args.json:
        from dataclasses import asdict

        print(json.dumps({"plans": [_finite(asdict(row)) for row in rows]}, indent=2))
    else:
        _print_rows(args, profile, rows)
    if all(row.refused for row in rows):
        raise MemoryRefused("plan: expected a plan that the devices have room for, found none; name more devices")
    return 0


def _finite(figures: dict[str, Any]) -> dict[str, Any]:
    """``figures`` but those of a plan that was refused, which JSON has no number for."""
    if not figures["refused"]:
        return figures
    return {"name": figures["name"], "refused": figures["refused"]}


def _print_rows(args: argparse.Namespace, profile: NetProfile, rows: list[PipelineRow]) -> None:
    """Prints the table, and below it what no device has room for."""
    from netpart.cli.table import Row, Table
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
        Table(PIPELINES, lines).print()
    if refused := [f"not {row.name}: {row.refused}" for row in rows if row.refused]:
        print("\n".join([""] * bool(lines) + refused))

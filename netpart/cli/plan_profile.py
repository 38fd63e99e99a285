"""What netpart plan does with a --profile: the pipelines of a net that was profiled elsewhere, in a table."""

from __future__ import annotations

import argparse
import json

PIPELINES = ("", "plan", "replicas", ">a mini-batch takes", ">speed-up", ">gap", ">moves", ">most memory")


def plan_profile(args: argparse.Namespace) -> int:
    """Plans for a profile: prints its table."""
    from netpart.cli.devices import devices_of
    from netpart.errors import ConfigError
    from netpart.plan.devices import alike
    from netpart.plan.net_profile import read_profile
    from netpart.plan.pipelines import pipelines

    for option in ("output", "picture", "partitions", "group", "micro_batches", "take"):
        if getattr(args, option) is not None:
            raise ConfigError(f"--{option.replace('_', '-')}", "a JOB", "a --profile", "a profile has no layers to cut")
    profile = read_profile(args.profile)
    rows = pipelines(profile, devices_of(args, args.workers, alike(args.workers or 1)))
    if args.json:
        from dataclasses import asdict

        print(json.dumps({"plans": [asdict(row) for row in rows]}, indent=2))
        return 0
    from netpart.cli.table import Row, Table
    from netpart.units import bytes_text, seconds_text

    lines: list[Row] = [
        (
            "*" if row is rows[0] else "", row.name, row.pipeline.replicas, seconds_text(row.seconds),
            f"{profile.work / row.seconds:.2f}", f"{row.gap:.1%}", bytes_text(row.moved), bytes_text(max(row.memory)),
        )
        for row in rows
    ]  # fmt: skip
    print(f"{args.profile}: {len(profile.layers)} layers, {seconds_text(profile.work)} for a mini-batch\n")
    Table(PIPELINES, lines).print()
    return 0

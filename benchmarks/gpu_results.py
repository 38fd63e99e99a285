"""Output of benchmarks.gpu: one file per precision, with an independent entry for each net.

benchmarks/results/gpu-PRECISION.json has versions, machine, GPU and driver. For each net it has the seconds of a step
in every stretch, losses, FLOPs and bytes of a step, the ceilings of the device, and failures. Nets that were measured
on another machine, or with other versions, are dropped when a file is written.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from math import prod
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.gpu_contest import EAGER, NETPART, Stretches
from benchmarks.prepare import Prepared
from benchmarks.rows import Row, about
from netpart.resources import installed_version as netpart_version
from netpart.units import seconds_text

BEST_GOAL, MEAN_GOAL = 1.0, 1.15
EAGER_GOALS = {"lenet": 5.0}
MEAN, BEST = "geometric mean", "the best of PyTorch"
PACKAGES = (
    "numpy", "torch", "cupy-cuda13x", "cupy-cuda12x", "nvidia-cudnn-frontend", "nvidia-cudnn-cu13", "nvidia-cudnn-cu12",
)  # fmt: skip
SMI = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]

SAME = "machine", "versions", "gpu", "driver", "precision"
"""Fields that all nets of one file have in common."""

Json = dict[str, Any]


def entry(prepared: Prepared, steps: int, found: Mapping[str, Stretches], ceilings: Json, wrong: Sequence[str]) -> Json:
    """The entry of one net."""
    failed = {name: each.failed for name, each in found.items() if each.failed}
    failed |= {name: f"its loss is {found[name].loss}, netpart's {found[NETPART].loss}" for name in wrong}
    return {
        "title": prepared.net.title, "batch": prepared.net.batch, "date": date.today().isoformat(), "steps": steps,
        "flops": prepared.flops, "bytes": prepared.moved, "ceilings": ceilings, "failed": failed,
        "contenders": {
            name: {"layout": each.layout, "loss": each.loss, "seconds": each.seconds}
            for name, each in found.items() if each.seconds
        },
    }  # fmt: skip


def seconds(entry: Json) -> dict[str, float]:
    """Seconds of the median step of each contender that did not fail."""
    return {name: median(each["seconds"]) for name, each in entry["contenders"].items() if name not in entry["failed"]}


def best(entry: Json) -> tuple[str, float] | None:
    """The fastest way of PyTorch; None if all failed."""
    theirs = [(taken, name) for name, taken in seconds(entry).items() if name != NETPART]
    return (min(theirs)[1], min(theirs)[0]) if theirs else None


def shares(entry: Json) -> dict[str, float]:
    """The fractions of the device's ceilings that netpart reaches, by their names."""
    taken, ceilings = seconds(entry)[NETPART], entry["ceilings"]
    work = {"product": entry["flops"], "copy": entry["bytes"]}
    return {name: amount / taken / ceilings[name] for name, amount in work.items()}


def rows(nets: Mapping[str, Json]) -> list[Row]:
    """Every net compared with the best of PyTorch, and with eager where that is a goal; the mean of the former."""
    found, ratios = list[Row](), list[float]()
    for name, net in nets.items():
        taken = seconds(net)
        rival = best(net)
        what = f"{net['title']}, batch {net['batch']}"
        if NETPART not in taken or rival is None:
            continue
        found.append(Row(what, f"PyTorch {rival[0]}", taken[NETPART], rival[1], "s/step", BEST_GOAL))
        ratios.append(found[-1].ratio)
        if name in EAGER_GOALS and EAGER in taken:
            found.append(Row(what, "PyTorch eager", taken[NETPART], taken[EAGER], "s/step", EAGER_GOALS[name]))
    if len(ratios) > 1:
        mean = prod(ratios) ** (1 / len(ratios))
        found.append(Row(f"{MEAN} of {len(ratios)} nets", BEST, 1.0, mean, "of its time", MEAN_GOAL))
    return found


def entry_lines(entry: Json) -> list[str]:
    """One net as lines of text."""
    taken = ", ".join(f"{name} {seconds_text(each)}" for name, each in seconds(entry).items())
    lines = [f"{entry['title']}, batch {entry['batch']}: {taken}"]
    if NETPART in seconds(entry):
        lines.append("  " + ", ".join(f"{share:.0%} of the {name} ceiling" for name, share in shares(entry).items()))
    return lines + [f"  {name} failed: {why}" for name, why in entry["failed"].items()]


def keep(path: Path, precision: str, nets: Mapping[str, Json]) -> None:
    """Write ``nets`` to the file, and keep its other nets if they were measured on the same machine and versions."""
    report = describe_machine() | {"precision": precision, "nets": {}}
    if path.exists():
        old = json.loads(path.read_text(encoding="utf-8"))
        if all(old.get(field) == report[field] for field in SAME):
            report["nets"] = old["nets"]
    report["nets"] |= nets
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def describe_machine() -> Json:
    """The machine, its GPU and driver, and the versions of installed packages, on which the figures depend."""
    found = about(())
    found["versions"] |= {"netpart": netpart_version()} | installed(PACKAGES)
    name, driver = gpu()
    return found | {"gpu": name, "driver": driver}


def installed(packages: Sequence[str]) -> dict[str, str]:
    """The versions of those ``packages`` that are installed."""
    found = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def gpu() -> tuple[str, str]:
    """The names of the first GPU and of its driver's version; "none" where there is no driver."""
    try:
        output = subprocess.run(SMI, capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return "none", "none"
    name, _, driver = output.splitlines()[0].partition(",")
    return name.strip(), driver.strip()

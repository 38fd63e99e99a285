"""Devices and links that netpart plan plans for: those of a file, of the job or of this host."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netpart.plan.price.devices import Devices
    from netpart.proto.reader import Job

UNITS = {"B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "Mbit/s": 1e6 / 8, "Gbit/s": 1e9 / 8}


def add_device_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of devices and links."""
    parser.add_argument(
        "--devices", type=Path, metavar="FILE", help="file with devices and links, e.g. workers/two-speeds.conf"
    )
    parser.add_argument(
        "--bandwidth", type=parse_bandwidth, metavar="B", help="bandwidth of every link, e.g. 1GB/s or 10Gbit/s"
    )


def parse_bandwidth(text: str) -> float:
    """Parse --bandwidth into bytes per second. Raises ArgumentTypeError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(\S+)", text)
    if found is None or found[2] not in UNITS or not float(found[1]):
        raise argparse.ArgumentTypeError(f"expected a number and one of {', '.join(UNITS)}, got {text!r}")
    return float(found[1]) * UNITS[found[2]]


def named_devices(args: argparse.Namespace, workers: int | None, otherwise: Devices) -> Devices:
    """The devices of --devices, or else ``otherwise``.

    ``workers`` takes only the first so many of them; None takes all. --bandwidth replaces that of every link.
    """
    from dataclasses import replace

    from netpart.plan.price.devices import read_devices

    found = read_devices(args.devices) if args.devices else otherwise
    found = found.first(workers) if workers else found
    if args.bandwidth is None:
        return found
    # Pairs with a link of their own too; latencies stay as they are.
    links = {pair: replace(link, bandwidth=args.bandwidth) for pair, link in found.links.items()}
    return replace(found, link=replace(found.link, bandwidth=args.bandwidth), links=links)


def adopt_hosts(job: Job, path: Path | None) -> Job:
    """``job`` with the devices, links and hosts of the file ``path``, if that has hosts: collectives depend on them."""
    from netpart.proto.reader import read_job

    return job if path is None or not read_job(path).proto.cluster.host else adopt_devices(job, path)


def adopt_devices(job: Job, path: Path) -> Job:
    """``job`` with the devices, links and hosts of the file ``path``."""
    from dataclasses import replace

    from netpart.proto.job_pb2 import JobProto
    from netpart.proto.reader import read_job

    cluster = read_job(path).proto.cluster
    proto = JobProto()
    proto.CopyFrom(job.proto)
    for name in ("device", "link", "host"):
        proto.cluster.ClearField(name)
        getattr(proto.cluster, name).extend(getattr(cluster, name))
    return replace(job, proto=proto)

"""Devices, links and hosts in a file of their own, which take the place of those of a job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from netpart.plan.price.devices import Devices, read_devices
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import Job, read_job


def named_devices(path: Path | None, workers: int | None, bandwidth: float | None, otherwise: Devices) -> Devices:
    """The devices in the file ``path``, or else ``otherwise``.

    ``workers`` takes only the first so many of them; None takes all. ``bandwidth``, in bytes per second, replaces that
    of every link.
    """
    found = read_devices(path) if path else otherwise
    found = found.first(workers) if workers else found
    if bandwidth is None:
        return found
    # Pairs with a link of their own too; latencies stay as they are.
    links = {pair: replace(link, bandwidth=bandwidth) for pair, link in found.links.items()}
    return replace(found, link=replace(found.link, bandwidth=bandwidth), links=links, sums=None)


def adopt_hosts(job: Job, path: Path | None) -> Job:
    """``job`` with the devices, links and hosts of the file ``path``, if that has hosts: collectives depend on them."""
    return job if path is None or not read_job(path).proto.cluster.host else adopt_devices(job, path)


def adopt_devices(job: Job, path: Path) -> Job:
    """``job`` with the devices, links and hosts of the file ``path``."""
    cluster = read_job(path).proto.cluster
    proto = JobProto()
    proto.CopyFrom(job.proto)
    for name in ("device", "link", "host"):
        proto.cluster.ClearField(name)
        getattr(proto.cluster, name).extend(getattr(cluster, name))
    return replace(job, proto=proto)

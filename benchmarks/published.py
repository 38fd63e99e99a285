"""Table 3 of the use case at the published size: 1 to 8 devices like those of the paper, at counted FLOPs.

    python -m benchmarks.published                predict all; benchmarks/results/published.json
    python -m benchmarks.published --simulate     simulate what is predicted and not yet simulated: an hour
    python -m benchmarks.published resattnet18    one net only

The nets are 3D-ResAttNet18 and 34 of full width on scans of 128 × 128 × 128 voxels, mini-batches of 32 rows, and the
devices those of workers/v100.conf, with its links and with slower ones. Batch norm is over the rows that a device has
at a time, as in PyTorch. Hybrid is the proposed approach with the sizes of groups and the number of micro-batches that
are predicted to be fastest.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from benchmarks.nets import ROOT, Net
from benchmarks.rows import RESULTS as FOLDER
from benchmarks.rows import keep_rows, kept_rows
from benchmarks.ways import Hybrid, by_data, by_gabra
from netpart.graph.partition import Partition
from netpart.measure.simulate import simulate_partition
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.devices import Devices, read_devices
from netpart.plan.price.predict import predict_step

ROWS = 32
MICRO_BATCHES = 2, 4, 8
STEPS = 1
NETS = {
    name: Net(name, title, f"graphs/resattnet/{name}.conf", ROWS)
    for name, title in (("resattnet18", "3D-ResAttNet18"), ("resattnet34", "3D-ResAttNet34"))
}
BANDWIDTHS = 50e9, 1.25e9
"""Bytes per second between any two devices: those of the file, and 10 Gb/s Ethernet, a host for each device."""
DEVICES = ROOT / "workers" / "v100.conf"
RESULTS = FOLDER / "published.json"
Json = dict[str, Any]


def ways(workers: int) -> Iterator[Hybrid | None]:
    """Data parallelism, which is None, and the choices of the proposed approach."""
    yield None
    for group in (r for r in range(1, workers) if workers % r == 0):
        yield from (Hybrid(group, None, count) for count in MICRO_BATCHES if group * count <= ROWS)


def cut_net(net: Net, workers: int, choice: Hybrid | None) -> Partition:
    """The training net on so many workers."""
    job = by_gabra(net, workers, choice, True)[0] if choice else by_data(net, True)
    return partition_by_scheme(job.proto, workers, job.folder, phases=("train",))


def linked_devices(bandwidth: float) -> Devices:
    """The devices, with links of ``bandwidth``."""
    found = read_devices(DEVICES)
    return replace(found, link=replace(found.link, bandwidth=bandwidth))


def predicted_rows(name: str, workers: int) -> list[Json]:
    """The predicted step of data parallelism, and of the fastest choice of the proposed approach, for all links."""
    found: dict[tuple[str, float], Json] = {}
    for choice in ways(workers):
        cut = cut_net(NETS[name], workers, choice)
        for bandwidth in BANDWIDTHS:
            key = "hybrid" if choice else "data", bandwidth
            seconds = predict_step(cut, linked_devices(bandwidth).first(workers)).seconds
            if key not in found or seconds < found[key]["predicted"]:
                found[key] = {"net": name, "way": key[0], "bandwidth": bandwidth, "workers": workers}
                found[key] |= {"predicted": seconds, "simulated": None}
                found[key] |= {"group": choice.group, "micro_batches": choice.micro_batches} if choice else {}
    return list(found.values())


def simulated_row(row: Json) -> Json:
    """``row`` with its simulated step."""
    choice = Hybrid(row["group"], None, row["micro_batches"]) if row["way"] == "hybrid" else None
    cut = cut_net(NETS[row["net"]], row["workers"], choice)
    devices = linked_devices(row["bandwidth"])
    run = simulate_partition(cut, STEPS, devices.link, (), devices.devices[0].speed)
    return row | {"simulated": run.profile.step_seconds}


def row_key(row: Json) -> tuple[str, float, str, int]:
    """What a row is about: the net, the links, the way and the number of devices."""
    return row["net"], row["bandwidth"], row["way"], row["workers"]


def keep(rows: list[Json]) -> None:
    """Write ``rows`` in place of those for the same net, way and workers."""
    keep_rows(RESULTS, ("netpart", "numpy"), rows, row_key)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nets", nargs="*", help=f"of {', '.join(NETS)} (default: all)")
    parser.add_argument("--simulate", action="store_true")
    args = parser.parse_args(arguments)
    nets = args.nets or list(NETS)
    if args.simulate:
        for row in kept_rows(RESULTS):
            if row["net"] in nets and row["simulated"] is None:
                keep([simulated_row(row)])
        return 0
    for name in nets:
        for workers in range(1, len(read_devices(DEVICES)) + 1):
            keep(predicted_rows(name, workers))
            print(f"{name} on {workers}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

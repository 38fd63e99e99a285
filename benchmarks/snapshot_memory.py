"""Error of the forecast of snapshots: what `netpart check --elastic` says that they take, and what they add to a run.

    python -m benchmarks.snapshot_memory              all nets, some minutes; prints a table
    python -m benchmarks.snapshot_memory mlp gpt -r 5

Two workers train each net with snapshots and without, in turn. They are looked at until they end: at the memory that
each has for itself, where snapshots lie. What a tiny net takes more besides the forecast is taken off: modules, sockets
and the thread that serves regions. Other processes do not disturb this.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from statistics import median

from benchmarks.nets import NETS, Net, job
from benchmarks.resident_memory import TINY, WORKERS, most_memory, own_bytes
from netpart.graph.saved_holdings import assign_checkpoint_writes
from netpart.launch.snapshots.duties import assign_duties
from netpart.launch.snapshots.forecast import forecast_snapshots
from netpart.plan.partition import partition_by_scheme
from netpart.proto.job_pb2 import JobProto
from netpart.proto.updater_pb2 import UpdaterType
from netpart.units import bytes_text

EVERY = 10
"""Steps between two snapshots."""
SMALL = Net("resnet18-small", "small ResNet-18", "graphs/resnet/resnet18-small.conf", 16)
STEPS = {"mlp": 30, "resnet18-small": 200, "resnet18": 25, "gpt": 30}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each net."""
    names = {name: NETS.get(name, SMALL) for name in STEPS}
    parser = argparse.ArgumentParser(description="hold the forecast of snapshots against the memory of processes")
    parser.add_argument("nets", nargs="*", metavar="NET", help=f"of {', '.join(names)} (default: all)")
    parser.add_argument("-r", "--repeats", type=int, default=3, help="runs of each kind (default: 3)")
    args = parser.parse_args(arguments)
    tiny = prepare_job(TINY, 150)
    tiny.updater.type = UpdaterType.kSGD  # without state that each has a half of, and sends
    besides = measure_added(tiny, args.repeats) - forecast_added(tiny)
    print(f"besides its snapshots, an elastic worker takes {bytes_text(besides // WORKERS)}", flush=True)
    for name in args.nets or names:
        proto = prepare_job(names[name], STEPS[name])
        forecast, added = forecast_added(proto), measure_added(proto, args.repeats) - besides
        print(
            f"{name}: {bytes_text(forecast)} forecast, {bytes_text(added)} taken, {forecast / added - 1:+.1%}",
            flush=True,
        )
    return 0


def prepare_job(net: Net, steps: int) -> JobProto:
    """The elastic job that trains ``net`` with AdamW, whose state is twice the parameters."""
    proto = job(net, steps)
    proto.updater.type = UpdaterType.kAdamW
    proto.updater.ClearField("momentum")
    proto.elastic.min_workers, proto.elastic.snapshot_freq = 1, EVERY
    return proto


def forecast_added(proto: JobProto) -> int:
    """Bytes of the snapshots of both workers."""
    cut = partition_by_scheme(proto, WORKERS, scheme="data", phases=("train",))
    duties = assign_duties(cut, assign_checkpoint_writes(cut), [""] * WORKERS)
    return sum(row.memory for row in forecast_snapshots(cut, duties))


def measure_added(proto: JobProto, repeats: int) -> int:
    """Bytes that both workers take more than without snapshots: the median of pairs of runs."""
    plain = JobProto()
    plain.CopyFrom(proto)
    plain.ClearField("elastic")
    return int(median(most_memory(proto, own_bytes) - most_memory(plain, own_bytes) for _ in range(repeats)))


if __name__ == "__main__":
    sys.exit(main())

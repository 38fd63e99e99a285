"""Time and memory of the verbs that only plan, for 64 to 1 024 workers.

    python -m benchmarks.scale                     the whole table; rows are kept in benchmarks/results/scale.json
    python -m benchmarks.scale --workers 64 --verbs check,partition --nets alexnet

Each cell is a process of its own: a verb on a net of the zoo, cut by the scheme DATA where the net sets no cut;
``plan`` plans for the devices of DEVICES. The mini-batch has a row for each worker at least, but of a U-Net that is
cut on space. A cut that the net sets is replaced by DATA where its axes are too short. ``seconds`` are processor time,
which excludes other work on the machine; ``load`` is how many processes competed for its cores. A cell that takes more
than --limit of these seconds is ended, and has no figures.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from itertools import product
from pathlib import Path
from signal import SIGXCPU
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.rows import CORES, RESULTS, keep_rows
from benchmarks.zoo_nets import NETS
from netpart.proto.reader import read_job

VERBS = {
    "check": ("check", "--scheme", "data"), "partition": ("partition", "--scheme", "data"), "plan": ("plan",),
    "simulate": ("simulate", "--scheme", "data", "--by", "flops", "--steps", "1", "--link", "50e-6,1e9"),
}  # fmt: skip
DEVICES = """cluster {
  device { name: "device" count: %s flops: 1e13 memory: 16e9 }
  link { latency: 5e-6 overhead: 5e-6 bandwidth: 1e10 }
}
"""
WORKERS = (64, 256, 1024)
LIMITS = {64: 10.0, 256: 60.0, 1024: 300.0}
"""Goals, in seconds."""
MOST_MIB = 4096
"""The goal for memory."""
COLUMNS = ("verb", "net", "workers", "seconds", "wall_seconds", "mib", "load", "within")
LONGEST = {"lenet": 500, "unet2d": 64, "unet3d": 32}
"""Workers among which the zoo's own cut divides the shortest axis that it cuts."""
CUT_ON_SPACE = "unet2d", "unet3d"
GRAPHS = Path(__file__).resolve().parents[1] / "graphs"


def measure_verb(verb: str, net: str, workers: int, limit: int) -> dict[str, Any]:
    """Seconds and MiB of one verb on one net."""
    row: dict[str, Any] = {"verb": verb, "net": net, "workers": workers, "load": round(os.getloadavg()[0] / CORES, 1)}
    command = [sys.executable, "-m", "benchmarks.scale", "--one", verb, net, str(workers), "--limit", str(limit)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as error:
        if error.returncode == -SIGXCPU:
            return row | {"within": False, "ended_after": limit}
        return row | {"within": False, "error": error.stderr.strip().splitlines()[-1][-200:]}
    figures: dict[str, Any] = json.loads(done.stderr.strip().splitlines()[-1])
    return row | figures | {"within": figures["seconds"] <= LIMITS.get(workers, limit) and figures["mib"] <= MOST_MIB}


def cut_options(net: str, verb: str, workers: int) -> list[str]:
    """The options that give a net a row for each worker in all phases, unless it is cut on space; and that cut it on
    the batch if its own cut does not go so far."""
    longest = LONGEST.get(net, 0)
    if net in CUT_ON_SPACE and workers <= longest:
        return []
    layers = read_job(GRAPHS / f"{NETS[net]}.conf").proto.neuralnet.layer
    rows = max(workers, *(each for layer in layers for each in layer.store_conf.batchsize))
    override = ["--override"] if longest and workers > longest and verb != "plan" else []
    return ["--set", f"data.store_conf.batchsize={rows}", *override]


def row_key(row: dict[str, Any]) -> tuple[int, int, int]:
    """The place of a row in the report: by workers, verb and net."""
    return row["workers"], list(VERBS).index(row["verb"]), list(NETS).index(row["net"])


def run_one(verb: str, net: str, workers: str, limit: int) -> int:
    """Run a verb in this process for at most ``limit`` seconds of the processor, and write its figures as JSON to the
    last line of stderr."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
    from time import perf_counter, process_time

    from netpart.cli.main import main as run_netpart

    began = perf_counter()
    name, *options = VERBS[verb]
    cut = cut_options(net, verb, int(workers))
    with TemporaryDirectory() as folder:
        devices = Path(folder, "devices.conf")
        devices.write_text(DEVICES % workers)
        places = ["--devices", str(devices)] if verb == "plan" else ["--workers", workers]
        code = run_netpart([name, str(GRAPHS / f"{NETS[net]}.conf"), *places, *options, *cut])
    if code:
        return code
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    times = {"seconds": round(process_time(), 1), "wall_seconds": round(perf_counter() - began, 1)}
    print(json.dumps(times | {"mib": round(mib)}), file=sys.stderr)
    return 0


def main() -> int:
    """Measure, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=3)
    parser.add_argument("--verbs", default=",".join(VERBS))
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--workers", default=",".join(map(str, WORKERS)))
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--output", type=Path, default=RESULTS / "scale.json", help="where rows are kept")
    args = parser.parse_args()
    if args.one:
        verb, net, count = args.one
        return run_one(verb, net, count, args.limit)
    print(" ".join(f"{column:>12}" for column in COLUMNS))
    for workers, verb, net in product(map(int, args.workers.split(",")), args.verbs.split(","), args.nets.split(",")):
        row = measure_verb(verb, net, workers, args.limit)
        print(" ".join(f"{row.get(column, '-')!s:>12}" for column in COLUMNS), flush=True)
        keep_rows(args.output, ("netpart",), [row], row_key)
    return 0


if __name__ == "__main__":
    sys.exit(main())

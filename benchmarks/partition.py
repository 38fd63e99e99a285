"""Time and memory of the passes, for nets of 1 000 to 100 000 layers over 16 workers.

    python -m benchmarks.partition            all sizes, each in a process of its own; benchmarks/results/partition.json
    python -m benchmarks.partition 10000      one size, one line of JSON

The net is a chain of inner products and sigmoids cut on the batch, whose every hundredth layer is cut on its neurons
instead: that gathers and scatters the whole tensor between all workers. The passes are measured, from placements to the
plan for parameters; building the uncut net is not.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.rows import RESULTS as FOLDER
from benchmarks.rows import write_report
from netpart.graph.build import build_net
from netpart.graph.partition import partition_net, pause_gc
from netpart.graph.passes.place import place_layers
from netpart.graph.passes.sum_gradients import plan_parameters
from netpart.proto.job_pb2 import JobProto, LayerProto, LayerType
from netpart.proto.param_pb2 import InitMethod

WORKERS = 16
SIZES = (1_000, 10_000, 100_000)
RE_LAYOUT = 100
LIMIT_SECONDS, LIMIT_MB = 10.0, 1000.0
"""Limits for 10 000 layers: seconds and MB."""
COLUMNS = ("layers", "parts", "buckets", "seconds", "wall_seconds", "mb", "us_per_part", "growth")
PACKAGES = ("netpart", "networkx")
RESULTS = FOLDER / "partition.json"


def chain(layers: int) -> JobProto:
    """A job of ``layers`` layers."""
    job = JobProto()
    data = add(job, "data", "kSyntheticInput")
    data.store_conf.batchsize.append(2 * WORKERS)
    data.store_conf.shape.append(2 * WORKERS)
    for i in range(1, layers - 1):
        if i % 2:
            layer = add(job, f"ip{i}", "kInnerProduct", job.neuralnet.layer[i - 1].name)
            layer.innerproduct_conf.num_output = 2 * WORKERS
            for _ in range(2):
                layer.param.add().init.type = InitMethod.kGaussian
        else:
            layer = add(job, f"act{i}", "kSigmoid", job.neuralnet.layer[i - 1].name)
        layer.partition_dim = 1 if i % RE_LAYOUT == 0 else 0
    add(job, "loss", "kSoftmaxLoss", job.neuralnet.layer[-1].name, "data")
    return job


def add(job: JobProto, name: str, kind: str, *sources: str) -> LayerProto:
    """A new layer of ``job``."""
    layer = job.neuralnet.layer.add(name=name, type=LayerType.Value(kind), partition_dim=0)
    layer.srclayers.extend(sources)
    return layer


def measure(layers: int) -> dict[str, Any]:
    """Seconds and MB (peak resident minus resident before) of the passes on a chain of ``layers``.

    ``seconds`` are the processor time of the one busy core, which excludes other work on the machine; on an idle
    machine ``wall_seconds`` are the same.
    """
    job = chain(layers)
    net = build_net(job)
    before = resident("VmRSS")
    start = perf_counter()
    cpu = process_time()
    graph = partition_net(net, place_layers(net, job.neuralnet, WORKERS).placements, WORKERS)
    with pause_gc():
        plan = plan_parameters([graph], WORKERS, 4, job.bucket_bytes)
    times = {"seconds": round(process_time() - cpu, 2), "wall_seconds": round(perf_counter() - start, 2)}
    counts = {"parts": len(graph.parts), "buckets": len(plan.buckets)}
    return {"layers": layers, "workers": WORKERS, **counts, **times, "mb": round(resident("VmHWM") - before, 1)}


def resident(field: str) -> float:
    """VmRSS or VmHWM of this process in MB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def measure_apart(layers: int) -> dict[str, Any]:
    """Call ``measure`` in a new process, so that the memory of one size does not affect another."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.partition", str(layers)], capture_output=True, text=True, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def main() -> int:
    """Measure, print and write the results; 1 if 10 000 layers exceed the limits."""
    if sys.argv[1:]:
        print(json.dumps(measure(int(sys.argv[1]))))
        return 0
    rows: list[dict[str, Any]] = []
    print(" ".join(f"{column:>12}" for column in COLUMNS))
    for size in SIZES:
        row = measure_apart(size)
        row["us_per_part"] = round(1e6 * row["seconds"] / row["parts"], 1)
        row["growth"] = round(row["seconds"] / rows[-1]["seconds"], 1) if rows else 1.0
        rows.append(row)
        print(" ".join(f"{row[column]:>12}" for column in COLUMNS), flush=True)
    write_report(RESULTS, PACKAGES, {"rows": rows})
    middle = next(row for row in rows if row["layers"] == 10_000)
    within = middle["seconds"] <= LIMIT_SECONDS and middle["mb"] <= LIMIT_MB
    print(f"10 000 layers: {'within' if within else 'beyond'} {LIMIT_SECONDS:.0f} s and {LIMIT_MB:.0f} MB")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())

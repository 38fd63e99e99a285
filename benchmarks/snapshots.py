"""What snapshots cost: the processor time of the worker that copies, compared with that of ten steps.

    python -m benchmarks.snapshots              all nets, about a minute; benchmarks/results/snapshots.json
    python -m benchmarks.snapshots lenet mlp25  some nets; writes nothing without -o

Two workers, data parallel, a process each, with a snapshot every ten steps, on a machine that may have other work:
processor time does not count that. Each worker writes both figures to its log at its end; the larger share counts.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from netpart.cli.provide import provide_data
from netpart.launch.run import run_job
from netpart.proto.job_pb2 import JobProto, Scheme
from netpart.proto.reader import Job, read_job, read_job_text

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "snapshots.json"
WORKERS, EVERY, GOAL = 2, 10, 1.03
MLP = """
name: "mlp25"
updater { type: kAdam learning_rate { type: kFixed base_lr: 0.001 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { batchsize: 64 shape: 1024 } synthetic_conf { classes: 10 } }
  layer { name: "fc1" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 2048 } PARAM }
  layer { name: "r1" type: kReLU srclayers: "fc1" }
  layer { name: "fc2" type: kInnerProduct srclayers: "r1" innerproduct_conf { num_output: 2048 } PARAM }
  layer { name: "r2" type: kReLU srclayers: "fc2" }
  layer { name: "fc3" type: kInnerProduct srclayers: "r2" innerproduct_conf { num_output: 10 } PARAM }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc3" srclayers: "data" }
}
""".replace("PARAM", "param { init { type: kGaussian std: 0.02 } } param { init { type: kConstant value: 0 } }")


COST = re.compile(r"worker \d+: \d+ snapshots, ([\d.]+) ms of processor time each; ([\d.]+) ms a step")


class MeasuredNet(NamedTuple):
    """A net: its job file, "" for MLP; and the steps of a run."""

    conf: str
    steps: int


NETS = {
    "lenet": MeasuredNet("graphs/mnist/conv.conf", 300),
    "resnet18-small": MeasuredNet("graphs/resnet/resnet18-small.conf", 300),
    "gpt-tiny": MeasuredNet("graphs/gpt/tiny.conf", 100),
    "mlp25": MeasuredNet("", 150),
}


def prepare_job(net: MeasuredNet) -> Job:
    """The job of ``net``: only training, without tests and checkpoints."""
    job = read_job(str(ROOT / net.conf)) if net.conf else read_job_text(MLP)
    proto: JobProto = job.proto
    proto.train_steps, proto.disp_freq = net.steps, EVERY
    proto.test_freq = proto.validate_freq = proto.checkpoint_freq = 0
    proto.ClearField("checkpoint_best")
    proto.neuralnet.scheme = Scheme.DATA
    proto.elastic.snapshot_freq = EVERY
    provide_data(job)
    return job


def measure_net(net: MeasuredNet) -> dict[str, float]:
    """Milliseconds of processor time of a snapshot and of a step, on the worker on which the ratio is larger."""
    with TemporaryDirectory() as folder:
        run_job(prepare_job(net), WORKERS, workspace=Path(folder))
        logs = [path.read_text() for path in sorted(Path(folder, "log").iterdir())]
    found = [tuple(map(float, match.groups())) for match in map(COST.search, logs) if match]
    assert len(found) == WORKERS, logs
    snapshot, step = max(found, key=lambda pair: pair[0] / pair[1])
    return {"snapshot_ms": snapshot, "step_ms": step, "ratio": 1 + snapshot / (EVERY * step)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write the results; 1 if a net misses the goal."""
    parser = argparse.ArgumentParser(description="measure what snapshots cost")
    parser.add_argument("nets", nargs="*", choices=[*NETS, []], help="nets (default: all)")
    parser.add_argument("-o", "--output", type=Path, help="write or complete this file of results")
    args = parser.parse_args(arguments)
    output = args.output or (None if args.nets else RESULTS)
    found = json.loads(output.read_text()) if output and output.exists() else {}
    missed = 0
    for name in args.nets or NETS:
        row = found[name] = measure_net(NETS[name])
        missed += row["ratio"] > GOAL
        figures = f"{row['snapshot_ms']:8.2f} ms a snapshot, {row['step_ms']:8.2f} ms a step"
        print(f"{name:15s} {figures}: {row['ratio'] - 1:.2%}", flush=True)
    if output:
        output.write_text(json.dumps(found, indent=2) + "\n")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())

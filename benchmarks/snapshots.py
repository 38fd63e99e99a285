"""What snapshots cost: an elastic run with a snapshot every 10 steps, compared with the same run without.

    python -m benchmarks.snapshots              all nets, about 4 minutes; benchmarks/results/snapshots.json
    python -m benchmarks.snapshots lenet mlp    some nets; writes nothing without -o

Two workers, data parallel, a process each. Both runs of a pair follow each other, in turns which one is first. The time
of a step is that from one report to another, so it has what happens between steps; the first reports are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from netpart.cli.provide import provide_data
from netpart.launch.report.events import Measured
from netpart.launch.run import run_job
from netpart.proto.job_pb2 import JobProto, Scheme
from netpart.proto.reader import Job, read_job, read_job_text

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "snapshots.json"
WORKERS, EVERY, GOAL = 2, 10, 1.03
WARM = 2
"""Reports that are left out at the start."""
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


class MeasuredNet(NamedTuple):
    """A net: its job file, "" for MLP; the steps of a run; and pairs of runs."""

    conf: str
    steps: int
    pairs: int


NETS = {
    "lenet": MeasuredNet("graphs/mnist/conv.conf", 200, 4),
    "resnet18-small": MeasuredNet("graphs/resnet/resnet18-small.conf", 60, 3),
    "gpt-tiny": MeasuredNet("graphs/gpt/tiny.conf", 120, 3),
    "mlp25": MeasuredNet("", 60, 3),
}


def prepare_job(net: MeasuredNet, elastic: bool) -> Job:
    """The job of ``net``: only training, a report every EVERY steps, without tests and checkpoints."""
    job = read_job(str(ROOT / net.conf)) if net.conf else read_job_text(MLP)
    proto: JobProto = job.proto
    proto.train_steps, proto.disp_freq = net.steps, EVERY
    proto.test_freq = proto.validate_freq = proto.checkpoint_freq = 0
    proto.ClearField("checkpoint_best")
    proto.neuralnet.scheme = Scheme.DATA
    if elastic:
        proto.elastic.snapshot_freq = EVERY
    provide_data(job)
    return job


def step_seconds(net: MeasuredNet, elastic: bool) -> float:
    """Seconds of a step of one run."""
    times: list[tuple[int, float]] = []

    def note(event: Any) -> None:
        if isinstance(event, Measured) and event.phase == "train":
            times.append((event.step, event.seconds))

    with TemporaryDirectory() as folder:
        run_job(prepare_job(net, elastic), WORKERS, listener=note, workspace=Path(folder))
    (first, began), (last, ended) = times[WARM], times[-1]
    return (ended - began) / (last - first)


def measure_net(net: MeasuredNet) -> dict[str, float]:
    """Medians of the seconds of a step with snapshots and without, and of the ratios of the pairs."""
    pairs = []
    for turn in range(net.pairs):
        order = (True, False) if turn % 2 else (False, True)
        found = {elastic: step_seconds(net, elastic) for elastic in order}
        pairs.append((found[True], found[False]))
    ratios = [ours / plain for ours, plain in pairs]
    return {
        "with": median(ours for ours, _ in pairs), "without": median(plain for _, plain in pairs),
        "ratio": median(ratios), "least": min(ratios), "most": max(ratios), "pairs": net.pairs,
    }  # fmt: skip


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
        print(
            f"{name:15s} {1e3 * row['without']:8.2f} ms a step, {1e3 * row['with']:8.2f} ms with snapshots:"
            f" {row['ratio'] - 1:+.1%} ({row['least'] - 1:+.1%} to {row['most'] - 1:+.1%})", flush=True,
        )  # fmt: skip
    if output:
        output.write_text(json.dumps(found, indent=2) + "\n")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())

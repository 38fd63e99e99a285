"""Predicted and measured seconds of each layer of an uncut net: where the timing of parts differs from a step.

    python -m benchmarks.layer_predictions lenet gpt

Both are processor seconds of one thread, so that other processes matter less. Timings that are kept are looked up. The
sizes of the nets are those of benchmarks/nets.py.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from statistics import median
from time import thread_time

from benchmarks.machine import again_on_one_thread
from benchmarks.nets import NETS, job
from netpart.graph.graph import LAYER
from netpart.graph.partition import Partition
from netpart.graph.uncut import partition_uncut
from netpart.measure.instruction_seconds import measure_instructions
from netpart.plan.price.devices import measure_devices
from netpart.plan.price.part_prices import TimedPrices
from netpart.plan.timings.host_figures import HostFigures
from netpart.plan.timings.kernel_times import KernelTimes
from netpart.program.kernel_choice import job_kernel_class
from netpart.proto.reader import read_job_text
from netpart.spec import size
from netpart.worker.ensemble import Ensemble

STEPS = 9
WAYS = ("forward", "backward")
Seconds = dict[str, dict[str, float]]
"""By layer, and "update", "copy" and the like for other work, the seconds of each way."""


def main() -> int:
    """Print a table for each net."""
    parser = argparse.ArgumentParser(description="hold the predicted seconds of layers against measured ones")
    parser.add_argument("nets", nargs="*", default=["lenet"], metavar="NET", help=", ".join(NETS))
    args = parser.parse_args()
    if (code := again_on_one_thread("benchmarks.layer_predictions")) is not None:
        return code
    (device,) = measure_devices(1).devices
    instruction, step = measure_instructions()
    figures = HostFigures(device.speed, device.streaming, instruction=instruction, step=step)
    for net in args.nets:
        found = read_job_text(f"{job(NETS[net], 1)}", net)
        cut = partition_uncut(found.proto, found.folder, ("train",))
        _print_layers(net, _measured_seconds(cut), _predicted_seconds(cut, figures))
    return 0


def _measured_seconds(cut: Partition) -> Seconds:
    """The median seconds of each layer in a few steps on one worker."""
    ensemble = Ensemble(cut, kernels=job_kernel_class(cut.job))
    ensemble.initialise()
    ensemble.step("train", 0)
    (player,) = ensemble.players
    player.trace.now = thread_time
    steps = list[dict[tuple[str, str], float]]()
    for step in range(1, STEPS):
        player.trace.events = []
        ensemble.step("train", step)
        sums = defaultdict[tuple[str, str], float](float)
        for event in player.trace.events:
            way, _, rest = event.name.partition(" ")
            layer = rest.partition("+")[0] if way in WAYS else way
            sums[layer, way] += event.end - event.start
        steps.append(sums)
    found: Seconds = defaultdict(dict)
    for layer, way in steps[0]:
        found[layer][way] = median(sums[layer, way] for sums in steps)
    return found


def _predicted_seconds(cut: Partition, figures: HostFigures) -> Seconds:
    """The same by timed kernels."""
    times = KernelTimes(job_kernel_class(cut.job), "float32", 1, figures)
    prices = TimedPrices(times, cores=1)
    found: Seconds = {}
    for part in cut.graph.parts:
        if part.kind == LAYER:
            work = prices.part_work(cut.graph, part)
            found[part.name] = {"forward": work.forward / figures.speed, "backward": work.backward / figures.speed}
    sizes = (size(h.home) for h in cut.holdings[0] if h.parameter.name in cut.trained)
    update = sum(prices.update_work(cut, elements) for elements in sizes)
    found["update"] = {"update": update / figures.speed}
    whole = sum(sum(ways.values()) for ways in found.values())
    found["step"] = {"step": whole + prices.step_work() / figures.speed}
    return found


def _print_layers(net: str, measured: Seconds, predicted: Seconds) -> None:
    """Print the seconds of each layer, in microseconds."""
    print(f"\n{net}\n{'layer':24}" + "".join(f"{way:>14}{'predicted':>12}" for way in WAYS))
    for layer in dict.fromkeys((*predicted, *measured)):
        ways = WAYS if {*measured.get(layer, {}), *predicted.get(layer, {})} <= {*WAYS} else (layer,)
        pairs = [(each.get(layer, {}).get(way, 0.0) * 1e6) for way in ways for each in (measured, predicted)]
        print(f"{layer:24}" + "".join(f"{a:14.1f}{b:12.1f}" for a, b in zip(pairs[::2], pairs[1::2], strict=True)))
    ratio = predicted["step"]["step"] / measured["step"]["step"]
    print(f"the step is predicted {ratio - 1:+.1%}; copies and sums are in the predictions of their layers")


if __name__ == "__main__":
    sys.exit(main())

"""Sum speed: what sums of gradients take two workers of this host, as a step of data parallelism sees it.

A worker that shares memory with another reads its gradients where they lie and adds them there. So a sum takes other
seconds than messages of the same bytes, and more or fewer by the transport. The link of sums has, for each message, the
seconds of both ends, the copying and the adding: the overhead is that of small gradients, the bandwidth is that of
gradients beyond caches.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import quantiles

from netpart.collectives.network import LinkCost
from netpart.measure.profile import ProfiledRun, profile_job
from netpart.measure.timeline import TALK
from netpart.plan.price.gradient_sums import SUM_WAYS
from netpart.plan.price.ledger import compute_ledger
from netpart.proto.reader import Job, read_job_text

LAYERS, STEPS, ROUNDS = 8, 20, 2
"""The faster of ROUNDS runs counts: others that use the memory of the host for seconds slow a run up to threefold."""
SMALL, LARGE = 1 << 4, 1 << 10
"""Sides of the square parameters whose gradients are summed."""


def measure_sums(transport: str, latency: float) -> LinkCost:
    """The link of sums of gradients between two processes of this host over ``transport``, whose messages have this
    ``latency``. Takes some seconds."""
    rounds = [[_profile_sums(side, transport) for side in (SMALL, LARGE)] for _ in range(ROUNDS)]
    few, many = (min(runs, key=_talking_seconds) for runs in zip(*rounds, strict=True))
    # Both ends of a message count, and each worker sends as many as it takes.
    overhead = _talking_seconds(few) / (2 * _sent_messages(few)[0])
    count, nbytes = _sent_messages(many)
    talking = _talking_seconds(many)
    # Messages of LARGE squares spend most of their seconds with bytes. Where the difference says otherwise, other work
    # disturbed the small ones.
    moving = max(talking - 2 * count * overhead, talking / 2)
    return LinkCost(latency, overhead, nbytes / moving)


def _profile_sums(side: int, transport: str) -> ProfiledRun:
    """The profile of a run that sums the gradients of squares of ``side``."""
    return profile_job(_summing_job(side), 2, STEPS, transport=transport)


def _talking_seconds(run: ProfiledRun) -> float:
    """The seconds of a step for which a worker works for messages, the mean of both workers: a quarter of the steps
    have less, as longer ones are the work of others more often than its own."""
    spent = [
        sum(event.seconds for event in run.timeline.of_step(step).events if event.kind == TALK)
        for step in run.timeline.steps
    ]
    return quantiles(spent)[0] / 2


def _sent_messages(run: ProfiledRun) -> tuple[int, int]:
    """The messages of sums that the first worker sends in a step, and their bytes."""
    sizes = [e.nbytes for e in compute_ledger(run.cut).entries if e.channel.way in SUM_WAYS and e.source == 0]
    return len(sizes), sum(sizes)


def _summing_job(side: int) -> Job:
    """A job of data parallelism that sums the gradients of LAYERS squares one by one."""
    weight = "param { init { type: kConstant } }"
    text = f"store_conf {{ batchsize: 2 shape: {side} }} synthetic_conf {{ classes: 2 batches: 1 }}"
    layers = [f'layer {{ name: "data" type: kSyntheticInput {text} }}']
    names = ["data", *(f"fc{i}" for i in range(LAYERS))]
    for source, name in pairwise(names):
        conf = f"innerproduct_conf {{ num_output: {side} bias_term: false }} {weight}"
        layers.append(f'layer {{ name: "{name}" type: kInnerProduct srclayers: "{source}" {conf} }}')
    layers.append(f'layer {{ name: "loss" type: kSoftmaxLoss srclayers: "{names[-1]}" srclayers: "data" }}')
    rule = "updater { type: kSGD learning_rate { type: kFixed base_lr: 0 } }"
    net = f"neuralnet {{ partition_dim: 0 {' '.join(layers)} }}"
    return read_job_text(f"bucket_bytes: 1 train_one_batch {{ alg: kBP }} {rule} {net}")

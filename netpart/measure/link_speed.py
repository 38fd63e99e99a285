"""Link speed between workers of this host, as a step sees it: both workers send at once, and between two messages
they work on other data.

The overhead and the bandwidth are those of an exchange, in which each worker sends, and then takes what the other has
sent. They include all that a step takes longer by it: workers wait for each other, as equal work never takes equally
long, and run more instructions. The latency is that of a message passed back and forth.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median, quantiles

from netpart.collectives.network import LinkCost
from netpart.measure.profile import profile_job
from netpart.measure.timeline import STEP, WAIT, Timeline, TimelineMessage, own_seconds
from netpart.proto.reader import Job, read_job_text

HOPS, STEPS = 16, 20
SMALL, MIDDLE, LARGE = 4, 1 << 9, 1 << 11
"""Sides of the squares of floats that are exchanged. Small ones between middle ones give the overhead. Large ones give
the bandwidth beyond a core's caches, where messages are that take long."""
OTHER = 1 << 11
"""The side of squares that are not exchanged: they pass through the caches between two messages."""
ITEM = 4
"""Bytes of a float32."""


def measure_link(transport: str = "auto") -> LinkCost:
    """The link between two processes of this host over ``transport``. Takes some seconds."""
    middle, large, back_and_forth = (
        profile_job(job, 2, STEPS, transport=transport).timeline
        for job in (_exchange_job(MIDDLE), _exchange_job(LARGE), _ping_pong_job())
    )
    overhead = _end_seconds(middle, "small") / 2
    moving = _end_seconds(large, "large") - _end_seconds(large, "small")
    # Each worker sends the half of its rows that the other one needs.
    bandwidth = LARGE**2 // 4 * ITEM / max(moving, 1e-9)
    return LinkCost(max(0.0, _link_latency(back_and_forth) - overhead), overhead, bandwidth)


def _end_seconds(timeline: Timeline, name: str) -> float:
    """The seconds that both ends take for a message of the tensors that are called ``name``, with the waits of which a
    quarter of the steps have less: longer ones are the work of others more often than its own."""
    found = [message for message in timeline.messages if name in message.sent.text]
    working = median(m.sent.seconds for m in found) + median(m.taken.seconds for m in found)
    played = [[e for e in timeline.of_worker(w) if e.step == step] for step in timeline.steps for w in range(2)]
    waits = [sum(e.seconds for e in each if e.kind == WAIT and name in e.text) for each in played]
    between = median(own_seconds(each)[STEP] for each in played)
    return working + quantiles(waits)[0] / HOPS + between / (2 * HOPS)


def _exchange_job(side: int) -> Job:
    """A job whose two workers exchange halves of small squares and of large ones of this side in turn, which are cut on
    rows, then on columns, and so on; others stay where they are."""
    sizes = {"small": SMALL, "other": OTHER, "large": side}
    rows = {name: f"batchsize: {n} shape: {n}" for name, n in sizes.items()}
    layers = [_data_layer(f"{name}_data", shape, "partition_dim: 0") for name, shape in rows.items()]
    for hop in range(HOPS):
        for name in sizes:
            source = f"{name}{hop - 1}" if hop else f"{name}_data"
            where = f"partition_dim: {0 if name == 'other' else (hop + 1) % 2}"
            layers.append(f'layer {{ name: "{name}{hop}" type: kReLU srclayers: "{source}" {where} }}')
    return _job_of_layers(layers)


def _ping_pong_job() -> Job:
    """A job that passes a small square back and forth between two workers."""
    layers = [_data_layer("data", f"batchsize: 1 shape: {SMALL} shape: {SMALL}", "location: 0")]
    for hop in range(HOPS):
        source = f"hop{hop - 1}" if hop else "data"
        layers.append(f'layer {{ name: "hop{hop}" type: kReLU srclayers: "{source}" location: {(hop + 1) % 2} }}')
    return _job_of_layers(layers)


def _data_layer(name: str, shape: str, where: str) -> str:
    """A layer of rows in memory."""
    conf = f"store_conf {{ {shape} }} synthetic_conf {{ classes: 2 batches: 1 }}"
    return f'layer {{ name: "{name}" type: kSyntheticInput {where} {conf} }}'


def _job_of_layers(layers: list[str]) -> Job:
    """A job that trains ``layers``."""
    rule = "updater { type: kSGD learning_rate { type: kFixed base_lr: 0 } }"
    return read_job_text(f"train_one_batch {{ alg: kBP }} {rule} neuralnet {{ {' '.join(layers)} }}")


def _hop_messages(timeline: Timeline) -> list[TimelineMessage]:
    """The messages of the net itself."""
    return [message for message in timeline.messages if "hop" in message.sent.text]


def _link_latency(timeline: Timeline) -> float:
    """Seconds from the end of a send to the end of the wait for its message: the mean of both directions.

    The difference between the clocks of the two workers cancels in that mean.
    """
    return sum(median(_wake_delays(timeline, worker)) for worker in range(2)) / 2


def _wake_delays(timeline: Timeline, worker: int) -> Iterator[float]:
    """For each message to ``worker``, the seconds until it woke that worker."""
    waits = [event for event in timeline.events if event.worker == worker and event.kind == WAIT]
    ends = {(wait.step, wait.text.removeprefix("wait ")): wait.end for wait in waits}
    for message in _hop_messages(timeline):
        if message.taken.worker == worker:
            yield ends[message.taken.step, message.taken.text] - message.sent.end

"""Link speed between workers of this host, measured with a message passed back and forth between two of them."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from netpart.collectives.network import LinkCost
from netpart.measure.profile import profile_job
from netpart.measure.timeline import WAIT, Timeline, TimelineMessage
from netpart.proto.reader import Job, read_job_text

HOPS, STEPS = 16, 20
SMALL, LARGE = 4, 1 << 10
"""Sides of the squares of floats that are sent. The small one gives overhead and latency, the large one bandwidth."""
ITEM = 4
"""Bytes of a float32."""


def measure_link(transport: str = "auto") -> LinkCost:
    """The link between two processes of this host over ``transport``. Takes some seconds."""
    small, large = (profile_job(_ping_pong_job(n), 2, STEPS, transport=transport).timeline for n in (SMALL, LARGE))
    overhead = median(m.sent.seconds for m in _hop_messages(small))
    sending = median(m.sent.seconds for m in _hop_messages(large))
    bandwidth = LARGE**2 * ITEM / max(sending - overhead, 1e-9)
    return LinkCost(max(0.0, _link_latency(small) - overhead), overhead, bandwidth)


def _ping_pong_job(side: int) -> Job:
    """A job that passes ``side`` x ``side`` floats back and forth between two workers."""
    data = 'layer { name: "data" type: kSyntheticInput location: 0 '
    layers = [
        data
        + f"store_conf {{ batchsize: 1 shape: {side} shape: {side} }} synthetic_conf {{ classes: 2 batches: 1 }} }}"
    ]
    for hop in range(HOPS):
        source = f"hop{hop - 1}" if hop else "data"
        layers.append(f'layer {{ name: "hop{hop}" type: kReLU srclayers: "{source}" location: {(hop + 1) % 2} }}')
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

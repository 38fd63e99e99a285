"""Order of a step: which worker does what after what, and what it waits for, played on counters instead of tensors.

It is the order of the deadlock check: a receive waits for its message, a wait for the start of all members, and a send
for nothing. Time is counted in ticks: whatever can be done takes one, and nothing else takes any. So the order shows
who depends on whom, not how long it takes (``netpart simulate`` predicts that).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from netpart.graph.graph import Graph
from netpart.graph.partition import Partition
from netpart.plan.price.worker_memory import ModelledWorker, model_workers
from netpart.program.instructions import (
    Backward,
    Channel,
    CollectiveStart,
    CollectiveWait,
    Forward,
    Instruction,
    Receive,
    Send,
    Update,
    Way,
)  # fmt: skip
from netpart.program.messages.communication import Communication, MessageVerb, list_communications
from netpart.program.messages.translate_channels import translate_communications
from netpart.program.program import SERVER_WAYS
from netpart.updaters import build_updater

FORWARD, BACKWARD, SEND, RECEIVE, START, WAIT, UPDATE = range(7)
VERBS = "forward", "backward", "sends", "receives", "starts", "completes", "updates"
"""The texts of the verbs, by their number."""
_OF_MESSAGE = {
    MessageVerb.SEND: SEND, MessageVerb.RECEIVE: RECEIVE, MessageVerb.START: START, MessageVerb.WAIT: WAIT,
}  # fmt: skip


class StepAct(NamedTuple):
    """What a worker does: ``name`` is that of a part, collective, bucket or parameter. ``peer`` is the other end of a
    message. ``wanted`` is how often ``channel`` has to be counted before; 0 waits for nothing."""

    verb: int
    name: str
    layer: str = ""
    micro: int = 0
    peer: int = -1
    channel: Channel | None = None
    wanted: int = 0


class StepEvent(NamedTuple):
    """An act, and the tick in which it is done: its worker waited since the tick after its last one."""

    tick: int
    act: StepAct


def order_step(partition: Partition) -> list[list[StepEvent]]:
    """The events of a training step of ``partition``, by worker."""
    return play_acts([list(_worker_acts(partition, each, each_said)) for each, each_said in _spoken(partition)])


def _spoken(partition: Partition) -> Iterator[tuple[ModelledWorker, list[Communication]]]:
    """Every worker with the communications of its training step."""
    slots = len(build_updater(partition.job.updater).states)
    spoken = {}
    for each in model_workers(partition, 0 if partition.servers else slots):
        if each.model.worker not in spoken:
            spoken[each.model.worker] = list_communications(each.program, shared=True)
        said = translate_communications(spoken[each.model.worker], each.model, each.shape)
        yield each, said["train"]


def _worker_acts(partition: Partition, worker: ModelledWorker, said: Sequence[Communication]) -> Iterator[StepAct]:
    """The acts of one worker, in its order. Copies and sums within a worker are left out."""
    micros = partition.phases["train"]
    parts = {id(micro.graph): worker.match_parts(micro.graph) for micro in micros}
    talk = iter(said)
    for each in worker.program.phases["train"].in_turn:
        match each:
            case Forward() | Backward():
                verb = FORWARD if isinstance(each, Forward) else BACKWARD
                graph = micros[each.micro].graph
                for number in _computed_parts(each):
                    part = parts[id(graph)][number]
                    yield StepAct(verb, part.name, graph.net.nodes[part.node].name, each.micro)
            case Send() | Receive() | CollectiveStart() | CollectiveWait():
                yield _message_act(partition, next(talk))
            case Update():
                parameter = partition.holdings[worker.shape.worker][each.holding].parameter.name
                yield StepAct(UPDATE, parameter, parameter.rpartition("/")[0])


def _computed_parts(call: Forward | Backward) -> Iterator[int]:
    """The parts that one call computes: an activation may be in the kernel of the part before it."""
    fused: Instruction | None = call.then if isinstance(call, Forward) else call.first
    own = [call.part]
    inner = [fused.part] if isinstance(fused, Forward | Backward) else []
    yield from (own + inner if isinstance(call, Forward) else inner + own)


def _message_act(partition: Partition, c: Communication) -> StepAct:
    """The act of a message, or of the start or end of a collective."""
    verb = _OF_MESSAGE[c.verb]
    wanted = 0
    if verb == RECEIVE and not c.lag and c.channel.way not in SERVER_WAYS:
        wanted = 1
    return StepAct(verb, c.name, _carried_layer(partition, c.channel), c.channel.micro, c.peer, c.channel, wanted)


def _carried_layer(partition: Partition, channel: Channel) -> str:
    """The layer whose output or gradient a message carries; "" for gradients of parameters."""
    if channel.way not in (Way.FORWARD, Way.BACKWARD, Way.REDUCE):
        return ""
    graph: Graph = partition.phases["train"][channel.micro].graph
    return graph.net.nodes[graph.part_at(channel.edge).node].name


def play_acts(workers: Sequence[Sequence[StepAct]]) -> list[list[StepEvent]]:
    """Play the acts of all workers, one a tick each, until none is left or none can go on."""
    members = Counter(act.channel for acts in workers for act in acts if act.verb == START)
    counted = Counter[Channel | None]()
    found: list[list[StepEvent]] = [[] for _ in workers]
    tick = 0
    while True:
        # What is counted in a tick lets others go on in the next one.
        able = [acts[len(done)] for acts, done in zip(workers, found, strict=True) if len(done) < len(acts)]
        ready = [
            (worker, acts[len(done)])
            for worker, (acts, done) in enumerate(zip(workers, found, strict=True))
            if len(done) < len(acts) and _is_ready(acts[len(done)], counted, members)
        ]
        if not able or not ready:
            return found
        for worker, act in ready:
            found[worker].append(StepEvent(tick, act))
            counted[act.channel] += act.verb in (SEND, START)
        tick += 1


def _is_ready(act: StepAct, counted: Counter[Channel | None], members: Counter[Channel | None]) -> bool:
    """True if nothing that ``act`` waits for is missing."""
    return counted[act.channel] >= (members[act.channel] if act.verb == WAIT else act.wanted)

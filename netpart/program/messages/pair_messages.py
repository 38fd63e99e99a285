"""Pairing of messages: checks that every message of one phase has its other end, before the deadlock check.

The messages of a collective are tagged at both ends with their indices in its schedule. A member takes them in that
order, and sends a message once it has what the message forwards. So if every message has its other end, each can be
sent once those before it are, and a collective completes as soon as all its members have started it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from netpart.program.instructions import Channel
from netpart.program.messages.communication import Communication, Leg, MessageVerb

ChannelEnds = dict[Channel, tuple[int, Communication]]
MemberLegs = tuple[tuple[int, tuple[Leg, ...]], ...]
"""(worker, legs) of every member of a collective."""


def pairing_faults(announced: Sequence[list[Communication]]) -> Iterator[str]:
    """Texts of the faults among the workers of one phase: a message without its other end, with another one than it
    names, or with a channel that is used twice."""
    yield from _repeated_channels(announced)
    sent = _channel_ends(announced, MessageVerb.SEND)
    received = _channel_ends(announced, MessageVerb.RECEIVE)
    for channel, (worker, send) in sent.items():
        if channel not in received:
            yield f"worker {worker}: {_describe_communication(send)} to worker {send.peer}, but no worker receives it"
        else:
            yield from _mismatched_ends(worker, send, *received[channel])
    for channel, (worker, receive) in received.items():
        if channel not in sent:
            text = _describe_communication(receive)
            yield f"worker {worker}: {text} from worker {receive.peer}, but no worker sends it"
    yield from _unfinished_collectives(announced)
    yield from _disagreeing_members(announced)


def _repeated_channels(announced: Sequence[list[Communication]]) -> Iterator[str]:
    """Texts of channels used twice in a step: by two senders or receivers, twice by one member, or by two kinds."""
    users = Counter[tuple[Channel, MessageVerb, int]]()
    kinds: dict[Channel, bool] = {}
    for worker, found in enumerate(announced):
        for c in found:
            bridge = c.verb in (MessageVerb.SEND, MessageVerb.RECEIVE)
            # A bridge has one sender and one receiver in all; each member of a collective uses its channel once.
            user = (c.channel, c.verb, -1 if bridge else worker)
            users[user] += 1
            if users[user] == 2 or kinds.setdefault(c.channel, bridge) != bridge:
                text = _describe_communication(c)
                yield f"worker {worker}: {text}, but something else uses its channel in the same step"


def _channel_ends(announced: Sequence[list[Communication]], verb: MessageVerb) -> ChannelEnds:
    """(worker, communication) of every channel's sender, or of its receiver."""
    return {c.channel: (worker, c) for worker, found in enumerate(announced) for c in found if c.verb == verb}


def _mismatched_ends(sender: int, send: Communication, receiver: int, receive: Communication) -> Iterator[str]:
    """Texts of differences between the two ends of a message: other workers or other contents."""
    if (send.peer, receive.peer) != (receiver, sender):
        yield (
            f"worker {sender}: {_describe_communication(send)} to worker {send.peer}, but worker {receiver} "
            f"receives it, from worker {receive.peer}"
        )
    elif (send.shape, send.dtype) != (receive.shape, receive.dtype):
        expects = f"which expects {_describe_content(receive)}"
        yield f"worker {sender}: {_describe_communication(send)} to worker {receiver}, {expects}"


def _unfinished_collectives(announced: Sequence[list[Communication]]) -> Iterator[str]:
    """Texts of collectives that a worker starts and does not await, or awaits and has not started."""
    for worker, found in enumerate(announced):
        started: dict[Channel, Communication] = {}
        for c in found:
            if c.verb == MessageVerb.START:
                started[c.channel] = c
            elif c.verb == MessageVerb.WAIT and started.pop(c.channel, None) is None:
                yield f"worker {worker}: {_describe_communication(c)}, but has not started it before"
        yield from (f"worker {worker}: {_describe_communication(c)}, but never waits for it" for c in started.values())


def _disagreeing_members(announced: Sequence[list[Communication]]) -> Iterator[str]:
    """Texts of collectives whose members do not agree."""
    for members in started_collectives(announced).values():
        _, first = members[0]
        for worker, c in members:
            if (c.shape, c.dtype) != (first.shape, first.dtype):
                has = f"of which worker {members[0][0]} has {_describe_content(first)}"
                yield f"worker {worker}: {_describe_communication(c)}, {has}"
        if not _share_exchange(members):
            wrong = _broken_leg(tuple((worker, c.legs_of(worker)) for worker, c in members))
            if wrong:
                yield f"{_describe_communication(first)}: {wrong}"


def _share_exchange(members: Sequence[tuple[int, Communication]]) -> bool:
    """True if all members, and no others, start one exchange: both ends of its messages come from one schedule."""
    shared = members[0][1].exchange
    if shared is None or any(c.exchange is not shared for _, c in members):
        return False
    return sorted(worker for worker, _ in members) == sorted(shared.members)


def started_collectives(announced: Sequence[list[Communication]]) -> dict[Channel, list[tuple[int, Communication]]]:
    """(worker, start) of all members of each collective, by its channel."""
    found: dict[Channel, list[tuple[int, Communication]]] = {}
    for worker, each in enumerate(announced):
        for c in each:
            if c.verb == MessageVerb.START:
                found.setdefault(c.channel, []).append((worker, c))
    return found


@lru_cache(maxsize=64)
def _broken_leg(members: MemberLegs) -> str:
    """A text for the first message of a collective without its other end; "" if all have theirs."""
    joined = {worker for worker, _ in members}
    sent = {(leg.message, w, leg.peer): leg.sent for w, legs in members for leg in legs if leg.sent}
    received = {(leg.message, leg.peer, w): leg.received for w, legs in members for leg in legs if leg.received}
    for i, source, target in sorted(sent.keys() | received.keys()):
        out, came = (found.get((i, source, target), 0) for found in (sent, received))
        if out != came:
            absent = [f", which worker {w} never starts" for w in (source, target) if w not in joined]
            return (
                f"in message {i} worker {source} sends {out} elements to worker {target}, which expects {came}"
                + "".join(absent)
            )
    return ""


def _describe_communication(c: Communication) -> str:
    """A communication as text, with its contents and channel."""
    carried = f" of {_describe_content(c)}" if c.dtype else ""
    return f"{c}{carried} ({describe_channel(c.channel)})"


def _describe_content(c: Communication) -> str:
    """The type and shape of the contents of a communication, as text."""
    return f"{c.dtype} {'×'.join(map(str, c.shape)) or 'scalar'}"


def describe_channel(channel: Channel) -> str:
    """A channel as text."""
    return f"{channel.way.name.lower()}, micro-batch {channel.micro}, edge {channel.edge}"

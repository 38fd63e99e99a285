"""Codec of a worker's communications: what it will send and receive, encoded for the coordinator's deadlock check.

The workers report this because they have it. Each has compiled its own Programs anyway, all at the same time, so
nothing is compiled twice and no process holds all Programs. What is checked is also exactly what will be played, even
if a host has another version of netpart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netpart.errors import LONGEST, clip_text
from netpart.program.instructions import Channel, Way
from netpart.program.messages.communication import Communication, Leg, MessageVerb, Phases
from netpart.proto.control_pb2 import CommunicationProto, LegsProto, SpokenProto
from netpart.proto.limits import WORKERS as MEMBERS


def encode_communications(phases: Phases) -> Iterator[SpokenProto]:
    """Encode the communications, one message per phase."""
    for phase, announced in phases.items():
        # Many collectives share a schedule, so each distinct one is sent once and referred to by number.
        numbers: dict[tuple[Leg, ...], int] = {}
        message = SpokenProto(phase=phase)
        message.communication.extend(_encode_communication(c, numbers) for c in announced)
        message.legs.extend(LegsProto(number=[n for leg in legs for n in leg]) for legs in numbers)
        yield message


def _encode_communication(c: Communication, numbers: dict[tuple[Leg, ...], int]) -> CommunicationProto:
    """Encode one communication; ``numbers`` collects the distinct schedules."""
    legs = numbers.setdefault(c.legs, len(numbers)) if c.verb == MessageVerb.START else -1
    return CommunicationProto(
        verb=c.verb, name=c.name, channel=c.channel, peer=c.peer, shape=c.shape, dtype=c.dtype, legs=legs, lag=c.lag
    )


def decode_communications(messages: Iterable[SpokenProto]) -> Phases:
    """The inverse of ``encode_communications``."""
    return {clip_text(message.phase): list(_decode_phase(message)) for message in messages}


def _decode_phase(message: SpokenProto) -> Iterator[Communication]:
    """The communications of one phase."""
    legs = [tuple(Leg(*each.number[i : i + 4]) for i in range(0, len(each.number), 4)) for each in message.legs]
    for c in message.communication:
        phase, way, micro, edge, chunk = c.channel
        channel = Channel(phase, Way(way), micro, edge, chunk)
        found = legs[c.legs] if c.legs >= 0 else ()
        if not 0 <= c.lag <= MEMBERS or len(c.dtype) > LONGEST:
            raise ValueError(f"a lag of {c.lag} steps and a dtype of {len(c.dtype)} characters")
        yield Communication(
            MessageVerb(c.verb), clip_text(c.name), channel, c.peer, tuple(c.shape), c.dtype, found, c.lag
        )

"""MessageBinder: binds what a worker sends and receives in a phase to arrays and to a transport."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from netpart.choices import NCCL
from netpart.kernels.arrays import Arrays
from netpart.kernels.op import Array
from netpart.program.buffers import View
from netpart.program.instructions import Channel, CollectiveStart, Receive, Send
from netpart.program.messages.communication import exchange_legs
from netpart.program.messages.wire_memory import (
    AHEAD,
    messages_ahead,
    peer_read_messages,
    peer_written_messages,
    staying_messages,
)
from netpart.program.program import Program
from netpart.worker.actions import RECEIVE, SEND, Action, RunningCollective
from netpart.worker.collective_progress import CollectiveProgress
from netpart.worker.gpu.nccl_collectives import NcclCall
from netpart.worker.machine import Machine, PhaseArrays

if TYPE_CHECKING:
    from netpart.transport.transport import Transport
    from netpart.worker.gpu.communicators import Communicators


class MessageBinder:
    """Binder of the messages of ``program``, which announces the expected ones to ``transport``.

    ``running`` are the collectives by channel. Those of NCCL are calls of ``communicators``. ``verbs`` move what
    messages carry.
    """

    def __init__(
        self, machine: Machine, program: Program, arrays: PhaseArrays, verbs: Arrays, transport: Transport | None,
        communicators: Communicators | None,
    ) -> None:  # fmt: skip
        self.machine = machine
        self.verbs = verbs
        self.program = program
        self.arrays = arrays
        self.transport = transport
        self.communicators = communicators
        self.running: dict[Channel, RunningCollective] = {}

    def send(self, send: Send) -> Action:
        array = self.arrays.lying(send.source)
        rank = self.program.rank(send.peer)
        return Action(SEND, f"send {send.name}", array=array, peer=rank, channel=send.channel)

    def receive(self, receive: Receive) -> Action:
        array = self.arrays.lying(receive.target)
        rank = self.program.rank(receive.peer)
        self.expect(receive.channel, rank, array.shape, array.dtype, AHEAD + receive.lag)
        take = self.verbs.take(array)
        return Action(RECEIVE, f"receive {receive.name}", array=array, peer=rank, channel=receive.channel, take=take)

    def expect(
        self, channel: Channel, peer: int, shape: tuple[int, ...], dtype: Any, most: int = AHEAD, place: Array = None,
        stays: bool = False,
    ) -> None:  # fmt: skip
        if self.transport is not None:
            self.transport.expect(channel, peer, shape, dtype, most, place, stays)

    def start(self, start: CollectiveStart, then: list[Action]) -> RunningCollective:
        """Bind a collective to its arrays and announce its messages to the transport; ``then`` are the actions
        after it."""
        found = start.exchange
        place = start.exchange.place(self.machine.program.worker)
        lying = {view: self.arrays.lying(view) for view in (*start.local, *start.target) if view is not None}
        local, target = ([v and lying[v] for v in views] for views in (start.local, start.target))
        progress = CollectiveProgress(
            found.schedule,
            place,
            found.sizes,
            local,
            target,
            start.pack and self.arrays(start.pack),
            self.verbs,
            found.messages_by_place[place],
        )
        ranks = tuple(map(self.program.rank, found.members))
        # Every call of NCCL is marked on the first channel, also when the first message is between other members.
        named = range(len(found.schedule)) if found.algorithm == NCCL else found.messages_by_place[place]
        channels = {index: start.channel._replace(chunk=index) for index in named}
        # Each message of a collective has a channel of its own, the chunk being its index in the schedule.
        running = RunningCollective(start.name, progress, channels, ranks, then, then)
        self.running[start.channel] = running
        element = np.dtype(self.machine.element(start.dtype))
        if self.communicators is not None and self.machine.xp is not np and found.algorithm == NCCL:
            owner = self.communicators
            kernels = self.machine.kernels
            running.call = NcclCall(owner, kernels, found, ranks, local, target, element)
            self.machine.wire_bytes += running.call.nbytes
            # NCCL's traffic is invisible here, so the bytes of the schedule are counted instead, to compare with the
            # prediction.
            legs = exchange_legs(found, place)
            running.counted = [(channels[leg.message], leg.sent * element.itemsize) for leg in legs if leg.sent]
            return running
        places = {index: lying[view] for index, view in peer_written_messages(self.machine.program, start)}
        for peer, index, shape in progress.messages:
            most = messages_ahead(found, start.channel.way)
            stays = index in found.staying
            self.expect(channels[index], ranks[peer], shape, element, most, places.get(index), stays)
        self.keep(start, lying)
        return running

    def keep(self, start: CollectiveStart, lying: Mapping[View, Array]) -> None:
        """Announce which messages of a collective stay in this memory, and which of these need no slot."""
        program = self.machine.program
        element = self.machine.element(start.dtype)
        places = {index: lying[view] for index, view in peer_read_messages(program, start)}
        for index, view in staying_messages(program, start):
            channel = start.channel._replace(chunk=index)
            message = start.exchange.schedule[index]
            rank = self.program.rank(start.exchange.members[message.target])
            if self.transport is not None:
                self.transport.keep(channel, rank, lying[view].shape, element, places.get(index))

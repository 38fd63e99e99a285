"""CollectiveRunner: collectives that have been started and progress as messages arrive, while other actions are
played."""

from __future__ import annotations

from collections.abc import Iterator

from netpart.kernels.op import Array
from netpart.worker.actions import RunningCollective, run_kernel_action
from netpart.worker.array_transfer import ArrayTransfer
from netpart.worker.machine import Machine
from netpart.worker.trace import PHRASES, WorkerTrace
from netpart.worker.wait_reasons import StreamMarks, WaitReason


class CollectiveRunner:
    """The collectives of one worker that are ``running``. NCCL calls are not among them, as they progress by
    themselves."""

    def __init__(self, machine: Machine, post: ArrayTransfer, trace: WorkerTrace, marks: StreamMarks) -> None:
        self.device = machine.kernels.device
        self.clock = machine.clock
        self.post = post
        self.trace = trace
        self.marks = marks
        self.running: list[RunningCollective] = []
        self.seen = -1

    def start(self, running: RunningCollective, number: int, delay: int = 0) -> None:
        """Start a collective, whose messages have this ``number``, for the mini-batch of ``delay`` steps before."""
        running.number = number
        running.delay = delay
        if running.call is not None:
            return self.call(running)
        self.running.append(running)
        self.seen = -1  # its first message may have arrived already, so ``advance`` must look
        self.pass_on(running, running.progress.start())

    def call(self, running: RunningCollective) -> None:
        """Let NCCL begin a collective, and count the bytes that its messages would have."""
        assert running.call is not None
        assert self.post.transport is not None
        running.call.start()
        for channel, nbytes in running.counted:
            self.post.transport.count(channel, nbytes)

    def complete(self, running: RunningCollective, phase: str) -> Iterator[WaitReason]:
        """Wait until a started collective is complete. For one of NCCL, only the device waits."""
        if running.call is not None:
            running.call.wait()
            if self.trace.events is not None:
                self.marks.make()
                yield from self.marks.wait(phase)
            return self.follow(running)
        self.advance()
        while (expected := running.progress.expects()) is not None:
            place, index = expected
            yield WaitReason(running.name, running.members[place], phase, running.number, running.channels[index])
            self.advance()

    def advance(self) -> None:
        """Advance every collective as far as the received messages allow."""
        transport = self.post.transport
        assert transport is not None
        arrivals = transport.arrivals
        # Called before every action, so the common case, nothing new, must cost next to nothing.
        if arrivals == self.seen or not self.running:
            return
        self.seen = arrivals
        for running in self.running:
            while (expected := running.progress.expects()) is not None:
                arrived = transport.receive(running.channels[expected[1]], running.number)
                if arrived is None:
                    break
                began = self.trace.now()
                self.pass_on(running, running.progress.deliver(self.post.on_device(arrived)))
                self.trace.note(f"receive {running.name}", began, running.channels[expected[1]], running.delay)
        # The list is replaced before ``follow`` runs, as that may start further collectives and append to it.
        complete = [running for running in self.running if running.progress.done]
        self.running = [running for running in self.running if not running.progress.done]
        for running in complete:
            self.follow(running)

    def follow(self, running: RunningCollective) -> None:
        """Run the actions that follow a complete collective."""
        traced = self.trace.events is not None
        for action in running.then if traced else running.then_replayed:
            began = self.trace.now()
            if action.run is not None:
                run_kernel_action(action, self.device, self.clock, traced)
            elif action.running is not None:
                self.start(action.running, running.number, running.delay)
            self.trace.note(PHRASES.get(action.kind, "") + action.name, began, action.channel)

    def pass_on(self, running: RunningCollective, sends: Iterator[tuple[int, int, Array]]) -> None:
        """Send what a collective can send now."""
        for place, index, view in sends:
            began = self.trace.now()
            channel = running.channels[index]
            self.post.send(channel, running.number, running.members[place], view)
            self.trace.note(f"send {running.name}", began, channel, running.delay)

"""ServerCompiler: compiles a server's Programs. Each group has one that receives its gradients and one that sends it
the values; the updates between them are the same for all groups."""

from __future__ import annotations

from netpart.graph.holdings import ServerPiece
from netpart.graph.partition import Partition
from netpart.program.buffer_table import BufferTable
from netpart.program.buffers import FIXED, View
from netpart.program.gradient_norm import NORM_DTYPE
from netpart.program.instructions import Instruction, Receive, Send, Update
from netpart.program.program import Program, WorkerProgram
from netpart.program.server_messages import is_pulled, is_pushed, norm_channel, pull_channel, push_channel
from netpart.proto.element import float_size
from netpart.spec import FLOAT, extent

UPDATE = "update"
"""The phase in which a server updates the parameters that it keeps."""


def push_phase(group: int) -> str:
    """The name of the phase in which a server receives the gradients of a group."""
    return f"push {group}"


def pull_phase(group: int) -> str:
    """The name of the phase in which a server sends a group the values."""
    return f"pull {group}"


def compile_server(partition: Partition, server: int, slots: int = 0) -> WorkerProgram:
    """Compile all phases of worker ``server``, which keeps parameters. ``slots`` as in ``compile_worker``."""
    return ServerCompiler(partition, server).compile(slots)


class ServerCompiler:
    """A compiler of one server. Gradients have a single place, as a server takes those of one group at a time."""

    def __init__(self, partition: Partition, server: int) -> None:
        self.partition = partition
        self.server = server
        self.memory = BufferTable()
        self.pieces = [piece for piece in partition.pieces if piece.server == server]
        self.values = [self.fixed(p.parameter.name, p) for p in self.pieces]
        self.gradients = [
            self.fixed(f"d({p.parameter.name})", p) if is_pulled(p, partition.trained) else None for p in self.pieces
        ]
        self.norm: View | None = None
        if partition.norm is not None:
            self.norm = self.memory.new("squared norm", (1,), NORM_DTYPE, FIXED)

    def fixed(self, name: str, piece: ServerPiece) -> View:
        return self.memory.new(name, extent(piece.box), FLOAT, FIXED)

    def compile(self, slots: int) -> WorkerProgram:
        """All phases."""
        partition = self.partition
        cluster = self.partition.cluster
        pairs = enumerate(zip(self.values, self.gradients, strict=True))
        updates: list[Instruction] = [Update(h, value, (found,), self.norm) for h, (value, found) in pairs if found]
        phases = {UPDATE: Program("train", [], updates)}
        for group in range(cluster.groups):
            ranks = cluster.ranks(group)
            phases[push_phase(group)] = Program("train", [], self.pushes(group), ranks=ranks)
            phases[pull_phase(group)] = Program("train", [], self.pulls(group), ranks=ranks)
        return WorkerProgram(
            self.server, partition.workers, float_size(partition.job), self.memory.buffers,
            partition.holdings[self.server], self.values, self.gradients, phases, slots,
        )  # fmt: skip

    def pushes(self, group: int) -> list[Instruction]:
        """The receives of what a group sends: gradients, and running statistics, which replace the values kept here."""
        found: list[Instruction] = []
        for piece, value, gradient in zip(self.pieces, self.values, self.gradients, strict=True):
            if is_pushed(piece, self.partition.trained, group):
                name = f"d({piece.parameter.name})"
                found.append(Receive(gradient or value, piece.pusher, push_channel(piece, group), name))
        if self.norm is not None and self.partition.norm is not None:
            pusher = self.partition.norm.workers[0]
            found.append(Receive(self.norm, pusher, norm_channel(self.server, group), "norm of the gradient"))
        return found

    def pulls(self, group: int) -> list[Instruction]:
        """The sends of the values to a group: one message to each worker that holds them."""
        return [
            Send(value, worker, pull_channel(piece, group, worker), piece.parameter.name)
            for piece, value in zip(self.pieces, self.values, strict=True)
            if is_pulled(piece, self.partition.trained)
            for worker in piece.pullers
        ]

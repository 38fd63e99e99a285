"""NcclCall: a collective as one call that GPUs carry out among themselves, on a stream parallel to the computation.

    compute  ── backward ── start ── backward ── … ── wait ── update
                              │ begun                  ▲ ended
    nccl                      └── pack ── call ── unpack ──┘

The calls depend on the exchange alone, so they are the same for all members. For NCCL a tensor is one block of
contiguous memory, with its blocks one after another. If they do not lie like that here, they are packed. Every member
makes its calls in the order in which its instructions start them; launch/control/nccl_choice.py explains why this does
not deadlock.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from netpart.collectives.kinds import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE, REDUCE_SCATTER
from netpart.kernels.op import Array, chain_ops
from netpart.program.exchange import Exchange
from netpart.worker.gpu.communicators import Communicators, Ranks

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels

Blocks = Sequence[Array | None]
Addresses = dict[int, int]
"""The address of each block."""


class NcclCall:
    """The exchange ``found`` among ``ranks``, bound to the blocks of this rank; ``owner`` has the communicator.

    Blocks are arrays of ``kernels``, but of ``dtype``. Work enqueued after ``wait`` follows everything that ``start``
    enqueued. ``nbytes``: memory of the device that it takes in addition to the blocks.
    """

    def __init__(
        self, owner: Communicators, kernels: Kernels, found: Exchange, ranks: Ranks, local: Blocks, target: Blocks,
        dtype: Any,
    ) -> None:  # fmt: skip
        self.owner = owner
        self.ranks = ranks
        self.kind = found.kind
        self.dtype = np.dtype(dtype)
        owner.want(kernels.xp, ranks)
        self.sizes = found.sizes
        self.nbytes = 0
        self.memory = list[Array]()
        self.begun, self.ended = (owner.xp.cuda.Event(disable_timing=True) for _ in range(2))
        out, back = _member_blocks(found.kind, ranks.index(owner.rank), len(ranks), len(found.blocks))
        self.out, packed = self.laid(out, local)
        self.pack = chain_ops(*(kernels.copy(run, block) for block, run in packed)).run
        self.back, packed = self.laid(back, target)
        self.unpack = chain_ops(*(kernels.copy(block, run) for block, run in packed)).run

    def laid(self, blocks: Sequence[int], arrays: Blocks) -> tuple[Addresses, list[tuple[Array, Array]]]:
        """The addresses of ``blocks`` in contiguous memory: where they lie, or else in new memory.

        For new memory, also returns each array with its place there.
        """
        starts = [0, *accumulate(self.sizes[b] for b in blocks)]
        placed = [(b, start, arrays[b]) for b, start in zip(blocks, starts, strict=False) if self.sizes[b]]
        item = self.dtype.itemsize
        # Blocks are contiguous exactly if every block, moved back by its start, gives the same origin.
        origins = {None if a is None or not a.flags.c_contiguous else a.data.ptr - s * item for _, s, a in placed}
        origin = origins.pop() if len(origins) == 1 else None
        packed = []
        if origin is None:
            memory = self.owner.xp.empty(starts[-1], self.dtype)
            origin = memory.data.ptr
            self.nbytes = self.nbytes + memory.nbytes
            self.memory.append(memory)
            packed = [(a, memory[s : s + a.size].reshape(a.shape)) for _, s, a in placed if a is not None]
        return {b: origin + s * item for b, s, _ in placed}, packed

    def start(self) -> None:
        """Enqueue the call, after the work enqueued on the current stream."""
        stream = self.owner.stream
        stream.wait_event(self.owner.xp.cuda.get_current_stream().record(self.begun))
        with self.owner.nccl_errors(f"NCCL to take a {self.kind}"), stream:
            self.pack()
            self.owner.nccl.groupStart()
            self.enqueue(self.owner.found[self.ranks], stream.ptr)
            self.owner.nccl.groupEnd()
            self.unpack()
            stream.record(self.ended)

    def enqueue(self, communicator: Any, stream: int) -> None:
        """The calls of NCCL: one, except for blocks of several sizes, each of which is broadcast or reduced by
        itself."""
        nccl = self.owner.nccl
        element = getattr(nccl, f"NCCL_{self.dtype.name.upper()}")
        add = nccl.NCCL_SUM
        out = self.out
        back = self.back
        size = self.sizes[0]
        first = [next(iter(each.values()), 0) for each in (out, back)]
        even = len(set(self.sizes)) == 1
        if self.kind == ALL_REDUCE:
            communicator.allReduce(*first, sum(self.sizes), element, add, stream)
        elif self.kind == ALL_GATHER and even:
            communicator.allGather(*first, size, element, stream)
        elif self.kind == REDUCE_SCATTER and even:
            communicator.reduceScatter(*first, size, element, add, stream)
        elif self.kind == ALL_TO_ALL:
            for b, address in out.items():
                communicator.send(address, self.sizes[b], element, b % len(self.ranks), stream)
            for b, address in back.items():
                communicator.recv(address, self.sizes[b], element, b // len(self.ranks), stream)
        elif self.kind in SPREADING:
            for b, address in back.items():
                communicator.broadcast(out.get(b, address), address, self.sizes[b], element, b, stream)
        else:
            for b, address in out.items():
                communicator.reduce(address, back.get(b, address), self.sizes[b], element, add, b, stream)

    def wait(self) -> None:
        """Make the current stream wait until the call is complete."""
        self.owner.xp.cuda.get_current_stream().wait_event(self.ended)


SPREADING, GATHERING = (ALL_GATHER, BROADCAST), (REDUCE_SCATTER, REDUCE)
"""Kinds in which a member contributes, or gets, only the block of its place."""


def _member_blocks(kind: str, place: int, n: int, blocks: int) -> tuple[Sequence[int], Sequence[int]]:
    """The blocks that the member at ``place`` contributes, and those that it gets."""
    every = range(blocks)
    own = every[place : place + 1]
    if kind == ALL_TO_ALL:
        return every[place * n : (place + 1) * n], every[place::n]
    return own if kind in SPREADING else every, own if kind in GATHERING else every

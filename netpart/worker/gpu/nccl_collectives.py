"""NCCL: a collective as one call that GPUs carry out among themselves, on a stream beside what is computed.

    compute  ── backward ── start ── backward ── … ── wait ── update
                              │ begun                  ▲ ended
    nccl                      └── pack ── call ── unpack ──┘

What is called depends on the exchange alone, so it is the same for all members. To NCCL a tensor is one run of memory,
its blocks one behind the other; where they do not lie like that here, they are packed. Everybody makes his calls in the
order in which his instructions start them: launch/control/nccl_choice.py says why nobody then waits in a circle.
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
"""Where each block lies."""


class NcclCall:
    """``found`` among ``ranks``, of which ``owner`` has a communicator, bound to the blocks of this rank: of arrays of
    the ``kernels``, but of ``dtype``. What is enqueued behind ``wait`` comes behind all that ``start`` enqueued.

    ``nbytes``: memory of the device that it takes beside the blocks.
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
        """The addresses of ``blocks`` in one run of memory: where they lie, or else in memory of their own, with each
        array and its place there."""
        starts = [0, *accumulate(self.sizes[b] for b in blocks)]
        placed = [(b, start, arrays[b]) for b, start in zip(blocks, starts, strict=False) if self.sizes[b]]
        item = self.dtype.itemsize
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
        """Enqueues it, behind what the current stream was told."""
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
        """The calls of NCCL: one, but for blocks of several sizes, each of which is spread or summed by itself."""
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
        """Lets the current stream wait until it is complete."""
        self.owner.xp.cuda.get_current_stream().wait_event(self.ended)


SPREADING, GATHERING = (ALL_GATHER, BROADCAST), (REDUCE_SCATTER, REDUCE)
"""Those in which a member brings, or gets, only the block of its place."""


def _member_blocks(kind: str, place: int, n: int, blocks: int) -> tuple[Sequence[int], Sequence[int]]:
    """The blocks that the member at ``place`` brings, and those that it gets."""
    every = range(blocks)
    own = every[place : place + 1]
    if kind == ALL_TO_ALL:
        return every[place * n : (place + 1) * n], every[place::n]
    return own if kind in SPREADING else every, own if kind in GATHERING else every

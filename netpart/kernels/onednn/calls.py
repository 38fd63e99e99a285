"""Calls: a sequence of primitives bound to memory, as an Op; a run makes one call into oneDNN for each of them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from netpart.errors import NetpartError
from netpart.kernels.onednn.library import HINT, IN_ORDER, HandleOwner, OneDnnRefused, load_onednn
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc
from netpart.kernels.onednn.names import Arg, DnnlStatus
from netpart.kernels.onednn.primitive import PrimitiveDesc
from netpart.kernels.onednn.widening import widened_op
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import Verbs

Args = dict[int, DnnlMemory | None]
"""The memory of each argument of a primitive; None: the argument is absent."""


class _ExecArgument(ctypes.Structure):
    """dnnl_exec_arg_t."""

    _fields_ = (("arg", ctypes.c_int), ("memory", ctypes.c_void_p))


class Piece(NamedTuple):
    """A part of the memory ``whole``: the bytes before it, and from the part of one run to that of the next."""

    whole: DnnlMemory
    first: int = 0
    step: int = 0


Pieces = dict[int, Piece]
"""The piece of each argument of a primitive."""


class PrimitiveStream(HandleOwner):
    """The stream in which primitives run, in order.

    ``implementations`` lists (primitive, implementation) of all primitives bound to it, ``refusals`` (verb, reason) of
    the verbs that were left to the reference kernels.
    """

    def __init__(self) -> None:
        lib = load_onednn()
        super().__init__(lib.create("dnnl_stream_create", lib.engine, IN_ORDER), "dnnl_stream_destroy")
        self.implementations: list[tuple[str, str]] = []
        self.refusals: list[tuple[str, str]] = []


class Calls:
    """A list of calls, to which the methods append; temporaries are in the scratch of the Op."""

    def __init__(self, stream: PrimitiveStream) -> None:
        self.stream = stream
        self.temporaries = list[DnnlMemory]()
        # Keeps alive what runs pass to oneDNN as bare addresses.
        self.owned: list[object] = []
        self.bound: list[tuple[str, str]] = []
        self.runs: list[Callable[[], int | None]] = []
        self._moving: dict[PrimitiveDesc, tuple[Callable[[], int], dict[int, DnnlMemory]]] = {}

    def add(self, desc: PrimitiveDesc, args: Args) -> None:
        """Append a run of the primitive on ``args``."""
        self.runs.append(self._bind(desc, args))

    def write(self, desc: PrimitiveDesc, args: Args, result: Arg, target: DnnlMemory) -> None:
        """Append a run of the primitive on ``args`` that writes ``result`` to ``target``, in any order in memory."""
        made = self.target(target, desc.arg(result))
        self.add(desc, {**args, result: made})
        self.reorder(made, target)

    def along(
        self,
        pieces: Sequence[tuple[PrimitiveDesc, int]],
        args: Mapping[int, DnnlMemory],
        wholes: Mapping[int, DnnlMemory],
    ) -> None:
        """Append runs of each primitive, as many as its number in ``pieces``, over consecutive pieces of ``wholes``.

        ``args`` are the same in every run, and as large as the largest piece.
        """
        first = dict.fromkeys(wholes, 0)  # bytes, where the next primitive goes on
        for desc, times in pieces:
            steps = {arg: desc.arg(arg).nbytes for arg in wholes}
            moves = {arg: Piece(whole, first[arg], steps[arg]) for arg, whole in wholes.items()}
            self.repeat(desc, {**{arg: Piece(memory) for arg, memory in args.items()}, **moves}, times)
            first = {arg: first[arg] + times * steps[arg] for arg in wholes}

    def repeat(self, desc: PrimitiveDesc, pieces: Pieces, times: int = 1) -> None:
        """Append ``times`` runs of the primitive on ``pieces``, each of which moves on by its step from run to run.
        ``desc`` has the same arguments in all calls."""
        run, parts = self._moving[desc] = self._moving.get(desc) or self._bind_parts(desc, pieces)
        self.owned += [piece.whole for piece in pieces.values()]
        self.runs.append(partial(_run_along, run, [(parts[arg], *pieces[arg]) for arg in pieces], times))

    def _bind_parts(self, desc: PrimitiveDesc, args: Iterable[int]) -> tuple[Callable[[], int], dict[int, DnnlMemory]]:
        """A run of the primitive on memory that is moved before each run, so that all its repetitions share it."""
        parts = {arg: DnnlMemory(desc.arg(arg)) for arg in args}
        return self._bind(desc, {**parts}), parts

    def each(
        self, memories: Sequence[DnnlMemory], rows: Sequence[Sequence[Array]], describe: Callable[[], None]
    ) -> None:
        """Append what ``describe`` adds, run once for each of ``rows``, whose arrays ``memories`` are moved to."""
        # What ``describe`` appends is caught in a list of its own, which one run then repeats.
        before, self.runs = self.runs, []
        describe()
        before.append(partial(_run_each_row, memories, rows, tuple(self.runs)))
        self.runs = before

    def _bind(self, desc: PrimitiveDesc, args: Args) -> Callable[[], int]:
        lib = load_onednn()
        given = {arg: memory for arg, memory in args.items() if memory is not None}
        pad = desc.arg(Arg.SCRATCHPAD)
        if pad.nbytes:
            given[Arg.SCRATCHPAD] = self.temporary(pad)
        array = (_ExecArgument * len(given))(*(_ExecArgument(int(arg), m.handle) for arg, m in given.items()))
        primitive = desc.primitive
        self.owned += [primitive, array, *given.values()]
        self.bound.append((desc.kind, desc.implementation))
        return partial(lib.execute, primitive.handle, self.stream.handle, len(given), array)

    def then(self, run: Callable[[], object]) -> None:
        """Append a call of ``run``, for work that is not a primitive."""

        def succeed() -> int:
            run()
            return DnnlStatus.SUCCESS

        self.runs.append(succeed)

    def temporary(self, desc: MemoryDesc) -> DnnlMemory:
        """A temporary tensor, whose contents last for one run."""
        self.temporaries.append(DnnlMemory(desc))
        return self.temporaries[-1]

    def ordered(self, memory: DnnlMemory, desc: MemoryDesc) -> DnnlMemory:
        """``memory`` if it has the order of ``desc``; else a temporary of that order, to which a copy is appended."""
        if memory.desc == desc:
            return memory
        made = self.temporary(desc)
        self.reorder(memory, made)
        return made

    def target(self, memory: DnnlMemory, desc: MemoryDesc) -> DnnlMemory:
        """``memory`` if it has the order of ``desc``; else a temporary, which ``reorder`` has to copy back."""
        return memory if memory.desc == desc else self.temporary(desc)

    def reorder(self, source: DnnlMemory, target: DnnlMemory) -> None:
        """Append a copy of ``source`` to ``target``, which may have another order; nothing if they are one object."""
        if source is not target:
            desc = PrimitiveDesc("reorder", source.desc, target.desc)
            self.add(desc, {Arg.SRC: source, Arg.DST: target})

    def op(self) -> Op:
        """The calls as an Op."""
        runs = tuple(self.runs)
        temporaries = tuple(self.temporaries)
        owned = (self.stream, *self.owned)

        def run(*scratch: Array, owned: Any = owned) -> None:
            # The workspace is the same array in most steps: setting an address is skipped then.
            for memory, array in zip(temporaries, scratch, strict=True):
                if memory.array is not array:
                    memory.move(array)
            for execute in runs:
                status = execute()
                if status:
                    raise NetpartError(f"oneDNN: expected a primitive to run, got {DnnlStatus(status).name}; {HINT}")

        self.stream.implementations += self.bound
        return Op(run, [((memory.desc.nbytes,), np.uint8) for memory in temporaries])


def _run_each_row(
    memories: Sequence[DnnlMemory], rows: Sequence[Sequence[Array]], runs: Sequence[Callable[[], int | None]]
) -> int:
    """Call ``runs`` once for each of ``rows``, with ``memories`` moved there. Returns the first failed status."""
    for row in rows:
        for memory, array in zip(memories, row, strict=True):
            memory.move(array)
        for run in runs:
            status = run()
            if status:
                return status
    return DnnlStatus.SUCCESS


_Move = tuple[DnnlMemory, DnnlMemory, int, int]
"""A part, and the fields of the Piece that it is moved to."""


def _run_along(run: Callable[[], int], moves: Sequence[_Move], times: int) -> int:
    """Call ``run`` ``times`` times, with ``moves`` one step further each time. Returns the first failed status."""
    place = load_onednn().place
    handle = ctypes.c_void_p
    starts = [(part.handle, whole.at + first, step) for part, whole, first, step in moves]
    for i in range(times):
        for moved, start, step in starts:
            place(moved, handle(start + i * step))
        status = run()
        if status:
            return status
    return DnnlStatus.SUCCESS


class OneDnnVerbs(Verbs):
    """Base of the kernel mixins that use oneDNN; ``stream`` is the stream of the worker."""

    @cached_property
    def stream(self) -> PrimitiveStream:
        return PrimitiveStream()

    def attempt(self, describe: Callable[[Calls], None], otherwise: Callable[..., Op], *args: Any) -> Op:
        """The Op of the calls that ``describe`` adds; if oneDNN refuses one, that of ``otherwise``, a verb of the
        reference, on ``args``, in float32."""
        return self._described(describe) or widened_op(otherwise, args)

    def attempt_faster(self, describe: Callable[[Calls], None], otherwise: Callable[..., Op], *args: Any) -> Op:
        """The Op of the calls that ``describe`` adds; if oneDNN refuses one, that of ``otherwise``, another way of
        oneDNN, on ``args``."""
        return self._described(describe) or otherwise(*args)

    def _described(self, describe: Callable[[Calls], None]) -> Op | None:
        """The Op of the calls that ``describe`` adds; None, and a note of the refusal, if oneDNN refuses one."""
        calls = Calls(self.stream)
        try:
            describe(calls)
        except OneDnnRefused as error:
            self.stream.refusals.append((describe.__qualname__, str(error)))
            return None
        return calls.op()

# ruff: noqa: N802 - CUDA's names
"""Streams, events and graphs: functions of the CUDA runtime that CuPy calls, each with CUDA's parameters."""

from __future__ import annotations

import ctypes
import os

from tests.cuda.runtime import memory, streams
from tests.cuda.runtime.calls import Int, Pointer, Table, Unsigned, function, give
from tests.cuda.runtime.cudart import Handle
from tests.cuda.runtime.errors import INVALID_HANDLE, INVALID_VALUE, NOT_READY, Refused
from tests.cuda.runtime.streams import Event, Graph, Stream, found, made

FUNCTIONS: Table = {}


@function(FUNCTIONS, Pointer, Unsigned)
def cudaStreamCreateWithFlags(to: int, flags: int) -> None:
    give(Pointer, to, made(Stream(flags)))


@function(FUNCTIONS, Pointer, Unsigned, Int)
def cudaStreamCreateWithPriority(to: int, flags: int, priority: int) -> None:
    give(Pointer, to, made(Stream(flags)))


@function(FUNCTIONS, Pointer)
def cudaStreamCreate(to: int) -> None:
    give(Pointer, to, made(Stream(0)))


@function(FUNCTIONS, Pointer)
def cudaStreamDestroy(stream: int) -> None:
    found(Stream, stream).synchronize()
    del streams.OBJECTS[stream]


@function(FUNCTIONS, Pointer)
def cudaStreamSynchronize(stream: int | None) -> None:
    found(Stream, stream).synchronize()


@function(FUNCTIONS, Pointer)
def cudaStreamQuery(stream: int | None) -> None:
    each = found(Stream, stream)
    each.refuse_while_capturing("cudaStreamQuery")
    if each.queue:
        each.work()
    if each.queue:
        raise Refused(NOT_READY, "")


@function(FUNCTIONS, Pointer, Pointer, Unsigned)
def cudaStreamWaitEvent(stream: int | None, event: int, flags: int) -> None:
    found(Stream, stream).wait(found(Event, event))


@function(FUNCTIONS, Pointer, Int)
def cudaStreamBeginCapture(stream: int | None, mode: int) -> None:
    found(Stream, stream).begin()


@function(FUNCTIONS, Pointer, Pointer)
def cudaStreamEndCapture(stream: int | None, to: int) -> None:
    give(Pointer, to, None)
    give(Pointer, to, made(Graph(found(Stream, stream).end())))


@function(FUNCTIONS, Pointer, Pointer)
def cudaStreamIsCapturing(stream: int | None, to: int) -> None:
    each = found(Stream, stream)
    give(Int, to, 0 if each.captured is None else 2 if each.invalid else 1)


@function(FUNCTIONS, Pointer, Unsigned)
def cudaEventCreateWithFlags(to: int, flags: int) -> None:
    if flags & streams.INTERPROCESS and not flags & streams.DISABLE_TIMING:
        raise Refused(INVALID_VALUE, "events of several processes have no times")
    give(Pointer, to, made(Event(flags)))


@function(FUNCTIONS, Pointer)
def cudaEventCreate(to: int) -> None:
    give(Pointer, to, made(Event(0)))


@function(FUNCTIONS, Pointer)
def cudaEventDestroy(event: int) -> None:
    found(Event, event)
    del streams.OBJECTS[event]


@function(FUNCTIONS, Pointer, Pointer)
def cudaEventRecord(event: int, stream: int | None) -> None:
    found(Stream, stream).record(found(Event, event))


@function(FUNCTIONS, Pointer)
def cudaEventQuery(event: int) -> None:
    streams.query(found(Event, event).known())


@function(FUNCTIONS, Pointer)
def cudaEventSynchronize(event: int) -> None:
    found(Event, event).known().reach()


@function(FUNCTIONS, Pointer, Pointer, Pointer)
def cudaEventElapsedTime(to: int, start: int, end: int) -> None:
    events = [found(Event, start), found(Event, end)]
    if any(event.flags & streams.DISABLE_TIMING or event.mark.stream is None for event in events):
        raise Refused(INVALID_HANDLE, "an event without a time")
    first, last = (event.known().at for event in events)
    if first is None or last is None:
        raise Refused(NOT_READY, "")
    give(ctypes.c_float, to, 1000 * (last - first))


@function(FUNCTIONS, Pointer, Pointer)
def cudaIpcGetEventHandle(to: int, event: int) -> None:
    if not found(Event, event).flags & streams.INTERPROCESS:
        raise Refused(INVALID_VALUE, "an event of this process alone")
    ctypes.memmove(to, memory.HANDLE.pack(b"evnt", os.getpid(), event, 0, streams.device()), 64)


@function(FUNCTIONS, Pointer, Handle)
def cudaIpcOpenEventHandle(to: int, handle: Handle) -> None:
    kind, process, *_ = memory.HANDLE.unpack(bytes(handle.bytes))
    if kind != b"evnt" or process == os.getpid():
        raise Refused(INVALID_HANDLE, "a handle of this process, or of no event")
    give(Pointer, to, made(Event(streams.DISABLE_TIMING | streams.INTERPROCESS)))


@function(FUNCTIONS, Pointer, Pointer, ctypes.c_ulonglong)
def cudaGraphInstantiate(to: int, graph: int, flags: int) -> None:
    give(Pointer, to, made(Graph(found(Graph, graph).work)))


@function(FUNCTIONS, Pointer, Pointer)
def cudaGraphLaunch(graph: int, stream: int | None) -> None:
    found(Graph, graph).launch(found(Stream, stream))


@function(FUNCTIONS, Pointer, Pointer)
def cudaGraphUpload(graph: int, stream: int | None) -> None:
    found(Graph, graph)


@function(FUNCTIONS, Pointer)
def cudaGraphDestroy(graph: int) -> None:
    found(Graph, graph)
    del streams.OBJECTS[graph]


@function(FUNCTIONS, Pointer)
def cudaGraphExecDestroy(graph: int) -> None:
    found(Graph, graph)
    del streams.OBJECTS[graph]

"""Bell: a word in shared memory that wakes who waits for it within microseconds, and costs nothing to wait for.

    sender:    publish, then write a value that the word never had before, then FUTEX_WAKE if the receiver is asleep
    receiver:  read the word, look for news, say that it is asleep, and sleep only if the word is still what it was:
               FUTEX_WAIT compares

Several senders write one word without an atomic addition. One may overwrite another's value, which does no harm: all
that counts is that the word differs from what the receiver read before it looked, hence values that never repeat.

A sender must not see the receiver awake while the receiver sees the old word: between the store and the load of either
stands an atomic instruction, which on x86-64 no load overtakes; the sender's is that of a lock that nobody else takes,
the receiver's is the kernel's.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from threading import Lock
from time import perf_counter

RANK_BITS, COUNT_BITS = 10, 22
"""A value is the rank of who wrote it and how often: it repeats after 4 million messages of one sender."""
FUTEX, FUTEX_WAIT, FUTEX_WAKE, EVERYBODY = 202, 0, 1, 2**31 - 1
"""Linux system call on x86-64 and its operations: futex(2)."""


CONTENDED = 5e-6
"""Seconds after which a core that was offered to others comes back only if one of them took it."""


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class Doorbell:
    """The first eight bytes of ``memory``, word and whether its owner is asleep, as ``rank`` rings or waits for them.

    ``spin`` is how long, in seconds, ``wait`` looks by itself before it sleeps. It offers the core to others between
    two looks, and sleeps at once if somebody took it.
    """

    def __init__(self, memory: mmap.mmap, rank: int, spin: float = 0.0) -> None:
        self.spin = spin
        self._word = memoryview(memory)[:4].cast("I")
        self._asleep = memoryview(memory)[4:8].cast("I")
        self._fence = Lock()
        self._address = ctypes.c_void_p(ctypes.addressof(ctypes.c_uint32.from_buffer(memory)))
        self._futex = ctypes.CDLL(None).syscall
        self._rank = rank << COUNT_BITS
        self._rung = 0

    @property
    def value(self) -> int:
        """What the word is now."""
        return self._word[0]

    def fence(self) -> None:
        """Lets nobody see what is stored from now on before what was stored until now, be it past the caches."""
        with self._fence:
            pass

    def ring(self) -> None:
        """Changes the word and wakes who sleeps."""
        self._rung += 1
        self._word[0] = self._rank | self._rung % (1 << COUNT_BITS)
        with self._fence:
            if self._asleep[0]:
                self._futex(FUTEX, self._address, FUTEX_WAKE, EVERYBODY, None, None, 0)

    def wait(self, heard: int, seconds: float) -> None:
        """Returns when the word is no longer ``heard`` or after ``seconds``; a signal or an old ring ends it sooner."""
        now = perf_counter()
        end = now + min(self.spin, seconds)
        while self._word[0] == heard and now < end:
            os.sched_yield()
            before = now
            now = perf_counter()
            if now - before > CONTENDED:
                break
        if self._word[0] == heard:
            time = _Timespec(int(seconds), int(seconds % 1 * 1e9))
            self._asleep[0] = 1
            self._futex(FUTEX, self._address, FUTEX_WAIT, heard, ctypes.byref(time), None, 0)
            self._asleep[0] = 0

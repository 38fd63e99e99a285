"""Doorbell: a word in shared memory that wakes a sleeping process within microseconds; sleeping takes no core's time.

    sender:    publish, then write a value that the word never had before, then FUTEX_WAKE if the receiver is asleep
    receiver:  read the word, look for messages, announce that it is asleep, and sleep only if the word is unchanged:
               FUTEX_WAIT compares

Several senders write one word without an atomic addition, so one may overwrite another's value. That does no harm: the
word only has to differ from what the receiver read before it looked. Therefore values must not repeat.

A sender must not see the receiver awake while the receiver sees the old word. So on both sides an atomic instruction
stands between the store and the load; on x86-64 no load overtakes it. The sender's is that of an uncontended lock, the
receiver's is the kernel's.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from threading import Lock
from time import perf_counter

RANK_BITS, COUNT_BITS = 10, 22
"""A value is the rank of its writer and the writer's count of rings; it repeats after 4 million rings of a sender."""
FUTEX, FUTEX_WAIT, FUTEX_WAKE, EVERYBODY = 202, 0, 1, 2**31 - 1
"""Linux system call on x86-64, its operations, and the number of sleepers to wake: futex(2)."""


CONTENDED = 5e-6
"""Seconds: a yield that takes longer than this has given the core to another thread."""


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class Doorbell:
    """The word and the flag "its owner is asleep", the first eight bytes of ``memory``, as used by rank ``rank``.

    ``spin`` is how long, in seconds, ``wait`` polls before it sleeps. Between two polls it yields the core, and it
    sleeps at once if another thread took the core.
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
        """The current value of the word."""
        return self._word[0]

    def fence(self) -> None:
        """Make earlier stores visible to other processes before later ones, even stores that bypass the caches."""
        with self._fence:  # taking a lock executes an atomic instruction, which is a full barrier on x86-64
            pass

    def ring(self) -> None:
        """Change the word and wake its owner if that is asleep."""
        self._rung += 1
        self._word[0] = self._rank | self._rung % (1 << COUNT_BITS)
        with self._fence:  # so the flag is loaded after the word was stored
            if self._asleep[0]:
                self._futex(FUTEX, self._address, FUTEX_WAKE, EVERYBODY, None, None, 0)

    def wait(self, heard: int, seconds: float) -> None:
        """Return when the word is no longer ``heard`` or after ``seconds``; a signal or an old ring ends it sooner."""
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
            # Before FUTEX_WAIT: a sender that rings in between sees the flag, or the kernel sees the changed word.
            self._asleep[0] = 1
            self._futex(FUTEX, self._address, FUTEX_WAIT, heard, ctypes.byref(time), None, 0)
            self._asleep[0] = 0

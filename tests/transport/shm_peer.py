"""The other process of a test: sends as many numbered messages as asked, and sleeps in the memory until it is killed.

python -m tests.transport.shm_peer ADDRESS STEPS
"""

from __future__ import annotations

import sys

import numpy as np

from netpart.transport.shm import ShmTransport
from netpart.transport.transport import WINDOW

RUN = b"run-0001"
DATA, DONE = (1, 0, 0, 5, 0), (1, 4, 0, 5, 0)
NUMBERS = 1000
DEADLINE = 30.0


def main(address: str, steps: int) -> None:
    with ShmTransport(0, RUN, 2) as transport:
        transport.expect(DONE, 1, (0,), np.uint8)
        sys.stdout.write(transport.bind() + "\n")
        sys.stdout.flush()
        transport.connect({1: address})
        for step in range(steps):
            while step >= WINDOW and transport.receive(DONE, step - WINDOW) is None:
                assert transport.wait(DEADLINE), "the receiver does not say that it is done"
            transport.send(DATA, step, 1, np.full(NUMBERS, step, np.float64))
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

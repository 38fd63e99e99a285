"""Sealed tensors: frames at a socket that takes only those of the run's secret. What it takes is what was sent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netpart.choices import AES_GCM
from netpart.transport.frames import HEADER
from netpart.transport.seal_keys import WireSecret
from netpart.transport.sealing import TAG_BYTES, LinkSealer
from netpart.transport.zeromq import ZeroMQTransport
from tests.fuzz.tensors import RUN, Awaited, Message, Tensors, promised

SECRET = WireSecret(AES_GCM, bytes(range(32)), RUN, everywhere=True)


class Sealed(Tensors):
    """A worker whose links are all sealed."""

    what = "sealed tensors"

    def messages(self) -> list[Message]:
        sealer = LinkSealer(SECRET, 1, 0)
        frames = list[Message]()
        for header, array in promised():
            frame = bytearray(HEADER.size + array.nbytes + TAG_BYTES)
            sealer.seal(memoryview(frame), header, array)
            frames.append([bytes(frame)])
        return frames

    def receiver(self) -> ZeroMQTransport:
        return ZeroMQTransport(0, RUN, context=self.context, secret=SECRET)

    def take(self, transport: ZeroMQTransport, wanted: Sequence[Awaited]) -> list[Awaited]:
        expected = {(header.channel, header.step): array for header, array in promised()}
        missing = list[Awaited]()
        for key in wanted:
            taken = transport.receive(*key)
            if taken is None:
                missing.append(key)
            else:
                assert np.array_equal(taken, expected[key]), f"took {taken} for {key}, which nobody has sealed"
        return missing

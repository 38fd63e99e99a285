"""Sealed links: the slots into which frames are decrypted are within the memory that a worker counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.worker_memory import LinkMemory, program_memory
from netpart.program.messages.wire_memory import opened_bytes, wire_bytes
from netpart.proto.job_pb2 import Scheme
from netpart.proto.reader import read_job
from netpart.transport.zeromq import ZeroMQTransport
from tests.end2end.running import mlp
from tests.laws.groups import GROUPS
from tests.laws.wired import wired


@pytest.mark.parametrize("scheme", [Scheme.DATA, Scheme.PIPELINE], ids=["data", "pipeline"])
def test_what_is_counted_is_enough(scheme: Scheme, tmp_path: Path) -> None:
    job = read_job(mlp(tmp_path)).proto
    job.neuralnet.scheme = scheme
    cut = partition_by_scheme(job, 2)
    with wired(GROUPS["zeromq-sealed"], cut) as sealed:
        sealed.initialise()
        for step in range(4):
            sealed.step("train", step)
        for player in sealed.players:
            transport = player.transport
            assert isinstance(transport, ZeroMQTransport)
            assert transport._opener is not None
            slots = sum(slot.nbytes for some in transport._opener._slots.values() for slot in some)
            rows = sum(row.nbytes for link in transport._sealers.values() if link for row in link._rows.values())
            program = player.program
            assert 0 < slots + rows <= opened_bytes(program)
            assert player.machine.wire_bytes == wire_bytes(program) + opened_bytes(program)
            links = LinkMemory(slots=transport.slots_for_all, opens=transport.opens_frames)
            assert program_memory(program, job, links) == player.machine.memory_bytes

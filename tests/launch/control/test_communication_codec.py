"""What a worker tells the coordinator is what the coordinator rehearses; a plan at fault is refused before step 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netpart.errors import ProgramRefused
from netpart.launch import run as launch
from netpart.launch.control.communication_codec import decode_communications, encode_communications
from netpart.plan.partition import partition_by_scheme
from netpart.program.compile import compile_worker
from netpart.program.forward import ForwardCompiler
from netpart.program.instructions import Instruction, Receive
from netpart.program.messages.communication import MessageVerb, list_communications
from netpart.program.schedules.stages import TeamStage
from netpart.proto.control_pb2 import ReadyProto
from netpart.proto.reader import read_job
from tests.end2end.running import mlp
from tests.worker.jobs import LENET
from tests.worker.jobs import partition as cut


def test_what_is_told_is_what_is_heard() -> None:
    verbs: set[MessageVerb] = set()
    for worker in range(3):
        told = list_communications(compile_worker(cut(LENET, 3), worker))
        ready = ReadyProto.FromString(ReadyProto(spoken=encode_communications(told)).SerializeToString())
        assert decode_communications(ready.spoken) == told
        verbs |= {c.verb for c in told["train"]}
        assert len(ready.spoken[0].legs) <= sum(c.verb == MessageVerb.START for c in told["train"])
    assert verbs == set(MessageVerb)


def test_programs_without_their_other_half_never_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ForwardCompiler, "send", lambda compiler, part: None)
    heard: list[Any] = []
    with pytest.raises(ProgramRefused, match=r"train: .*\n  worker \d: receive d-\S+ .* but no worker sends it"):
        launch.run_job(
            read_job(mlp(tmp_path)), 2, launcher="threads", workspace=tmp_path / "run", listener=heard.append
        )
    assert heard == []


def test_programs_that_wait_for_each_other_never_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ForwardCompiler.run

    def receives_first(compiler: ForwardCompiler, stage: TeamStage) -> list[Instruction]:
        return sorted(run(compiler, stage), key=lambda i: not isinstance(i, Receive))

    job = read_job(mlp(tmp_path), ["fc2.partition_dim=1"])
    assert partition_by_scheme(job.proto, 2).workers == 2
    monkeypatch.setattr("netpart.graph.partition.mark_collectives", lambda graph: None)  # single bridges
    monkeypatch.setattr(ForwardCompiler, "run", receives_first)
    with pytest.raises(ProgramRefused, match=r"2 workers wait for each other in a ring:\n  worker 0 stands at receive"):
        launch.run_job(job, 2, launcher="threads", workspace=tmp_path / "run")

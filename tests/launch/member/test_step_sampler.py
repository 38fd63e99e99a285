"""Which steps a worker traces when the coordinator asks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from netpart.launch.member.step_sampler import StepSampler
from netpart.proto.control_pb2 import ControlProto, LookProto


def test_a_request_within_a_step_is_for_a_later_one() -> None:
    """The step that goes on was not traced from its start."""
    sent: list[ControlProto] = []
    player: Any = SimpleNamespace(device=None, trace=SimpleNamespace(events=None))
    sampler = StepSampler(cast(Any, SimpleNamespace(rank=1, send=sent.append)), player, {}, shared=True)
    sampler.begin(6)
    sampler._take_request(LookProto(step=6))
    sampler.end(6)
    assert not sent
    sampler.begin(7)
    assert player.trace.events == []
    sampler.end(7)
    assert [(message.trace.rank, message.trace.step) for message in sent] == [(1, 7)]
    sampler.begin(8)
    assert player.trace.events is None

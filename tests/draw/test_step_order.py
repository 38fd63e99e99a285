"""The order of a step: who waits for whom, on acts written by hand and on real nets."""

from __future__ import annotations

import pytest

from netpart.draw.page.step_order import (
    BACKWARD,
    FORWARD,
    RECEIVE,
    SEND,
    START,
    WAIT,
    StepAct,
    order_step,
    play_acts,
)
from netpart.plan.partition import partition_by_scheme
from netpart.program.instructions import Channel, Way
from tests.draw.conftest import job_of

ONE, ALL = Channel(1, Way.FORWARD, 0, 5), Channel(1, Way.FORWARD, 0, 6)


def test_a_receive_comes_after_its_send() -> None:
    sender = [StepAct(FORWARD, "a"), StepAct(FORWARD, "b"), StepAct(SEND, "s", channel=ONE, peer=1)]
    reader = [StepAct(RECEIVE, "d", channel=ONE, peer=0, wanted=1), StepAct(FORWARD, "c")]
    first, second = play_acts([sender, reader])
    assert [event.tick for event in first] == [0, 1, 2]
    assert [event.tick for event in second] == [3, 4]


def test_a_wait_comes_after_all_starts() -> None:
    quick = [StepAct(START, "sum", channel=ALL), StepAct(WAIT, "sum", channel=ALL)]
    slow = [StepAct(FORWARD, "a"), StepAct(FORWARD, "b"), *quick]
    first, second = play_acts([quick, slow])
    assert [event.tick for event in first] == [0, 3]
    assert [event.tick for event in second] == [0, 1, 2, 3]


def test_what_never_comes_ends_the_play() -> None:
    stuck = [StepAct(RECEIVE, "d", channel=ONE, wanted=1), StepAct(FORWARD, "a")]
    assert play_acts([stuck]) == [[]]


@pytest.mark.parametrize(
    ("name", "workers", "scheme"),
    [("mnist/conv", 3, None), ("seed/conv-mnist-layerp", 2, None), ("gpt/gpt2-small", 4, "column-row"),
     ("resnet/resnet18-small", 4, "pipeline"), ("mnist/sandblaster", None, None)],
)  # fmt: skip
def test_every_worker_computes_its_parts_forward_and_backward(
    name: str, workers: int | None, scheme: str | None
) -> None:
    job = job_of(name)
    partition = partition_by_scheme(job.proto, workers or job.worker_count, job.folder, scheme)
    events = order_step(partition)
    graph = partition.graph
    for worker, own in enumerate(events):
        computed = {event.act.name for event in own if event.act.verb == FORWARD}
        assert computed == {part.name for part in graph.parts_of_worker(worker) if part.kind == "layer"}
        ticks = [event.tick for event in own]
        assert ticks == sorted(set(ticks))
        assert any(event.act.verb == BACKWARD for event in own) == any(
            part.live for part in graph.parts_of_worker(worker)
        )

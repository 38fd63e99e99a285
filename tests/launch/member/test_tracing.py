"""Profiles of real runs, with workers that are threads: nothing is lost on the way, and sums are right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netpart.graph.partition import partition_job
from netpart.launch.member.tracing import encode_trace
from netpart.measure.profile import WARM_UP, ProfiledRun, profile_job
from netpart.measure.timeline import STEP, own_seconds
from netpart.measure.traces import decode_trace, player_memory_plan
from netpart.program.compile import compile_worker
from netpart.program.instructions import Channel, Way
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder
from netpart.worker.player import Player
from netpart.worker.trace import TracedAction
from tests.end2end.running import mlp
from tests.graph.jobs import data, job, layer, product

STEPS = 4


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> ProfiledRun:
    folder: Path = tmp_path_factory.mktemp("profile")
    return profile_job(read_job(mlp(folder)), 2, STEPS, launcher="threads")


def test_what_was_traced_arrives_by_the_clock_of_all() -> None:
    channel = Channel(1, Way.BUCKET, 0, 3, 2)
    traced = [
        TracedAction("send b", 1.0, 2.0, channel),
        TracedAction(STEP, 0.0, 3.0),
        TracedAction("send b", 4.0, 5.0, channel),
    ]
    traced.append(TracedAction("forward a", 5.0, 6.0, micro=2))
    message = encode_trace(traced, 100.0)
    message.rank = 1
    assert len(message.what) == 3
    assert list(decode_trace(message)) == [
        (1, 0, "send b", 101.0, 102.0, (1, Way.BUCKET, 0, 3, 2), 0, -1), (1, 0, "step", 100.0, 103.0, (), 0, -1),
        (1, 1, "send b", 104.0, 105.0, (1, Way.BUCKET, 0, 3, 2), 0, -1),
        (1, 1, "forward a", 105.0, 106.0, (), 0, 2),
    ]  # fmt: skip


def test_of_a_pipeline_the_micro_batch_of_every_kernel_is_known() -> None:
    job = read_job(
        zoo_folder() / "schemes" / "five-layers.conf", ["neuralnet.scheme=PIPELINE", "neuralnet.micro_batches=3"]
    )
    events = profile_job(job, 2, 1, launcher="threads").timeline.events
    micros = {kind: {e.micro for e in events if e.kind == kind} for kind in ("forward", "backward", "update", "talk")}
    assert micros == {"forward": {0, 1, 2}, "backward": {0, 1, 2}, "update": {-1}, "talk": {-1}}


def test_a_step_of_one_micro_batch_has_no_numbers(found: ProfiledRun) -> None:
    assert {event.micro for event in found.timeline.events} == {-1}


def test_every_step_of_every_worker_is_there_without_the_first(found: ProfiledRun) -> None:
    steps = [(e.worker, e.step) for e in found.timeline.events if e.kind == STEP]
    assert sorted(steps) == [(worker, step) for worker in range(2) for step in range(STEPS)]
    assert found.profile.steps == STEPS
    assert WARM_UP > 0


def test_what_was_sent_was_taken_in_after_it_was_sent(found: ProfiledRun) -> None:
    messages = found.timeline.messages
    assert len(messages) == sum(e.verb == "send" for e in found.timeline.events)
    assert all(m.sent.start < m.taken.end for m in messages)
    assert {(m.sent.worker, m.taken.worker) for m in messages} == {(0, 1), (1, 0)}


def test_layers_have_times_and_rates(found: ProfiledRun) -> None:
    rows = {row.name: row for row in found.profile.layers}
    assert list(rows) == ["data", "fc1", "relu", "fc2", "loss"]
    assert all(rows[name].forward > 0 for name in ("data", "fc1", "fc2", "loss"))
    assert rows["relu"].forward == 0  # fused: its time is that of fc1
    assert rows["fc1"].update > 0
    assert rows["fc1"].rate == pytest.approx(rows["fc1"].flops / (rows["fc1"].forward + rows["fc1"].backward), rel=1)
    assert rows["data"].rate == 0


def test_the_time_of_a_worker_adds_up(found: ProfiledRun) -> None:
    for row in found.profile.workers:
        computing = row.forward, row.backward, row.update
        spent = row.reading, *computing, row.moving, row.talking, row.waiting, row.other
        assert all(seconds >= 0 for seconds in spent)
        assert 0.3 * row.step < sum(spent) < 1.7 * row.step  # medians of parts and of the whole
        assert 0 <= row.overlapped <= row.travelling


def test_the_parts_of_each_step_add_up_exactly(found: ProfiledRun) -> None:
    for step in range(STEPS):
        for worker in range(2):
            events = [event for event in found.timeline.of_worker(worker) if event.step == step]
            (whole,) = (event.seconds for event in events if event.kind == STEP)
            assert sum(own_seconds(events).values()) == pytest.approx(whole)


def test_memory_is_told_part_by_part(found: ProfiledRun) -> None:
    for row in found.profile.memory:
        assert row.total == sum(row.parts.values())
        assert row.parts["parameters"] == row.parts["state"] > 0
        assert 0 < sum(row.peak.values()) <= row.parts["arena"]
        assert row.peak_at.split()[0] in (
            "forward",
            "backward",
            "send",
            "receive",
            "copy",
            "add",
            "zero",
            "reduce-scatter",
        )


def test_a_worker_without_work_has_a_memory_plan() -> None:
    """A mini-batch of one row leaves the second of two workers idle."""
    one_row = job(data(rows=1), product("top", "data", 4), layer("loss", "kSoftmaxLoss", "top", "data"))
    assert player_memory_plan(Player(compile_worker(partition_job(one_row, 2), 1), None)).peak_at == "nothing"


def test_a_notebook_draws_the_median_step(found: ProfiledRun) -> None:
    assert f": the median of {STEPS} steps of " in found._repr_svg_()


def test_the_load_of_the_arena_is_its_peak_at_most(found: ProfiledRun) -> None:
    for row in found.profile.memory:
        assert max(row.load.values()) == row.load[row.peak_at] == sum(row.peak.values())
    counted = {e["pid"]: e for e in json.loads(found.to_chrome_trace())["traceEvents"] if e["name"] == "arena in use"}
    assert counted.keys() == {0, 1}

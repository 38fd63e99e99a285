"""Traces for Perfetto: a process per worker, a complete event each, and arrows whose ends lie within their events."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from netpart.collectives.network import LinkCost
from netpart.measure.chrome_trace import COMMUNICATING, COMPUTING, READING, to_chrome_trace
from netpart.measure.simulate import simulate_partition
from netpart.measure.timeline import Timeline, TimelineEvent
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.ledger import compute_ledger
from netpart.proto.reader import read_job
from tests.house.tree import ROOT

SENT, TAKEN = TimelineEvent(0, 3, "send x", 10.5, 10.6, (1, 2)), TimelineEvent(1, 3, "receive x", 10.8, 11.0, (1, 2))
TIMELINE = Timeline(
    2,
    (
        TimelineEvent(0, 3, "forward a", 10.0, 10.5),
        SENT,
        TAKEN,
        TimelineEvent(1, 3, "read data", 10.0, 10.1),
        TimelineEvent(1, 3, "step", 10.0, 11.0),
    ),
)
FOUND = json.loads(to_chrome_trace(TIMELINE, {(0, 1, 2): 640}))["traceEvents"]


def test_workers_and_lanes_have_names() -> None:
    assert [e["args"]["name"] for e in FOUND if e["name"] == "process_name"] == ["worker 0", "worker 1"]
    assert sum(e["name"] == "thread_name" for e in FOUND) == 6


def test_events_are_told_in_microseconds_from_the_first() -> None:
    spans = {(e["pid"], e["name"]): e for e in FOUND if e["ph"] == "X"}
    assert spans[0, "forward a"]["ts"] == 0
    assert spans[0, "forward a"]["dur"] == 500_000
    assert spans[0, "forward a"]["tid"] == COMPUTING
    assert spans[1, "read data"]["tid"] == READING
    assert spans[1, "receive x"]["tid"] == COMMUNICATING
    assert spans[1, "receive x"]["args"] == {"step": 3, "channel": [1, 2]}
    assert (1, "step 3") in spans


def test_a_counter_has_the_arena_when_it_changes() -> None:
    load = {0: {"forward a": 64, "send x": 64}, 1: {"read data": 8, "receive x": 32}}
    events = json.loads(to_chrome_trace(TIMELINE, None, load))["traceEvents"]
    found = [(e["pid"], e["ts"], e["args"]["bytes"]) for e in events if e["name"] == "arena in use"]
    assert found == [(0, 0.0, 64), (1, 0.0, 8), (1, 800_000.0, 32)]


def test_an_arrow_leads_from_within_the_send_to_within_the_receive() -> None:
    start, end = (next(e for e in FOUND if e["ph"] == phase) for phase in "sf")
    assert start["id"] == end["id"]
    assert 500_000 < start["ts"] < 600_000
    assert 800_000 < end["ts"] < 1_000_000
    assert end["bp"] == "e"


def test_bytes_are_in_flight_from_the_start_of_the_send_to_the_end_of_the_receive() -> None:
    counts = [(e["pid"], e["ts"], e["args"]["bytes"]) for e in FOUND if e["ph"] == "C"]
    assert counts == [(0, pytest.approx(500_000), 640), (0, pytest.approx(1_000_000), 0)]


def test_a_message_that_clocks_receive_too_early_is_not_negative() -> None:
    early = Timeline(2, (SENT, TAKEN._replace(start=10.4, end=10.45)))
    counts = [
        e["args"]["bytes"] for e in json.loads(to_chrome_trace(early, {(0, 1, 2): 8}))["traceEvents"] if e["ph"] == "C"
    ]
    assert min(counts) == 0
    assert counts[-1] == 0


def test_a_simulated_step_has_a_pair_of_ends_for_each_message_and_all_its_bytes() -> None:
    job = read_job(ROOT / "graphs/mlp/column-row.conf")
    cut = partition_by_scheme(job.proto, 2, job.folder, phases=("train",))
    run = simulate_partition(cut, 2, LinkCost(latency=1e-5, bandwidth=1e9), flops=1e9)
    events = json.loads(run.to_chrome_trace())["traceEvents"]
    starts, ends = ([e["id"] for e in events if e["ph"] == phase] for phase in "sf")
    assert sorted(starts) == sorted(ends)
    assert len(set(starts)) == len(starts) == 2 * len(compute_ledger(cut).entries)
    counts = [(e["pid"], e["args"]["bytes"]) for e in events if e["name"] == "bytes in flight"]
    sent = {worker: rises([n for pid, n in counts if pid == worker]) for worker in range(2)}
    assert sent == {worker: 2 * nbytes for worker, nbytes in compute_ledger(cut).sent.items()}
    assert dict(counts) == {0: 0, 1: 0}


def rises(counts: list[int]) -> int:
    """The sum of all that a counter from 0 goes up."""
    return sum(max(0, after - before) for before, after in pairwise([0, *counts]))

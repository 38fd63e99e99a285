"""What follows without a message between it is a graph from the second step on, and sees what changes by step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from netpart.errors import MemoryRefused
from netpart.graph.partition import partition_job
from netpart.kernels.choose import kernel_class
from netpart.kernels.cuda.blas import WORKSPACE, Blas
from netpart.kernels.op import Op, chain_ops
from netpart.program.compile import compile_worker
from netpart.proto.reader import read_job_text
from netpart.updaters import build_updater
from netpart.worker.actions import RUN, SEND, Action
from netpart.worker.gpu import graph_capture as replay
from netpart.worker.gpu.graph_capture import GraphReplay, replay_turn
from netpart.worker.gpu.graph_trial import TRIED
from netpart.worker.machine import Machine
from netpart.worker.memory_limit import RESERVE
from netpart.worker.player import Player
from tests.cuda.module import ON_GPU, cupy
from tests.cuda.nets import NETS

pytestmark = pytest.mark.usefixtures("device")


def player(name: str = "mlp", clip: str = "clip_norm: 1", keep: bool = True) -> Player:
    job = read_job_text(NETS[name].replace("clip_norm: 1", clip)).proto
    rule = build_updater(job.updater)
    program = compile_worker(partition_job(job, 1), 0, len(rule.states), keep=keep, kernels=kernel_class("cuda"))
    found = Player(program, None, cupy(), rule, job.seed)
    found.parameters.initialise()
    return found


def play(worker: Player, step: int) -> None:
    assert list(worker.play("train", step)) == []


def replayed(worker: Player) -> list[GraphReplay]:
    return [action.run for _, action in worker.replayed["train"][0] if isinstance(action.run, GraphReplay)]


def value(worker: Player, name: str) -> Any:
    """The mask of dropout or another auxiliary buffer, on the host."""
    b = next(b for b, buffer in enumerate(worker.program.buffers) if name in buffer.name)
    return worker.machine.to_host(worker.machine.arrays("train").buffer(b))


def test_a_step_is_one_graph_behind_its_samples() -> None:
    worker = player()
    assert worker.replayed["train"][0][0][1].name == "forward data"
    (found,) = replayed(worker)
    assert len(found.actions) == len(worker.bound["train"].turns[0]) - 1
    for step, captured in enumerate((False, True, True)):
        play(worker, step)
        assert (found.graph is not None) == captured


def test_masks_and_rates_change_from_step_to_step_of_a_replay() -> None:
    worker, job = player(), read_job_text(NETS["mlp"]).proto
    rate, device = build_updater(job.updater).rate, worker.machine.kernels.device
    slot, masks = device.slot(rate), []
    for step in range(5):
        play(worker, step)
        assert float(slot.get()[0]) == rate(step)
        masks.append(value(worker, "drop").tobytes())
    assert len(set(masks)) == 5


def test_a_trace_tells_of_every_kernel_and_computes_the_same() -> None:
    traced, plain = player(), player()
    for step in range(3):
        traced.trace.events = []
        play(traced, step)
        play(plain, step)
        names = [each.name for each in traced.trace.events]
        assert names[:-1] == [action.name for _, action in traced.bound["train"].turns[0]]
    assert all(replay.graph is None for replay in replayed(traced))
    for holding in range(len(plain.program.holdings)):
        np.testing.assert_array_equal(traced.parameters.values(holding).get(), plain.parameters.values(holding).get())


@pytest.mark.parametrize("clip", ["", "clip_norm: 1"])
def test_updates_are_one_launch_at_the_end(clip: str) -> None:
    worker = player(clip=clip)
    (found,) = replayed(worker)
    updates = [action.name.startswith("update ") for action in found.actions]
    assert updates == sorted(updates)
    assert sum(updates) == 4
    assert len(found.runs) == len(updates) - 3


def test_messages_delays_and_what_the_host_does_divide_graphs() -> None:
    def action(name: str, kind: int = RUN, captured: bool = True) -> Action:
        return Action(kind, name, run=(lambda: None) if kind == RUN else None, captured=captured)

    turn = [(0, action("a")), (0, action("b")), (0, action("send", SEND)), (0, action("c")), (1, action("d"))]
    turn += [(1, action("host", captured=False)), (1, action("e"))]
    found = replay_turn(kernel_class("cuda")(cupy(), "float32").device, turn)
    assert [(delay, a.name) for delay, a in found] == [
        (0, "a to b"), (0, "send"), (0, "c"), (1, "d"), (1, "host"), (1, "e"),
    ]  # fmt: skip


def test_a_kernel_that_cannot_be_captured_leaves_the_stream_as_it_was() -> None:
    device, x = kernel_class("cuda")(cupy(), "float32").device, cupy().zeros(3)
    replay = GraphReplay(device, [Action(RUN, "wrong", run=lambda: x.get())])
    replay()
    with pytest.raises(RuntimeError):
        replay()
    assert not device.stream.is_capturing()


def test_a_chain_is_captured_if_all_of_it_is() -> None:
    inside, outside = Op(lambda: None), Op(lambda: None, captured=False)
    assert chain_ops(inside, inside).captured
    assert not chain_ops(inside, outside).captured


def test_memory_counts_what_is_kept_on_the_device() -> None:
    worker = player()
    samples = 2 * (8 * 2 * 6 * 6 * 8 + 8 * 4)
    assert worker.machine.kernels.device.held == samples
    assert worker.machine.memory_bytes == worker.program.total_bytes + worker.machine.workspace_bytes + samples


@pytest.mark.skipif(ON_GPU, reason="engines of cuDNN have workspaces as large")
def test_lanes_with_products_have_a_workspace_for_cublas_and_no_others_have(monkeypatch: pytest.MonkeyPatch) -> None:
    lent = set[int]()
    monkeypatch.setattr(Blas, "lend", spied(Blas.lend, lent))
    worker = player(keep=False)
    (found,) = replayed(worker)
    own = {lane: max(a.scratch for a in found.actions if a.lane == lane) for lane in found.branches.lanes}
    assert worker.machine.workspace_bytes == sum(own.values())
    for step in range(3):
        play(worker, step)
    assert 0 < len(lent) == sum(scratch >= WORKSPACE for scratch in own.values()) < len(own)


def spied(lend: Callable[[Blas, int], None], lent: set[int]) -> Callable[[Blas, int], None]:
    """``lend``, which notes what it lends."""

    def noting(blas: Blas, workspace: int) -> None:
        lent.add(workspace)
        lend(blas, workspace)

    return noting


def test_what_cublas_would_take_is_refused_where_it_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert player(keep=False).program.total_bytes < WORKSPACE
    monkeypatch.setattr(Machine, "free", lambda machine, held: RESERVE + 2 * WORKSPACE)
    with pytest.raises(MemoryRefused, match=r"workspace \d+\.\d MiB"):
        player(keep=False)
    monkeypatch.setenv("NETPART_LANES", "1")
    assert player(keep=False).machine.workspace_bytes < 2 * WORKSPACE


def test_what_the_pool_keeps_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pool:
        kept = 0

        def free_bytes(self) -> int:
            return self.kept

    monkeypatch.setattr(cupy().cuda.runtime, "memGetInfo", lambda: (RESERVE, 16 << 30))
    monkeypatch.setattr(cupy(), "get_default_memory_pool", Pool)
    with pytest.raises(MemoryRefused, match="of the GPU are left"):
        player(keep=False)
    monkeypatch.setattr(Pool, "kept", 1 << 30)
    assert player(keep=False).machine.free(0) == RESERVE + (1 << 30)


def test_memory_of_an_array_that_is_gone_is_free() -> None:
    """On a GPU; with room for what other processes take meanwhile."""
    machine, size = player(keep=False).machine, 256 << 20
    before = machine.free(0) or 0
    cupy().empty(size, np.uint8)
    assert (machine.free(0) or 0) > before - size // 2


@pytest.mark.parametrize("name", NETS)
def test_branches_compute_what_one_chain_does(name: str) -> None:
    beside, chain = player(name, keep=False), player(name, keep=False)
    for worker, graph in ((beside, 0), (chain, 1)):
        (found,) = replayed(worker)
        assert max(found.branches.lanes) > 0
        play(worker, 0)
        found.graph = found.made().graphs[graph]
    for step in range(1, 10):
        play(beside, step)
        play(chain, step)
    for holding in range(len(chain.program.holdings)):
        np.testing.assert_array_equal(beside.parameters.values(holding).get(), chain.parameters.values(holding).get())


def test_the_faster_graph_stays() -> None:
    worker = player(keep=False)
    (found,) = replayed(worker)
    for step in range(1 + 2 * TRIED):
        play(worker, step)
        assert step == 0 or len(found.graph.graphs) == 2
    worker.device.stream.synchronize()
    play(worker, step + 1)
    assert len(found.graph.graphs) == 1


@pytest.mark.skipif(ON_GPU, reason="a GPU may well do it in order")
def test_an_order_that_is_missing_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "find_dependences", lambda touched: [[] for _ in touched])
    worker = player(keep=False)

    def train() -> None:
        for step in range(4):
            play(worker, step)
        worker.device.stream.synchronize()

    with pytest.raises(RuntimeError, match="at the same time"):
        train()


def test_lanes_share_no_scratch() -> None:
    worker = player("convolutions", keep=False)
    (found,) = replayed(worker)
    places: dict[int, set[int]] = {}
    for action in found.actions:
        if isinstance(action.run, partial) and action.scratch:
            places.setdefault(action.lane, set()).add(action.run.args[0].data.ptr)
    assert len(places) > 1
    assert len(set[int]().union(*places.values())) == len(places)


def test_what_needs_much_scratch_stays_where_it_can_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "WIDE", 0)
    (found,) = replayed(player("convolutions", keep=False))
    assert any(action.scratch for action in found.actions)
    assert not any(action.lane for action in found.actions if action.scratch)


def test_what_touches_nobody_knows_what_is_ordered_with_all() -> None:
    actions = [Action(RUN, str(i), run=lambda: None) for i in range(3)]
    assert not any(GraphReplay(kernel_class("cuda")(cupy(), "float32").device, actions).branches.lanes)

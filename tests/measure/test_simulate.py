"""Simulated runs: the same numbers as real ones, messages that take what their link says, and no worker too early."""

from __future__ import annotations

from threading import Thread

import numpy as np
import pytest

from netpart.collectives.network import LinkCost, Network, one_link_network
from netpart.errors import ConfigError, TransportError
from netpart.measure.simulate import PricedSimulation, Simulation, simulate_partition
from netpart.measure.simulated_clocks import SimulatedClocks, SimulatedWires, simulated_transports
from netpart.measure.timeline import STEP, TimelineEvent
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.kernel_workspace import workspace_bytes
from netpart.program.instructions import Channel, Way
from netpart.program.kernel_choice import job_kernel_class
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder
from netpart.worker.ensemble import Ensemble
from tests.worker.jobs import LENET, partition

SLOW = LinkCost(latency=0.5, overhead=0.25, bandwidth=64.0)
CARD = LinkCost(latency=2.0, overhead=0.0, bandwidth=16.0)
HOSTS = Network(("worker",) * 4, SLOW, (), ((0,), (0,), (1,), (1,)), (CARD, CARD))
CHANNEL = Channel(1, Way.FORWARD, 0, 0)
FLOATS = np.arange(8, dtype=np.float64)


def test_a_simulation_computes_what_a_run_does() -> None:
    cut = partition(LENET, 3)
    simulation, ensemble = Simulation(cut, LinkCost(), [1.0] * 3), Ensemble(cut, kernels=job_kernel_class(cut.job))
    ensemble.initialise()
    simulation.run(3)
    for step in range(3):
        ensemble.step("train", step)
    for played, expected in zip(simulation.players, ensemble.players, strict=True):
        for h in range(len(played.program.holdings)):
            assert np.array_equal(played.parameters.values(h), expected.parameters.values(h))


def test_a_simulation_by_flops_adds_what_nobody_computed_without_a_warning() -> None:
    """Warnings are errors here; memory is full of the largest numbers, as it may be where others have used it."""
    simulation = PricedSimulation(partition(LENET, 3), LinkCost(), [1e9] * 3)
    for player in simulation.players:
        for array in (player.machine.memory, *player.machine.fixed.values()):
            array.view(np.uint8)[...] = 0x7F
    simulation.run(1)


def test_a_simulation_by_flops_writes_to_no_array() -> None:
    """So it takes no memory for them, with any number of workers: memory that is not written is not there."""
    simulation = PricedSimulation(partition(LENET, 3), LinkCost(), [1e9] * 3)
    for player in simulation.players:
        player.machine.memory[...] = 0
    simulation.run(2)
    for player in simulation.players:
        assert not player.machine.memory.any()
        assert not any(array.any() for array in player.machine.fixed.values())


def test_a_message_takes_what_the_link_says() -> None:
    """Sent at 0: 0.25 + 64 bytes / 64 by the sender, 0.5 on its way; the receiver has it after another 0.25."""
    clocks = SimulatedClocks([1.0, 1.0])
    first, second = simulated_transports(clocks, one_link_network(2, SLOW))
    second.expect(CHANNEL, 0, FLOATS.shape, FLOATS.dtype)
    readings: dict[str, float] = {}

    def send() -> None:
        clocks.begin(0)
        first.send(CHANNEL, 0, 1, FLOATS)
        readings["sent"] = clocks.reading(0)
        clocks.end(0)

    def receive() -> None:
        clocks.begin(1)
        assert second.receive(CHANNEL, 0) is None
        assert second.wait(60)
        taken = second.receive(CHANNEL, 0)
        readings["taken"] = clocks.reading(1)
        assert taken is not None
        assert np.array_equal(taken, FLOATS)
        clocks.end(1)

    play(clocks, send, receive)
    assert readings["sent"] == pytest.approx(1.25, abs=0.1)
    assert readings["taken"] == pytest.approx(2.0, abs=0.1)


def test_a_message_to_a_worker_at_its_end_takes_no_turn() -> None:
    clocks = SimulatedClocks([1.0, 1.0])
    first, _ = simulated_transports(clocks, one_link_network(2, SLOW))
    clocks.end(1)
    first.send(CHANNEL, 0, 1, FLOATS)
    assert clocks.wakes[1] == float("inf")
    clocks.yield_until(0, 0.0)


def test_workers_that_wait_for_each_other_are_told() -> None:
    clocks = SimulatedClocks([1.0, 1.0])
    ends = simulated_transports(clocks, one_link_network(2, SLOW))
    errors: list[str] = []

    def wait(rank: int) -> None:
        clocks.begin(rank)
        with pytest.raises(TransportError, match="no worker can continue") as raised:
            ends[rank].wait(60)
        errors.append(str(raised.value))

    play(clocks, lambda: wait(0), lambda: wait(1))
    assert len(errors) == 2


def play(clocks: SimulatedClocks, *works) -> None:  # type: ignore[no-untyped-def]
    threads = [Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    clocks.pass_on()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_a_slower_device_and_a_slower_link_take_longer() -> None:
    cut = partition(LENET, 2)
    fast, slow = (
        step_seconds(simulate_partition(cut, 3, LinkCost(), speeds).timeline.events) for speeds in ([], [1.0, 0.01])
    )
    assert slow[1] > 5 * fast[1]
    far = simulate_partition(cut, 3, LinkCost(latency=1.0)).profile
    assert far.step_seconds > 1.0
    assert max(worker.waiting for worker in far.workers) > 0.5


def step_seconds(events: tuple[TimelineEvent, ...]) -> list[float]:
    return [min(e.seconds for e in events if e.worker == worker and e.kind == STEP) for worker in range(2)]


def test_speeds_are_one_for_each_worker() -> None:
    with pytest.raises(ConfigError, match=r"expected 2 speeds above 0, one for each worker, got 1; list 2 of them$"):
        simulate_partition(partition(LENET, 2), 1, LinkCost(), [1.0])


def test_a_message_for_a_worker_that_has_ended_wakes_nobody() -> None:
    clocks = SimulatedClocks([1.0, 1.0])
    first, second = simulated_transports(clocks, one_link_network(2))
    second.expect(CHANNEL, 0, FLOATS.shape, FLOATS.dtype)
    sent = list[float]()

    def send() -> None:
        clocks.begin(0)
        first.send(CHANNEL, 0, 1, FLOATS)
        sent.append(clocks.reading(0))
        clocks.end(0)

    clocks.ended.add(1)
    clocks.wakes[1] = float("inf")
    thread = Thread(target=send, daemon=True)
    thread.start()
    clocks.pass_on()
    thread.join(60)
    assert len(sent) == 1
    assert clocks.wakes[1] == float("inf")


def test_a_card_sends_and_receives_one_message_after_another() -> None:
    """64 bytes: 1 s from a worker, 4 s through a card; 0.5 + 2 + 2 s in flight between hosts."""
    wires = SimulatedWires(HOSTS)
    assert wires.carry(0, 1, 64, 0.0) == pytest.approx(0.5 + 1)
    assert wires.carry(0, 2, 64, 0.0) == pytest.approx(4 + 4.5)
    assert wires.carry(1, 3, 64, 1.0) == pytest.approx(4 + 4 + 4.5)
    # What comes the other way does not wait.
    assert wires.carry(3, 0, 64, 0.0) == pytest.approx(4 + 4.5)


def test_what_enters_a_worker_over_one_link_enters_in_turn() -> None:
    wires = SimulatedWires(one_link_network(3, SLOW))
    assert wires.carry(0, 2, 64, 0.0) == pytest.approx(1.5)
    assert wires.carry(1, 2, 64, 0.0) == pytest.approx(2.5)


def test_a_network_card_sends_in_the_order_of_sending() -> None:
    clocks = SimulatedClocks([1.0] * 4)
    ends = simulated_transports(clocks, HOSTS)

    def send(rank: int, seconds: float) -> None:
        clocks.begin(rank)
        clocks.stop(rank)
        clocks.spend(rank, seconds)
        ends[rank].send(CHANNEL, 0, rank + 2, FLOATS)
        clocks.end(rank)

    def idle(rank: int) -> None:
        clocks.begin(rank)
        clocks.end(rank)

    # Worker 0 gets the first turn, and computes for 100 s before it sends.
    play(clocks, lambda: send(0, 100.0), lambda: send(1, 1.0), lambda: idle(2), lambda: idle(3))
    assert [ends[rank]._coming[0][0] for rank in (2, 3)] == pytest.approx([108.75, 9.75], abs=0.1)


def test_a_simulation_by_flops_needs_no_data() -> None:
    """So a plan can be simulated where the data of its job are not."""
    job = read_job(zoo_folder() / "mnist/conv.conf")
    job.proto.neuralnet.layer[0].store_conf.path = "nowhere"
    cut = partition_by_scheme(job.proto, 2, job.folder, phases=("train",))
    simulation = PricedSimulation(cut, LinkCost(), [1e9] * 2)
    assert simulation.run(1).seconds(0) > 0
    workspaces = [player.machine.workspace_bytes for player in simulation.players]
    assert workspaces == [workspace_bytes(player.program, job.proto) for player in simulation.players]

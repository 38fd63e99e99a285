"""The contest of nets: compared contenders, lengths of runs, and that both contenders follow their commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.contest import Peer, Timed, check_losses, netpart
from benchmarks.cpu import mean_rows, share_rows
from benchmarks.machine import children, gemm, imported
from benchmarks.nets import BATCHES, NETS, job, smaller
from benchmarks.options import chosen
from benchmarks.prepare import FEWEST, MOST, WARM_UP, Prepared, prepare
from benchmarks.rows import Row, read_rows, rows_of_others, write
from benchmarks.workers import compared

STEPS = 6
MEBI = 1 << 20


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(smaller(NETS["cifar"]), tmp_path_factory.mktemp("contest"))


def timed(seconds: float, peak: int = 300 * MEBI) -> Timed:
    return Timed([seconds] * 3, 1.0, peak, 100 * MEBI)


@pytest.mark.parametrize("name", NETS)
def test_a_job_is_uncut_and_reads_no_file(name: str) -> None:
    (data, *layers) = job(NETS[name], 7).neuralnet.layer
    assert data.synthetic_conf.batches == BATCHES
    assert list(data.store_conf.batchsize) == [NETS[name].batch]
    assert not any(layer.HasField("partition_dim") or layer.location or layer.cut for layer in layers)
    assert job(NETS[name], 7).train_steps == 7


def test_a_small_net_plays_more_steps(prepared: Prepared) -> None:
    assert prepared.steps(0.0, 1) == WARM_UP + FEWEST
    assert prepared.steps(1e9, 1) == WARM_UP + MOST
    assert prepared.steps(0.05, 2) >= prepared.steps(0.05, 1)


def test_the_first_steps_do_not_count() -> None:
    found = Timed()
    found.add([9.0] * WARM_UP + [1.0, 2.0, 3.0], 0.5, 10)
    found.add([9.0] * WARM_UP + [2.0], 0.4, 20)
    assert (found.median, found.loss, found.peak) == (2.0, 0.5, 20)
    assert found.runs == [2.0, 2.0]


def test_each_run_has_a_ratio() -> None:
    ours, theirs = Timed(runs=[1.0, 2.0, 1.0]), Timed(runs=[1.5, 2.0, 2.0])
    assert ours.run_ratios(theirs) == (1.5, 1.0, 2.0)


def test_a_contender_with_another_loss_is_wrong() -> None:
    check_losses("net", timed(1), timed(2))
    with pytest.raises(ValueError, match="a contender is wrong"):
        check_losses("net", timed(1), Timed([1.0], 1.1))


def test_rows_of_two_workers(prepared: Prepared) -> None:
    schemes = {"DATA": timed(2.0, 150 * MEBI), "COLUMN_ROW": timed(1.0)}
    peers = {"plain": timed(4.0), "channels last": timed(3.0)}
    rows = compared(prepared, 50 * MEBI, schemes, peers, timed(2.7), timed(1.5))
    assert [round(row.ratio, 2) for row in rows] == [1.5, 1.35, 1.8, 2.0, 2.0, 2.0, 3.0]
    assert rows[-1].work.endswith("COLUMN_ROW")
    assert [row.missed for row in rows] == [False, False, True, False, False, False, False]


def test_the_share_of_the_peak_on_two_threads_is_compared_with_that_on_one(prepared: Prepared) -> None:
    about = f"{prepared.net.title}, batch {prepared.net.batch}"
    rows = [
        Row(f"{about}, {threads}", "PyTorch", 1.0, 2.0, shares=(share, 0.1))
        for threads, share in (("1 thread", 0.5), ("2 threads", 0.4))
    ]
    (found,) = share_rows([prepared], rows)
    assert (found.ratio, found.missed) == (0.8, True)
    assert not share_rows([prepared], rows[:1])


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    rows = [Row("LeNet", "PyTorch", 1.0, 2.0, goal=1.5, runs=(1.9, 2.1), shares=(0.5, 0.25)), Row("MLP", "a", 1.0, 3.0)]
    write(tmp_path / "rows.json", rows, ())
    assert read_rows(tmp_path / "rows.json") == rows
    assert not read_rows(tmp_path / "other.json")


def test_rows_of_other_nets_stay(tmp_path: Path) -> None:
    works = (
        "LeNet, batch 64, 1 thread",
        "ResNet-18, batch 16",
        "ResNet-18 at 224, batch 16",
        "geometric mean, 1 thread",
    )
    write(tmp_path / "rows.json", [Row(work, "PyTorch", 1.0, 2.0) for work in works], ())
    found = rows_of_others(tmp_path / "rows.json", ["ResNet-18", "MLP"])
    assert [row.work for row in found] == [works[0], works[2]]


def test_the_means_are_those_of_each_number_of_threads() -> None:
    rows = [
        Row(f"{net}, batch 1, {threads}", "PyTorch", 1.0, ratio, shares=(0.5, 0.5))
        for net, threads, ratio in (("a", "1 thread", 1.0), ("b", "1 thread", 4.0), ("a", "2 threads", 3.0))
    ]
    reached = Row("a, batch 1, 1 thread", "the GEMM peak", 1.0, 9.0)
    assert [(row.work, round(row.ratio, 9)) for row in mean_rows([*rows, reached])] == [
        ("geometric mean, 1 thread", 2.0), ("geometric mean, 2 threads", 3.0),
    ]  # fmt: skip


def test_nets_are_chosen_by_name() -> None:
    assert [net.name for net in chosen("mlp,lenet")] == ["mlp", "lenet"]


@pytest.mark.slow
@pytest.mark.peers
def test_both_train_the_same(prepared: Prepared) -> None:
    ours = Timed()
    theirs = Timed()
    together = Timed()
    threads = Timed()
    netpart(prepared, ours, STEPS, 1, 1)
    with Peer("torch_train", 1, prepared.folder) as peer:
        peer.play(theirs, STEPS, "plain")
    with Peer("torch_ddp", 1, prepared.folder, 2) as peer:
        peer.play(together, STEPS, "plain")
    with Peer("torch_dp", 1, prepared.folder, 2) as peer:
        peer.play(threads, STEPS, "plain")
    for found in (theirs, together, threads):
        check_losses("cifar", ours, found, 1e-4)
    for found in (ours, theirs, together, threads):
        assert len(found.seconds) == STEPS - WARM_UP
        assert 10 * MEBI < found.peak < 2000 * MEBI


@pytest.mark.slow
@pytest.mark.peers
def test_what_the_machine_can_do() -> None:
    assert 1e8 < gemm(1, size=256) < 1e13
    assert 10 * MEBI < imported() < 500 * MEBI
    assert children(1 << 30) == []

"""What a plan says beside the job: how it was made, and every worker's share of every layer."""

from __future__ import annotations

from pathlib import Path

from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.ledger import compute_ledger
from netpart.plan.price.worker_shares import layer_shares, region_text, shards_text
from netpart.plan.text.plan_table import tabulate_partition
from netpart.plan.text.write_plan import flops_text, with_placements, write_plan
from netpart.proto.reader import Job, read_job, read_job_text
from netpart.resources import zoo_folder
from netpart.spec import Shard

CONV = zoo_folder() / "mnist" / "conv.conf"
FIVE = zoo_folder() / "schemes" / "five-layers.conf"


def plan(job: Job, workers: int, scheme: str | None = None) -> str:
    return write_plan(job, partition_by_scheme(job.proto, workers, job.folder, scheme), "made here", job.folder)


def test_the_head_says_how_it_was_made_and_what_a_step_moves() -> None:
    job = read_job(FIVE)
    lines = plan(job, 2, "altsplit").splitlines()
    total = compute_ledger(partition_by_scheme(job.proto, 2, job.folder, "altsplit")).total
    assert lines[:2] == ["#: A plan for 2 workers, made by", "#:     made here"]
    assert lines[2] == f"#: A training step of 8 rows moves {total} B ({total} bytes)."
    assert lines[3].startswith("#:   worker 0  ")


def test_a_layer_says_its_cut_and_the_share_of_every_worker() -> None:
    """8 rows, 2 of 4 neurons: 8·2·(8 + 1) FLOPs forward, 8·2·(8 + 8 + 1) backward; 2·16 values, 3·10 of parameters."""
    lines = plan(read_job(FIVE), 2, "altsplit").splitlines()
    at = lines.index('    name: "fc3"')
    assert lines[at - 4 : at] == [
        "  #: neurons 2+2 on 0, 1",
        "  #:   worker 0  [:, 0:2]  416 FLOP  memory 248 B  in 0 B  out 0 B",
        "  #:   worker 1  [:, 2:4]  416 FLOP  memory 248 B  in 0 B  out 0 B",
        "  layer {",
    ]


def test_phases_are_told_where_their_cuts_differ() -> None:
    text = plan(read_job(CONV), 3)
    assert "  #: batch 21+21+22 on 0, 1, 2 in train; batch 20+20+20 on 0, 1, 2 in test\n" in text
    assert text.count("  #: whole on 0\n") == 2, "data, for training and for testing"


def test_layers_that_no_step_plays_are_left_alone() -> None:
    job = read_job(CONV, ["test_steps=0"])
    text = plan(job, 3)
    assert text.count("#: in no phase that the job runs: unchanged") == 1
    assert read_job_text(text).proto.neuralnet.layer[1] == job.proto.neuralnet.layer[1]


def test_a_plan_has_its_workers_and_no_scheme() -> None:
    job = read_job(FIVE)
    proto = with_placements(job.proto, partition_by_scheme(job.proto, 3, job.folder))
    assert proto.cluster.nworkers_per_group == 3
    assert not proto.neuralnet.HasField("scheme")
    assert job.proto.neuralnet.HasField("scheme"), "the job itself stays as it is"


def test_shares_add_up_to_the_table() -> None:
    cut = partition_by_scheme(read_job(CONV).proto, 3, CONV.parent)
    table, found = tabulate_partition(cut), layer_shares(cut)
    for row in table.layers:
        mine = found[row.name]
        assert sum(share.flops for share in mine) == row.flops
        assert sum(share.memory for share in mine) == row.memory
        assert sum(share.sent for share in mine) == sum(share.received for share in mine)
        assert abs(sum(share.sent for share in mine) - row.moved) <= len(cut.buckets) * cut.workers
    for worker in table.workers:
        assert (
            sum(s.flops for of_layer in found.values() for s in of_layer if s.worker == worker.worker) == worker.flops
        )


def test_boxes_in_words() -> None:
    whole = ((0, 8), (0, 6))
    assert region_text(((0, 8), (2, 4)), whole) == "[:, 2:4]"
    assert region_text((), ()) == "records"
    assert shards_text([Shard(0, whole, ((3, 6), (0, 2)))], whole) == "[:, :] of inputs 3:6"
    assert shards_text([], whole) == "-"


def test_flops_in_words() -> None:
    assert (flops_text(0), flops_text(416), flops_text(24_700_000)) == ("0 FLOP", "416 FLOP", "24.7 MFLOP")


def test_a_plan_in_another_folder_finds_the_data(tmp_path: Path) -> None:
    job = read_job(CONV)
    text = write_plan(job, partition_by_scheme(job.proto, 3, job.folder), "made here", tmp_path)
    path = Path(read_job_text(text).proto.neuralnet.layer[0].store_conf.path)
    assert (tmp_path / path).resolve() == (job.folder / "../../data/digits/train_data.bin").resolve()

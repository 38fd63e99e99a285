"""Plans by hand: those of the zoo's mixed jobs, grids with the batch, and every plan can be cut."""

from __future__ import annotations

import pytest

from benchmarks.hand_plans import HandPlan, hand_plans
from netpart.graph.build import build_net
from netpart.graph.partition import Partition
from netpart.plan.partition import partition_by_callable, partition_by_scheme
from netpart.proto.reader import Job, read_job
from netpart.resources import zoo_folder


def job_named(name: str) -> Job:
    return read_job(zoo_folder() / f"{name}.conf")


def plans_of(job: Job, workers: int) -> dict[str, HandPlan]:
    return {plan.name: plan for plan in hand_plans(build_net(job.proto, "train", job.folder), workers)}


def cut_by(plan: HandPlan, job: Job, workers: int) -> Partition:
    scheme = plan.scheme(build_net(job.proto, "train", job.folder))
    return partition_by_callable(scheme, job.proto, workers, job.folder, phases=("train",))


@pytest.mark.parametrize(
    ("name", "plan"),
    [("gpt/gpt2-small", "megatron on rows"), ("vit/vit-b16-small", "megatron on rows"), ("unet/unet2d-small", "mixed")],
)
def test_a_mixed_job_of_the_zoo_is_a_plan(name: str, plan: str) -> None:
    """Each worker computes as much of each layer; which rows a copy or an addend has may be said otherwise."""
    job, mixed = job_named(name), job_named(f"{name}-mixed")
    ours = cut_by(plans_of(job, 2)[plan], job, 2).graph.placements
    theirs = partition_by_scheme(mixed.proto, 2, mixed.folder, phases=("train",)).graph
    own = build_net(job.proto, "train", job.folder)
    written = {node.name: theirs.placements[node.index].shards for node in theirs.net.nodes}
    learned = [node for node in own.nodes if node.layer.params]
    assert learned
    for node in learned:
        assert ours[node.index].shards == written[node.name], node.name


def test_the_batch_is_along_the_first_axis_of_a_grid() -> None:
    job = job_named("gpt/gpt2-small")
    found = cut_by(plans_of(job, 4)["batch × megatron, 2 × 2"], job, 4).graph
    query = next(node for node in found.net.nodes if node.name == "b1-query")
    rows, _, features = query.layer.output.shape
    halves = [((0, rows // 2), (rows // 2, rows)), ((0, features // 2), (features // 2, features))]
    regions = [(shard.region[0], shard.region[2]) for shard in found.placements[query.index].shards]
    assert regions == [(halves[0][w // 2], halves[1][w % 2]) for w in range(4)]


@pytest.mark.parametrize("name", ["alexnet/alexnet-small", "unet/unet2d-small", "gpt/gpt2-small"])
def test_every_plan_can_be_cut(name: str) -> None:
    job = job_named(name)
    plans = plans_of(job, 4)
    assert len(plans) >= 6
    for plan in plans.values():
        assert cut_by(plan, job, 4).idle_workers == ()

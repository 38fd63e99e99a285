"""Why helpers are there: each has its reason, and the bytes are those of the ledger."""

from __future__ import annotations

import pytest

from netpart.errors import ConfigError
from netpart.graph.graph import BRIDGE_SRC, LAYER
from netpart.graph.partition import Partition, partition_job
from netpart.graph.passes.totals import is_total
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.ledger import compute_ledger
from netpart.plan.text.explain import explain_layer
from netpart.plan.text.helper_reasons import HelperReason
from netpart.program.instructions import Way
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder
from tests.graph.expanded import classified, normed

JOBS = [
    ("mnist/conv", 3), ("halo/conv-rows", 3), ("mlp/column-row", 4), ("schemes/five-layers", 3),
    ("seed/conv-mnist-location", 3), ("mlp/column-row", 3),
]  # fmt: skip


def cut(name: str, workers: int, *overrides: str) -> Partition:
    job = read_job(zoo_folder() / f"{name}.conf", overrides)
    return partition_by_scheme(job.proto, workers, job.folder)


def reason(found: tuple[HelperReason, ...], helper: str) -> HelperReason:
    return next(r for r in found if r.helper == helper)


def check_helpers(found: Partition) -> None:
    """Every helper and collective is explained before one layer and behind another, and all bytes are somewhere."""
    told = {node.name: explain_layer(found, node.name) for node in found.graph.net.nodes if not is_total(node)}
    inserted = {node.index for node in found.graph.net.nodes if is_total(node)}
    parts = [part for part in found.graph.parts if part.kind != LAYER or part.node in inserted]
    helpers = {part.name for part in parts if part.kind != BRIDGE_SRC}
    helpers |= {f"{whole.kind} of {whole.name}" for whole in found.graph.collectives}
    assert {r.helper for e in told.values() for r in e.before} == helpers
    assert {r.helper for e in told.values() for r in e.after} == helpers
    sent = sum(
        entry.nbytes for entry in compute_ledger(found).entries if entry.channel.way in (Way.FORWARD, Way.BACKWARD)
    )
    assert sum(r.forward + r.backward for r in {r for e in told.values() for r in e.after}) == sent
    assert sum(sum(e.moves.values()) for e in told.values()) == pytest.approx(compute_ledger(found).total, abs=99)


@pytest.mark.parametrize(("name", "workers"), JOBS)
def test_every_helper_of_the_zoo_is_explained(name: str, workers: int) -> None:
    check_helpers(cut(name, workers))


EXPANDED = {"bn": normed("partition_dim: 0"), "loss": classified("partition_dim: 1")}


@pytest.mark.parametrize("name", EXPANDED)
def test_an_inner_layer_is_a_helper_of_its_own_layer(name: str) -> None:
    found = partition_job(EXPANDED[name], 2)
    told = {node.name: explain_layer(found, node.name) for node in found.graph.net.nodes if not node.inserted}
    (inner,) = [n.name for n in found.graph.net.nodes if n.inserted]
    why = reason(told[name].before, f"{inner}-00").why
    assert why.startswith(f"{inner} ")
    assert why.endswith(" must know about the input here")
    assert sum(sum(e.moves.values()) for e in told.values()) == compute_ledger(found).total


def test_totals_are_helpers_of_the_layer_whose_addends_they_sum() -> None:
    three = ("tanh2.cut[0].over=REPLICA", "tanh2.cut[0].parts=3")
    found = cut("schemes/five-layers", 4, "neuralnet.scheme=COLUMN_ROW", *three)
    check_helpers(found)
    assert {r.helper: r.why for r in explain_layer(found, "fc2").after}["total-fc2-00"] == (
        "total-fc2 [0:2, :] is added up here, once, and then sent to all who need it"
    )
    assert explain_layer(found, "tanh2").pieces[0].needs[0].endswith("(from concate-tanh2-00)")


def test_a_collective_has_the_bytes_of_its_pieces() -> None:
    found = explain_layer(cut("mnist/conv", 3), "pool2")
    nbytes = 2 * 64 * 50 * 4 * 4 * 4
    assert reason(found.after, "all-gather of pool2") == HelperReason(
        "all-gather of pool2",
        "0, 1, 2",
        "carries pool2 [:, :, :, :]; the bytes are those of all its messages; the gradient returns by reduce-scatter",
        nbytes,
        nbytes,
    )
    pieces = [r for r in found.after if "→" in r.where]
    assert len(pieces) == 6
    assert all(r.why.endswith("; part of the all-gather of pool2 among workers 0, 1, 2") for r in pieces)
    assert not any(r.forward or r.backward for r in pieces)


@pytest.mark.parametrize("algorithm", ["RING", "TREE", "DIRECT"])
def test_the_bytes_of_a_collective_are_those_of_its_algorithm(algorithm: str) -> None:
    check_helpers(cut("mlp/column-row", 4, f"collectives={algorithm}"))


def test_a_halo() -> None:
    found = explain_layer(cut("halo/conv-rows", 3), "conv2")
    assert found.cut == "rows 8+8+8 on 0, 1, 2"
    assert found.pieces[1].needs[0] == "conv1 [:, :, 7:17, :] (from concate-conv2-01)"
    row = 8 * 4 * 12 * 4
    bridge = reason(found.before, "d-slice-conv1-00-concate-conv2-01")
    assert bridge == HelperReason(
        bridge.helper, "0 → 1", "for conv2-01: conv1 [:, :, 7:8, :], held by worker 0", row, row
    )
    assert reason(found.before, "concate-conv2-01").why == (
        "for conv2-01: conv1 [:, :, 7:17, :], 3 regions from workers 0, 1, 2"
    )
    assert reason(found.before, "slice-conv1-00").why == (
        "conv1 [:, :, 0:8, :] is held here: [:, :, 7:8, :] for conv2-01 on 1; [:, :, 0:8, :] for conv2-00 on 0"
    )
    assert "conv2/w2: each holder sees its own part" in found.sums[0]


def test_an_update_that_is_shared_out() -> None:
    found = explain_layer(cut("mnist/conv", 2, "ip1.partition_dim=0"), "ip1")
    assert "over workers 0, 1, each of which updates a share of it" in found.sums[0]
    assert found.moves["sums of parameters' gradients"] > found.moves["updated parameters"] == 2 * 2 * 500 * 800


def test_gradients_that_nobody_wants_do_not_come_back() -> None:
    found = explain_layer(cut("halo/conv-rows", 3), "conv1")
    bridges = [r for r in found.before if "→" in r.where]
    assert bridges
    assert all(r.forward and not r.backward for r in bridges)


def test_addends_and_labels() -> None:
    found = explain_layer(cut("mlp/column-row", 2), "fc2")
    assert found.pieces[1].computes == "[:, :] of inputs 64:128"
    assert found.before == ()
    assert found.pieces[1].needs[0] == "tanh1 [:, 64:128] (held here)"
    assert any("2 addends from workers 0, 1" in r.why for r in found.after)
    loss = explain_layer(cut("mnist/conv", 3), "loss")
    assert any("data.label" in need for need in loss.pieces[1].needs)


def test_copies_that_sum_their_gradient() -> None:
    found = explain_layer(cut("schemes/five-layers", 2), "tanh1")
    assert "all-reduce the output gradient" in found.sums[0]
    assert set(found.moves) == {"sums over replicas"}


def test_micro_batches_are_counted_together() -> None:
    whole, halves = (
        explain_layer(cut("halo/conv-rows", 3, *more), "conv2") for more in ((), ("neuralnet.micro_batches=2",))
    )
    assert [(r.forward, r.backward) for r in whole.before] == [(r.forward, r.backward) for r in halves.before]


def test_an_unknown_layer_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="expected a layer of the training net, got 'conv3'; did you mean conv2 or"):
        explain_layer(cut("halo/conv-rows", 3), "conv3")

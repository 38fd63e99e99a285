"""Who holds which cell of a parameter, and over whom its gradient is summed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netpart.graph.net import Net
from netpart.graph.partition import Partition, partition_job
from netpart.graph.passes.cells import disjoint_cells, disjoint_hulls
from netpart.proto.job_pb2 import JobProto
from netpart.spec import Placement, Region, Shard, contains, size, whole_region
from tests.graph.jobs import data, job, layer, played, product

LOSS = layer("loss", "kSoftmaxLoss", "top", "data")
COPIES = "cut { over: REPLICA parts: 2 }"


def boxes(most: int = 5) -> st.SearchStrategy[Region]:
    """A box in two axes."""
    span = st.tuples(st.integers(0, most - 1), st.integers(1, most)).map(lambda t: (min(t[0], t[1] - 1), t[1]))
    return st.tuples(span, span)


@given(st.lists(boxes(), min_size=1, max_size=5))
def test_cells_are_the_coarsest_pieces_of_which_every_box_is_made(needs: list[Region]) -> None:
    cells = disjoint_cells(needs)
    elements = [element for cell in cells for element in points(cell)]
    assert len(set(elements)) == len(elements)
    assert set(elements) == {element for box in needs for element in points(box)}
    for box in needs:
        assert sum(size(cell) for cell in cells if contains(box, cell)) == size(box)


@given(st.lists(boxes(), min_size=1, max_size=5))
def test_what_a_worker_stores_holds_every_need_and_no_element_twice(needs: list[Region]) -> None:
    stored = disjoint_hulls(needs)
    elements = [element for box in stored for element in points(box)]
    assert len(set(elements)) == len(elements)
    assert all(any(contains(box, need) for box in stored) for need in needs)


def points(box: Region) -> list[tuple[int, int]]:
    (a, b), (c, d) = box
    return [(i, j) for i in range(a, b) for j in range(c, d)]


def summed(partition: Partition) -> list[tuple[tuple[int, ...], str, Region]]:
    return [(b.workers, c.parameter.name, c.box) for b in partition.buckets for c in b.cells]


def test_a_batch_cut_sums_the_whole_parameter_over_all_workers() -> None:
    partition = partition_job(job(data(), product("top", "data", 4), LOSS), 3)
    found = summed(partition)
    assert sorted(found) == [((0, 1, 2), "top/bias", ((0, 4),)), ((0, 1, 2), "top/weight", whole_region((4, 4)))]


def test_neurons_of_their_own_are_summed_with_nobody() -> None:
    assert not summed(partition_job(job(data(), product("top", "data", 4, "partition_dim: 1"), LOSS), 3))


def test_full_replicas_are_not_summed() -> None:
    conf = job(
        data(more=COPIES), product("top", "data", 4, COPIES), layer("loss", "kSoftmaxLoss", "top", "data", more=COPIES)
    )
    partition = partition_job(conf, 2)
    assert len(partition.holdings[0]) == len(partition.holdings[1]) == 2
    assert not summed(partition)


def test_a_shared_parameter_is_summed_where_its_uses_meet() -> None:
    plain = "innerproduct_conf { num_output: 4 bias_term: false } param { %s }"
    below = layer(
        "below", "kInnerProduct", "data", more=plain % 'name: "w" init { type: kGaussian }' + " partition_dim: 1"
    )
    top = layer("top", "kInnerProduct", "below", more=plain % 'share_from: "w"' + " location: 0")
    found = summed(partition_job(job(data(), below, top, LOSS), 2))
    assert found == [((0, 1), "below/w", ((2, 4), (0, 4)))]


def placed_by_hand(conf: JobProto, source: Placement, replicas: Placement) -> Partition:
    """data whole on worker 0, ``below`` and ``top`` as given, the loss like ``top``."""

    def placer(net: Net) -> list[Placement]:
        whole_at_0 = Placement((Shard(0, net.nodes[0].layer.output.whole),))
        return [whole_at_0, source, replicas, Placement(replicas.shards)]

    return partition_job(conf, 2, placer=placer)


def test_replicas_that_read_what_two_workers_computed_differently_are_summed_after_all() -> None:
    conf = job(data(), product("below", "data", 4), product("top", "below", 4), LOSS)
    copies = Placement(tuple(Shard(w, whole_region((6, 4))) for w in (0, 1)))
    overlap = Placement((Shard(0, ((0, 4), (0, 4))), Shard(1, ((2, 6), (0, 4)))))
    tiled = Placement((Shard(0, ((0, 4), (0, 4))), Shard(1, ((4, 6), (0, 4)))))
    named = {"top/weight", "top/bias"}
    assert named <= {name for _, name, _ in summed(placed_by_hand(conf, overlap, copies))}
    assert not named & {name for _, name, _ in summed(placed_by_hand(conf, tiled, copies))}


def test_what_fills_the_hull_of_a_workers_needs_is_kept_up_to_date() -> None:
    plain = "innerproduct_conf { num_output: 4 bias_term: false } param { %s }"
    below = layer("below", "kInnerProduct", "data", more=plain % 'name: "w" init { type: kGaussian }' + CORNER)
    top = layer("top", "kInnerProduct", "data", more=plain % 'share_from: "w"' + " partition_dim: 1")
    both = layer("both", "kAdd", "below", "top")
    partition = partition_job(job(data(), below, top, both, layer("loss", "kSoftmaxLoss", "both", "data")), 2)
    assert whole_region((4, 4)) in [h.box for h in partition.holdings[0]]
    ensemble = played(partition, steps=2)
    first, *others = (values for _, box, values in ensemble.copies("below/w") if box == whole_region((4, 4)))
    assert all(values.tobytes() == first.tobytes() for values in others)
    assert ensemble.parameter("below/w").tobytes() == first.tobytes()


CORNER = " cut { over: INPUT parts: 2 location: [0, 1] }"

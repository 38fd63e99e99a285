"""Schemes send to the byte what their formulas say, and compute what the uncut net computes.

The formulas are those of a multi-layer perceptron of L inner products of widths d_1 to d_L on d_0 inputs: b rows, N
workers, inputs and losses replicated (COLUMN_ROW: a loss behind addends is cut on the batch), P parameters with biases.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.collectives import GRADIENT
from netpart.errors import ConfigError
from netpart.families import SCHEMES
from netpart.graph.invariants import check_graph
from netpart.graph.partition import Partition
from netpart.graph.scheme import parse_scheme_name
from netpart.plan.partition import partition_by_callable, partition_by_scheme
from netpart.plan.price.ledger import compute_ledger
from netpart.plan.schemes.hybrid import hybrid_scheme
from netpart.plan.text.advice import partition_warnings
from netpart.plan.text.cut_text import cut_text
from netpart.program.instructions import Way
from netpart.proto.cut_pb2 import Scheme
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job
from netpart.worker.ensemble import Ensemble
from tests.graph.jobs import data, job, layer, played, product
from tests.house.tree import ROOT
from tests.laws.nets import cut, nets
from tests.laws.test_workers import check_bytes, check_invariants
from tests.laws.workers import check_law
from tests.thorough import example_count

ITEM = 8
"""Bytes of a float64."""
ROWS = 6
Widths = tuple[int, ...]


def mlp(widths: Widths, rows: int = ROWS) -> JobProto:
    """Inner products with a sigmoid between any two, and a softmax loss."""
    layers, source = [data(rows, f"shape: {widths[0]}", widths[-1], "")], "data"
    for n, width in enumerate(widths[1:], start=1):
        if n > 1:
            layers.append(layer(f"act{n - 1}", "kSigmoid", source))
            source = f"act{n - 1}"
        layers.append(product(f"fc{n}", source, width))
        source = f"fc{n}"
    return job(*layers, layer("loss", "kSoftmaxLoss", source, "data"))


def without_biases(conf: JobProto) -> JobProto:
    """The job with its products reduced to their weights."""
    for found in conf.neuralnet.layer:
        if found.HasField("innerproduct_conf"):
            found.innerproduct_conf.bias_term = False
            del found.param[1:]
    return conf


def total(widths: Widths, wanted: Callable[[int], bool] = lambda n: True) -> int:
    """The sum of d_l over the l of 1 to L that are wanted."""
    return sum(width for n, width in enumerate(widths) if n and wanted(n))


def parameters(widths: Widths) -> int:
    return sum(below * (above + 1) for above, below in pairwise(widths))


def altsplit(d: Widths, top: int) -> int:
    return total(d, lambda n: n % 2 == 1) + 2 * total(d, lambda n: n % 2 == 0 and n < top)


def column_row(d: Widths, top: int) -> int:
    return 2 * total(d, lambda n: n % 2 == 0) + 2 * total(d, lambda n: n % 2 == 0 and n <= top - 2)


FORMULAS: dict[str, Callable[[Widths, int, int, int], int]] = {
    "SEQUENTIAL": lambda d, top, b, n: 0,
    "NAIVE": lambda d, top, b, n: (n - 1) * b * (total(d) + 2 * total(d[:-1])),
    "GATHER_SCATTER": lambda d, top, b, n: (n - 1) * b * (total(d) + total(d[:-1])),
    "ALTSPLIT": lambda d, top, b, n: (n - 1) * b * altsplit(d, top),
    "COLUMN_ROW": lambda d, top, b, n: (n - 1) * b * column_row(d, top),
    "DATA": lambda d, top, b, n: 2 * (n - 1) * parameters(d),
    "ONE_WEIRD_TRICK": lambda d, top, b, n: (n - 1) * b * (total(d) + total(d[:-1])),
}
"""Elements that are sent in one training step: (widths, L, rows, workers)."""

SMALL: list[Widths] = [(7, 12, 12, 12), (7, 11, 10, 5), (7, 12, 12, 12, 12), (5, 11, 7, 10, 13)]
LARGE: list[Widths] = [
    (784, 1024, 1024, 10), (300, 1000, 1000, 1000), (512, 2048, 512, 2048, 512), (64, 1024, 1000, 10, 30),
]  # fmt: skip
WORKERS = (2, 3, 4)
NAMES = SCHEMES.names()
TABLE = [name for name in NAMES if name not in ("PIPELINE", "OPTIMAL")]
"""Schemes whose bytes and calls follow from the widths alone; PIPELINE and OPTIMAL depend on the work."""


def cells(shapes: list[Widths]) -> list[tuple[str, Widths, int]]:
    return [(s, d, n) for s in TABLE for d in shapes for n in WORKERS]


def counted(ensemble: Ensemble) -> int:
    """Payload bytes that the transports counted so far."""
    hubs = [ensemble.hub[w].counts for w in range(ensemble.partition.workers)]
    return sum(n for counts in hubs for channel, n in counts.items() if channel[1] != Way.DONE)


def text_of(cut: Partition, name: str) -> str:
    graph = cut.graph
    return cut_text(graph.net.by_name[name].layer, graph.placements[graph.net.by_name[name].index])


def test_the_table_has_every_scheme() -> None:
    assert set(FORMULAS) == set(TABLE)
    assert {*NAMES, "AS_WRITTEN"} == set(Scheme.keys())


@pytest.mark.parametrize(("scheme", "widths", "workers"), cells(SMALL))
def test_counted_bytes_are_those_of_the_formula(scheme: str, widths: Widths, workers: int) -> None:
    found = partition_by_scheme(mlp(widths), workers, scheme=scheme)
    expected = ITEM * FORMULAS[scheme](widths, len(widths) - 1, ROWS, workers)
    assert compute_ledger(found).total == expected
    assert counted(played(found)) == expected


@pytest.mark.parametrize(("scheme", "widths", "workers"), cells(LARGE))
def test_predicted_bytes_are_those_of_the_formula(scheme: str, widths: Widths, workers: int) -> None:
    found = partition_by_scheme(mlp(widths, 64), workers, scheme=scheme)
    assert compute_ledger(found).total == ITEM * FORMULAS[scheme](widths, len(widths) - 1, 64, workers)


CALLS: dict[str, Callable[[int], dict[str, int]]] = {
    "SEQUENTIAL": lambda top: {},
    "NAIVE": lambda top: {"all-gather": top, "sum": top - 1},
    "GATHER_SCATTER": lambda top: {"all-gather": top, "d reduce-scatter": top - 1},
    "ALTSPLIT": lambda top: {"all-gather": (top + 1) // 2, "sum": (top - 1) // 2},
    "COLUMN_ROW": lambda top: {
        "all-reduce": (top - 1) // 2,
        "d all-reduce": top // 2 - 1,
        "reduce-scatter": 1 - top % 2,
        "d all-gather": 1 - top % 2,
    },
    "DATA": lambda top: {},
    "ONE_WEIRD_TRICK": lambda top: {"all-gather": top, "d reduce-scatter": top - 1},
}
"""Collectives of one step by kind, and "d" those of their gradients; "sum" are all-reduces of a layer's gradient.
The topmost all-reduce of COLUMN_ROW with an even L is in two halves, for the loss between them is cut on the batch."""


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("widths", SMALL)
@pytest.mark.parametrize("scheme", TABLE)
def test_the_calls_of_a_step_are_those_of_the_table(scheme: str, widths: Widths, workers: int) -> None:
    """Nothing crosses workers beside them, but the buckets of parameters' gradients where a scheme cuts the batch."""
    found = partition_by_scheme(mlp(widths), workers, scheme=scheme)
    graph = found.graph
    calls = Counter(c.kind for c in graph.collectives)
    calls += Counter(f"d {GRADIENT[c.kind]}" for c in graph.collectives if c.backward)
    calls["sum"] = len({part.node for part in graph.parts if part.live and part.members})
    top = len(widths) - 1
    assert dict(+calls) == {kind: n for kind, n in CALLS[scheme](top).items() if n}
    assert all(bridge.target.collective for bridge in graph.bridges())
    assert bool(found.buckets) == (scheme == "DATA")


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("widths", [(7, 12, 12, 12), (7, 11, 10, 5)])
def test_a_product_without_a_partner_is_whole_everywhere(widths: Widths, workers: int) -> None:
    """It sends nothing itself; the addends below it are all-reduced, and their gradients are whole without a word."""
    found = partition_by_scheme(mlp(widths), workers, scheme="COLUMN_ROW")
    assert text_of(found, "fc3") == f"{workers} replicas"
    assert compute_ledger(found).total == ITEM * 2 * (workers - 1) * ROWS * widths[2]
    assert not found.buckets


@pytest.mark.parametrize(
    ("widths", "rows", "workers", "scheme", "megabytes"),
    [
        ((784, 1024, 1024, 10), 64, 3, "DATA", 29.79),
        ((784, 1024, 1024, 10), 64, 3, "NAIVE", 3.15),
        ((784, 1024, 1024, 10), 64, 3, "GATHER_SCATTER", 2.10),
        ((512, 2048, 512, 2048, 512), 32, 4, "DATA", 100.7),
        ((512, 2048, 512, 2048, 512), 32, 4, "NAIVE", 5.51),
        ((512, 2048, 512, 2048, 512), 32, 4, "GATHER_SCATTER", 3.74),
        ((512, 2048, 512, 2048, 512), 32, 4, "COLUMN_ROW", 1.18),
    ],
)
def test_examples_worked_by_hand(widths: Widths, rows: int, workers: int, scheme: str, megabytes: float) -> None:
    conf = without_biases(mlp(widths, rows))
    conf.dtype = JobProto.FLOAT32
    assert compute_ledger(partition_by_scheme(conf, workers, scheme=scheme)).total / 1e6 == pytest.approx(
        megabytes, abs=0.05
    )


@pytest.mark.parametrize("scheme", NAMES)
@settings(max_examples=example_count(16))
@given(draw=st.data(), workers=st.integers(2, 5), written=st.booleans(), order=st.integers(0, 2**16))
def test_every_scheme_computes_what_the_uncut_net_computes(
    scheme: str, draw: st.DataObject, workers: int, written: bool, order: int
) -> None:
    sketch = draw.draw(nets())
    if written:
        cut(sketch, workers)
    found = partition_by_scheme(sketch.job, workers, scheme=scheme)
    check_invariants(found)
    check_bytes(check_law(found, order))


@settings(max_examples=example_count(16))
@given(draw=st.data(), workers=st.integers(2, 5), order=st.integers(0, 2**16))
def test_a_change_of_the_cut_behind_any_layer_computes_the_same(draw: st.DataObject, workers: int, order: int) -> None:
    sketch = draw.draw(nets())
    names = [found.name for found in sketch.job.neuralnet.layer]
    first = frozenset(names[: draw.draw(st.integers(0, len(names)))])
    rest = SCHEMES.get(draw.draw(st.sampled_from(("GATHER_SCATTER", "COLUMN_ROW"))))
    found = partition_by_callable(hybrid_scheme(first, rest), sketch.job, workers)
    check_invariants(found)
    check_bytes(check_law(found, order))


CONVOLUTIONS = """
layer { name: "conv" type: kConvolution srclayers: "data"
  convolution_conf { num_filters: 5 kernel: 3 } param { init { type: kGaussian } } param { init { type: kGaussian } } }
layer { name: "pool" type: kPooling srclayers: "conv" pooling_conf { pool: AVG kernel: 2 stride: 2 } }
layer { name: "norm" type: kLRN srclayers: "pool" lrn_conf { local_size: 3 } }
"""


def convolutions(more: str = "", rows: int = ROWS) -> JobProto:
    """A convolution, pooling and LRN, then two inner products with dropout between."""
    top = layer("drop", "kDropout", "fc1"), product("fc2", "drop", 4), layer("loss", "kSoftmaxLoss", "fc2", "data")
    return job(data(rows, "shape: 2 shape: 8 shape: 8", more=""), CONVOLUTIONS, product("fc1", "norm", 10, more), *top)


@pytest.mark.parametrize("workers", WORKERS)
def test_one_weird_trick_counts_convolutions_and_products(workers: int) -> None:
    found = partition_by_scheme(convolutions(), workers, scheme="ONE_WEIRD_TRICK")
    features, trained = 5 * 3 * 3, 5 * (2 * 3 * 3 + 1)
    elements = 2 * (workers - 1) * trained + (workers - 1) * ROWS * ((features + 10 + 4) + (features + 10))
    labels = 4 * (workers - 1) * ROWS
    assert compute_ledger(found).total == ITEM * elements + labels
    assert counted(played(found)) == ITEM * elements + labels
    cuts = [text_of(found, name) for name in ("data", "conv", "pool", "norm")]
    assert cuts == ["batch " + {2: "3+3", 3: "2+2+2", 4: "1+2+1+2"}[workers]] * 4


CUTS = {
    "SEQUENTIAL": ["whole", "whole", "whole", "whole", "whole"],
    "NAIVE": ["2 replicas", "channels 2+3", "2 replicas", "neurons 5+5", "2 replicas"],
    "GATHER_SCATTER": ["2 replicas", "channels 2+3", "channels 2+3", "neurons 5+5", "2 replicas"],
    "ALTSPLIT": ["2 replicas", "channels 2+3", "channels 2+3", "2 replicas", "2 replicas"],
    "COLUMN_ROW": ["2 replicas", "channels 2+3", "channels 2+3", "inputs 2+3", "2 replicas"],
    "DATA": ["batch 3+3", "batch 3+3", "batch 3+3", "batch 3+3", "batch 3+3"],
    "ONE_WEIRD_TRICK": ["batch 3+3", "batch 3+3", "batch 3+3", "neurons 5+5", "2 replicas"],
    "PIPELINE": ["whole", "whole", "whole", "whole", "whole"],
}


@pytest.mark.parametrize("scheme", CUTS)
def test_what_a_scheme_makes_of_convolutions(scheme: str) -> None:
    found = partition_by_scheme(convolutions(), 2, scheme=scheme)
    assert [text_of(found, name) for name in ("data", "conv", "norm", "fc1", "loss")] == CUTS[scheme]


def test_the_cut_changes_behind_any_layer() -> None:
    rest = SCHEMES.get("GATHER_SCATTER")
    for first, cuts in ((["data", "conv"], 2), (["data", "conv", "pool", "norm", "fc1"], 4), ([], 0)):
        found = partition_by_callable(hybrid_scheme(first, rest), convolutions(), 2)
        expected = ["batch 3+3"] * cuts + CUTS["GATHER_SCATTER"][cuts:]
        assert [text_of(found, name) for name in ("data", "conv", "norm", "fc1", "loss")] == expected


@pytest.mark.parametrize("scheme", NAMES)
def test_what_is_written_on_a_layer_wins(scheme: str) -> None:
    found = partition_by_scheme(convolutions("partition_dim: 0 location: [2, 0]"), 3, scheme=scheme)
    node = found.graph.net.by_name["fc1"]
    shards = found.graph.placements[node.index].shards
    assert [(s.worker, s.region) for s in shards] == [(2, ((0, 3), (0, 10))), (0, ((3, 6), (0, 10)))]
    check_law(found, 1)


def test_copies_of_a_scheme_may_sum_their_gradient() -> None:
    placements = partition_by_scheme(convolutions("sum_gradient: true"), 2, scheme="COLUMN_ROW").graph.placements
    assert [placement.sum_gradient for placement in placements].count(True) == 1


@pytest.mark.parametrize("scheme", [name for name in TABLE if name != "SEQUENTIAL"])
def test_a_batch_or_width_below_the_workers_is_reported(scheme: str) -> None:
    found = partition_by_scheme(mlp((3, 2, 2, 2), rows=2), 4, scheme=scheme)
    check_law(found, 3)
    said = [text for text in partition_warnings(found) if f"scheme {scheme} does not fit it" in text]
    assert any(text.endswith("so it is cut over 2 of 4 workers") for text in said)


def test_a_scheme_of_the_job_is_carried_out() -> None:
    conf = mlp((3, 4, 4))
    conf.neuralnet.scheme = Scheme.DATA
    assert text_of(partition_by_scheme(conf, 2), "fc1") == "batch 3+3"
    assert text_of(partition_by_scheme(conf, 2, scheme="AS_WRITTEN"), "fc1") == "batch 3+3"
    assert text_of(partition_by_scheme(conf, 2, scheme="altsplit"), "fc1") == "neurons 2+2"


def test_an_unknown_scheme_is_refused_with_the_nearest() -> None:
    assert parse_scheme_name("column-row") == "COLUMN_ROW"
    with pytest.raises(ConfigError, match="expected a known scheme, got 'altsplitt'; did you mean altsplit"):
        parse_scheme_name("altsplitt")


@pytest.mark.parametrize("scheme", NAMES)
def test_records_stay_with_their_readers(scheme: str) -> None:
    conf = read_job(ROOT / "graphs" / "seed" / "conv-mnist.conf")
    for found in conf.proto.neuralnet.layer:
        found.ClearField("partition_dim")
        found.ClearField("location")
    graph = partition_by_scheme(conf.proto, 3, conf.folder, scheme, phases=("train",)).graph
    check_graph(graph)
    assert not [bridge for bridge in graph.bridges() if graph.net.nodes[bridge.source.node].name == "data"]


PAGE = (ROOT / "docs" / "schemes.md").read_text(encoding="utf-8")
ROWS_OF_THE_PAGE = re.findall(r"^\| `(\w+)` \|.*\| (\d+) \|$", PAGE, flags=re.MULTILINE)


def test_the_page_has_every_scheme() -> None:
    assert sorted(name for name, _ in ROWS_OF_THE_PAGE) == sorted(
        {*NAMES} - {"OPTIMAL"}
    )  # its bytes depend on the host
    assert "`OPTIMAL`" in PAGE


@pytest.mark.parametrize(("scheme", "nbytes"), ROWS_OF_THE_PAGE)
def test_the_page_has_the_bytes_of_the_example(scheme: str, nbytes: str) -> None:
    conf = read_job(ROOT / "graphs" / "schemes" / "five-layers.conf")
    found = partition_by_scheme(conf.proto, 2, conf.folder, scheme)
    assert counted(played(found)) == compute_ledger(found).total == int(nbytes)

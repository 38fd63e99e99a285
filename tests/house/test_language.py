"""docs/language.md tells the truth: its job runs, its tables are those of the code, its examples do what it says."""

from __future__ import annotations

import re

import pytest
from hypothesis import Phase, find, settings

from netpart import layers
from netpart.errors import ConfigError
from netpart.families import INITIALISERS, RATES, UPDATERS
from netpart.graph.partition import Partition, partition_job
from netpart.layers.layer import INPUT, Layer
from netpart.layers.layer_norm import LayerNorm
from netpart.plan.text.cut_text import cut_text
from netpart.proto import limits, reader
from netpart.proto.job_pb2 import LayerProto
from netpart.registry import Registry
from netpart.spec import Spec
from tests.house.tree import ROOT
from tests.laws.cases import CASES
from tools import updater_page

PAGE = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
ZOO = ROOT / "graphs" / "mnist" / "conv.conf"
WORKERS = 4


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def table(text: str, head: str) -> list[list[str]]:
    """The rows of the table whose header begins with ``head``."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {head}"))
    rows = lines[start + 2 :]
    end = next((i for i, row in enumerate(rows) if not row.startswith("|")), len(rows))
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[:end]]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


LAYERS = table(section("Layers"), "types")
CUTS = table(section("Cutting a layer"), "written on")
OVERRIDES = re.findall(r"^--set '?([^\s']+)", section("Changing a job on the command line"), flags=re.MULTILINE)
ANY = settings(max_examples=1000, phases=[Phase.generate])
"""What is found need not be the smallest."""
TYPES = [(name, row[4]) for row in LAYERS for name in code(row[0])]


@pytest.fixture(scope="module")
def job() -> str:
    (text,) = re.findall(r"```protobuf\n(.*?)```", section("A job"), flags=re.DOTALL)
    return str(text)


def partition(text: str) -> Partition:
    return partition_job(reader.read_job_text(text).proto, WORKERS)


def test_the_limits_are_those_of_the_code() -> None:
    (rows,) = [table(section("When a job is wrong"), "what")]
    said = [int(row[1].replace(" ", "")) for row in rows]
    found = (
        limits.WORKERS, limits.MICRO_BATCHES, limits.ROWS, limits.WINDOW, limits.AXES, limits.EXTENT, limits.ELEMENTS,
        limits.BUCKET, limits.THREADS, int(limits.SECONDS), limits.CHARACTERS, limits.VALUES, limits.JOB,
    )  # fmt: skip
    assert said == list(found)


def test_the_table_has_every_layer_type_once() -> None:
    assert sorted(name for name, _ in TYPES) == sorted(layers.layer_type_names())


@pytest.mark.parametrize("row", LAYERS, ids=lambda row: code(row[0])[0])
def test_the_confs_are_fields_of_a_layer(row: list[str]) -> None:
    assert not [field for field in code(row[1]) if field not in LayerProto.DESCRIPTOR.fields_by_name]


def of_one_shape(layer: Layer) -> bool:
    """True for a layer whose sources have the shape of its output."""
    return {spec.shape for spec in layer.inputs} == {layer.output.shape}


@pytest.mark.parametrize(("name", "cuts"), TYPES)
def test_a_type_can_be_cut_as_the_table_says(name: str, cuts: str) -> None:
    if name in CASES:
        layer = find(CASES[name], lambda case: case.layer().output.rank > 1, settings=ANY).layer()
        said: dict[str, set[int | str]] = {
            "any": {*range(layer.output.rank)}, "batch": {0}, "channels": {1}, "leading axes": {1}, "inputs": {INPUT},
            "all but the last axis": {*range(layer.output.rank - 1)},
            "all but its axis": {*range(layer.output.rank)} - {getattr(layer, "axis", 0)},
            "any if the shapes agree": {*range(layer.output.rank)} if of_one_shape(layer) else set(),
            "axes before the features": {*range(1, layer.axes.start)} if isinstance(layer, LayerNorm) else set(),
        }  # fmt: skip
    else:  # the cuts of inputs and of what is refused ask for the rank at most
        layer = object.__new__(layers.layer_class(name))
        layer.outputs = (Spec((2, 2)),)
        said = {"batch": {0}, "space": {2, 3, 4}, "height": {2}, "width": {3}, "any": {0, 1}, "none": set()}
    found: set[int | str] = set(layer.cuts())
    assert found == {cut for word in cuts.split(", ") for cut in said[word]}


@pytest.mark.parametrize(
    ("title", "head", "registry"),
    [
        ("Parameters", "`init.type`", INITIALISERS),
        ("Updaters", "`updater.type`", UPDATERS),
        ("Updaters", "`learning_rate.type`", RATES),
    ],
)
def test_a_table_of_formulas_has_every_name(title: str, head: str, registry: Registry[object]) -> None:
    assert sorted(code(row[0])[0] for row in table(section(title), head)) == sorted(registry.names())


def test_the_table_of_updaters_is_that_of_their_classes() -> None:
    assert updater_page.fresh(ROOT)["docs/language.md"] == PAGE, "make language-page"


@pytest.mark.parametrize("row", CUTS, ids=lambda row: row[0])
def test_a_cut_does_what_the_table_says(row: list[str], job: str) -> None:
    written = " ".join(code(row[0]))
    assert "# cut" in job
    graph = partition(job.replace("# cut", written)).graph
    node = graph.net.by_name["conv"]
    placement = graph.placements[node.index]
    assert node.layer.output.shape == (8, 6, 12, 12)
    assert cut_text(node.layer, placement) == row[1]
    assert ", ".join(str(shard.worker) for shard in placement.shards) == row[2]


@pytest.mark.parametrize("option", OVERRIDES)
def test_an_override_of_the_page_fits_the_zoo(option: str) -> None:
    changed = reader.read_job(ZOO, [option])
    assert changed.proto != reader.read_job(ZOO).proto
    partition_job(changed.proto, 3, changed.folder)


def test_the_errors_of_the_page_are_those_one_gets() -> None:
    text = ZOO.read_text(encoding="utf-8").replace("kCPooling", "kCPoolng", 1)
    with pytest.raises(ConfigError) as slip:
        reader.read_job_text(text, "conv.conf")
    job = reader.read_job(ZOO, ["loss.partition_dim=2"])
    with pytest.raises(ConfigError) as cut, job.explaining():
        partition_job(job.proto, 3, job.folder)
    block = section("When a job is wrong").split("```")[1].strip()
    assert block == f"{slip.value}\n{cut.value}"

"""netpart.Net writes the job that a person would, and names the line of the program in errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

import netpart
from netpart.builder.layer_list import LayerHandle
from netpart.builder.layer_methods import LayerMethods, method_types
from netpart.builder.nested_layers import NestedLayers
from netpart.proto.fields import is_repeated
from netpart.proto.job_files import jobs_below
from netpart.proto.layout.format_text import format_text
from netpart.proto.reader import read_job_text
from netpart.resources import zoo_folder
from tests.house.tree import ROOT
from tests.thorough import sampled
from tools import gen_builder

UPDATER = {"type": "kSGD", "learning_rate": {"type": "kFixed", "base_lr": 0.1}}
W = {"init": {"type": "kGaussian", "std": 0.02}}
B = {"init": {"type": "kConstant", "value": 0}}
WRITTEN = """name: "small"
train_steps: 2
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  block { name: "dense" input: "x" output: "add1"
    layer { name: "inner_product1" type: kInnerProduct srclayers: "x" partition_dim: 1
      innerproduct_conf { num_output: 6 } param { init { type: kGaussian std: 0.02 } }
      param { init { type: kConstant value: 0 } } }
    layer { name: "add1" type: kAdd srclayers: ["inner_product1", "x"] }
  }

  layer { name: "data" type: kSyntheticInput store_conf { batchsize: 8 shape: 6 } synthetic_conf { classes: 3 } }
  layer { name: "dense" type: kBlock srclayers: "data" block_conf { of: "dense" times: 3 } }
  layer { name: "softmax_loss1" type: kSoftmaxLoss srclayers: ["dense", "data"] }
}
"""


def dense(net: LayerMethods, x: LayerHandle) -> LayerHandle:
    return net.add(net.inner_product(x, num_output=6, params=[W, B], partition_dim=1), x)


def small_net(**fields: Any) -> netpart.Net:
    return netpart.Net("small", train_steps=2, updater=UPDATER, **fields)


def repeated_net() -> netpart.Net:
    net = small_net()
    data = net.synthetic_input(name="data", batchsize=8, shape=[6], classes=3)
    net.softmax_loss(net.repeat(3, dense, data), data)
    return net


def here() -> str:
    """This file and the line of the caller, as errors name them."""
    return f"{__file__}:{sys._getframe(1).f_lineno}"


def test_the_text_is_that_of_a_person(tmp_path: Path) -> None:
    repeated_net().write(tmp_path / "job.conf")
    assert (tmp_path / "job.conf").read_text() == WRITTEN == format_text(WRITTEN)
    assert netpart.verify(tmp_path / "job.conf", 2, steps=1).holds


def test_flat_with_a_block_and_as_text_it_is_one_net() -> None:
    net = small_net()
    data = x = net.synthetic_input(name="data", batchsize=8, shape=6, classes=3)
    for number in range(1, 4):
        last = net.inner_product(
            x, name=f"dense{number}-inner_product1", num_output=6, params=[W, B], partition_dim=1
        )  # fmt: skip
        x = net.add(last, x, name=f"dense{number}-add1")
    net.softmax_loss(x, data)
    flat = net.job().proto
    assert flat == repeated_net().job().proto == read_job_text(WRITTEN).proto


def as_mapping(message: Message) -> dict[str, Any]:
    """The fields that are set, as the builder takes them."""
    found = {}
    for field, value in message.ListFields():
        each = [_as_value(field, one) for one in (value if is_repeated(field) else [value])]
        found[field.name] = each if is_repeated(field) else each[0]
    return found


def _as_value(field: FieldDescriptor, value: Any) -> Any:
    if isinstance(value, Message):
        return as_mapping(value)
    return field.enum_type.values_by_number[value].name if field.enum_type else value


ZOO = [path for path in jobs_below(zoo_folder()) if path.stem != "gpt3"]
"""All but GPT-3, which has layers of the same kinds, and 1 400 of them."""


@pytest.mark.parametrize("path", sampled(ZOO, 8), ids=lambda path: path.stem)
def test_the_zoo_can_be_written_with_it(path: Path) -> None:
    job = netpart.load(path).proto
    fields = {name: value for name, value in as_mapping(job).items() if name != "name"}
    layers = fields["neuralnet"].pop("layer")
    net, known = netpart.Net(job.name, **fields), dict[str, LayerHandle]()
    for layer in layers:
        sources = [known[name] for name in layer.pop("srclayers", ())]
        known[layer["name"]] = net.add_layer(layer.pop("type"), *sources, params=layer.pop("param", ()), **layer)
    assert net.job().proto == job


def test_a_block_is_written_once_and_another_of_its_name_gets_a_number() -> None:
    def other(width: int) -> Any:
        def dense(net: LayerMethods, x: LayerHandle) -> LayerHandle:
            return net.inner_product(x, num_output=width, params=[W, B])

        return dense

    net = small_net()
    data = net.synthetic_input(batchsize=8, shape=6)
    x = net.repeat(2, other(6), data)
    x = net.use(other(6), x)
    net.softmax_loss(net.use(other(3), x), data)
    uses = [layer for layer in net.layers if layer.HasField("block_conf")]
    assert [use.block_conf.of for use in uses] == ["dense", "dense", "dense2"]
    assert [use.name for use in uses] == ["dense", "dense_2", "dense_3"]
    assert [node.name for node in netpart.build(net.job()).nodes][1:5] == [
        "dense1-inner_product1", "dense2-inner_product1", "dense_2-inner_product1", "dense_3-inner_product1",
    ]  # fmt: skip


def test_errors_name_the_line_of_the_program() -> None:
    net = small_net()
    data = net.synthetic_input(batchsize=8, shape=6)
    for wrong, told in (
        ({"num_outputs": 3}, "inner_product1: expected a field of kInnerProduct, got 'num_outputs'"),
        ({"num_output": "many"}, "inner_product2.innerproduct_conf.num_output: expected a whole number of 32 bits"),
        ({"remainder": "SOME"}, "inner_product3.remainder: expected a value of Remainder, got 'SOME'"),
        ({"cut": [{"axes": 1}]}, r"inner_product4.cut: expected a field of CutProto, got 'axes'; did you mean axis"),
    ):
        with pytest.raises(netpart.ConfigError, match=told) as caught:
            net.inner_product(data, **wrong)
        assert str(caught.value.position) == f"{__file__}:{sys._getframe().f_lineno - 1}"
    with pytest.raises(netpart.ConfigError, match="expected sources that are layers, got 3"):
        net.add_layer("kAdd", data, 3)
    with pytest.raises(netpart.ConfigError, match="expected sources, then num_filters and kernel, got 2"):
        net.convolution(data, 8, 3, 2)
    with pytest.raises(netpart.ConfigError, match="expected kernel once"):
        net.convolution(data, 8, 3, kernel=5)
    with pytest.raises(netpart.ConfigError, match="small: expected a field of JobProto, got 'train_stepz'"):
        small_net(train_stepz=3)
    with pytest.raises(AttributeError, match="got 'inner_products'; did you mean inner_product"):
        net.inner_products(data)  # type: ignore[attr-defined]


def test_errors_in_a_block_name_its_line_and_the_instance() -> None:
    lines = []

    def conv(net: LayerMethods, x: LayerHandle) -> LayerHandle:
        lines.append(here())
        return net.convolution(x, num_filters=4, kernel=3, name="c")

    net = small_net()
    net.repeat(2, conv, net.synthetic_input(batchsize=8, shape=6), name="r")
    with pytest.raises(netpart.ConfigError, match="expected a source of 4 axes") as caught:
        netpart.build(net.job())
    file, _, line = lines[0].rpartition(":")
    assert str(caught.value.position) == f"{file}:{int(line) + 1} (r1)"


def test_a_field_out_of_its_range_names_the_line_that_has_it() -> None:
    net = small_net(seed=3)
    net.synthetic_input(batchsize=0, shape=6)
    with pytest.raises(netpart.ConfigError, match=r"batchsize\[0\]: expected from 1 to") as caught:
        net.job()
    assert str(caught.value.position).startswith(f"{__file__}:")


def test_layers_of_a_block_are_not_read_outside() -> None:
    kept = []

    def leaky(net: LayerMethods, x: LayerHandle) -> LayerHandle:
        kept.append(net.relu(x))
        return net.relu(kept[-1])

    net = small_net()
    data = net.synthetic_input(batchsize=8, shape=6)
    net.repeat(2, leaky, data)
    with pytest.raises(netpart.ConfigError, match="expected a source of the same net or block, got relu1"):
        net.relu(kept[0])
    with pytest.raises(
        netpart.ConfigError,
        match=r"leaky: expected arguments of leaky\(net.*, got 2 inputs; too many positional arguments",
    ):
        net.repeat(2, leaky, data, data)


def wide_pair(net: NestedLayers, x: LayerHandle, y: LayerHandle, width: int) -> tuple[LayerHandle, LayerHandle]:
    """Two outputs, from two inputs."""
    joined = net.add(net.inner_product(x, width, params=[W, B]), net.inner_product(y, width, params=[W, B]))
    return net.relu(joined), net.sigmoid(joined)


def test_a_block_has_several_outputs_and_values_that_differ_by_instance() -> None:
    net = small_net()
    width = net.let("last", 4)
    data = net.synthetic_input(batchsize=8, shape=6, name="data")
    x, y = net.repeat(3, wide_pair, data, data, name="p", width=[8, 5, width])
    x, y = net.repeat(2, wide_pair, x, y, name="q", width=4)
    net.softmax_loss(net.add(x, y), data)
    assert net.text().count("block {") == 1
    assert 'layer { name: "p2" type: kBlock srclayers: ["p1-relu1", "p1-sigmoid1"]' in net.text()
    built = netpart.build(net.job())
    assert [built.by_name[f"{name}-relu1"].layer.output.shape for name in ("p1", "p2", "p3", "q2")] == [
        (8, 8), (8, 5), (8, 4), (8, 4),
    ]  # fmt: skip
    read = {layer.name: list(layer.srclayers) for layer in net.job().proto.neuralnet.layer}
    assert read["q1-inner_product1"] == ["p3-relu1"]
    with pytest.raises(netpart.ConfigError, match="expected a value of width for each of 2 instances, got 3"):
        net.repeat(2, wide_pair, x, y, width=[1, 2, 3])


def test_blocks_within_blocks_and_what_others_include(tmp_path: Path) -> None:
    def twice(net: NestedLayers, x: LayerHandle) -> LayerHandle:
        return net.repeat(2, dense, net.use(dense, x, name="first"))

    def net_of(name: str, times: int) -> netpart.Net:
        net = netpart.Net(name, train_steps=2, updater=UPDATER)
        if name == "other":
            net.include("base.conf", base)
        data = net.synthetic_input(batchsize=8, shape=6, name="data")
        net.softmax_loss(net.repeat(times, twice, data, name="t"), data)
        return net

    base = net_of("base", 3)
    base.write(tmp_path / "base.conf")
    other = net_of("other", 1)
    other.write(tmp_path / "other.conf")
    assert base.text().count("block {") == 2
    assert "block {" not in other.text()
    for net in (base, other):
        assert netpart.load(tmp_path / f"{net.name}.conf").proto == net.job().proto
    assert "t1-dense2-add1" in [layer.name for layer in other.job().proto.neuralnet.layer]


def test_layers_are_cut_by_patterns_of_their_names() -> None:
    net = repeated_net()
    net.cut({"dense2-add*": {"partition_dim": 0}, "dense*-inner*": {"cut": {"over": "INPUT"}}, "*": {"location": 1}})
    layers = {layer.name: layer for layer in net.job().proto.neuralnet.layer}
    assert list(layers["data"].location) == list(layers["dense1-add1"].location) == [1]
    assert not layers["dense2-add1"].location
    assert layers["dense2-add1"].partition_dim == 0
    assert len(layers["dense3-inner_product1"].cut) == 1


def test_comments_are_written_above_layers_and_the_job() -> None:
    net = netpart.Net("noted", about="What it is.", train_steps=1)
    data = net.synthetic_input(batchsize=8, shape=6)
    net.comment("the end")
    net.relu(data)
    assert net.text().startswith('# What it is.\n\nname: "noted"\n')
    assert '\n\n  # the end\n  layer { name: "relu1"' in net.text()


def test_every_type_has_a_method_with_types() -> None:
    assert gen_builder.stale(ROOT) == []
    assert len(method_types()) > 50
    assert {"relu", "inner_product", "softmax_loss", "text_input"} <= set(dir(small_net()))


@pytest.mark.slow
@pytest.mark.thorough  # `make check` shows the same by the ignored errors above, which must be errors
def test_mypy_checks_programs(tmp_path: Path) -> None:
    lines = [
        'net = netpart.Net("x")',
        "x = net.relu(negative_slope=0.1)",
        'net.pooling(x, pool="MAXX")',
        "net.rellu(x)",
    ]
    (tmp_path / "program.py").write_text("\n".join(["import netpart", *lines]))
    command: list[str | Path] = [sys.executable, "-m", "mypy", "--config-file", "setup.cfg", tmp_path / "program.py"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    assert 'program.py:4: error: Argument "pool"' in told
    assert 'program.py:5: error: "NetBuilder" has no attribute "rellu"' in told
    assert "Found 2 errors" in told

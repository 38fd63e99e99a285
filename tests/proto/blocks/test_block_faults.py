"""What is wrong with blocks is told with its place and the instance."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from netpart.errors import ConfigError
from netpart.graph.build import build_net
from netpart.proto.limits import BLOCK_DEPTH
from netpart.proto.reader import read_job_text
from tests.proto.blocks.texts import JOB, job_with

FEW = 500
"""A limit of layers, and of instances."""


def fault(text: str, *overrides: str) -> str:
    """The error of reading ``text`` and building its net."""
    with pytest.raises(ConfigError) as found:
        read_and_build(text, overrides)
    return str(found.value)


def read_and_build(text: str, overrides: Sequence[str]) -> None:
    job = read_job_text(text, "job.conf", overrides)
    with job.explaining():
        build_net(job.proto, "train")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "num_output: ${width}",
            "num_output: -3",
            "job.conf:17:27 (b1-in): b1-in-fc: expected num_output of 1 or more",
        ),
        (
            "num_output: ${width}",
            "num_output: ${widht}",
            "job.conf:17:27 (b1-in): fc.innerproduct_conf.num_output: expected a placeholder with a value, "
            "got ${widht}; did you mean width?",
        ),
        ("num_output: ${width}", "num_outputs: ${width}", "job.conf:17:27: fc.innerproduct_conf: expected a field of"),
        ("num_output: ${width}", "num_output: 1${width}", "job.conf:17:40: ${width}: expected a value before or after"),
        (
            'value: "6"',
            'value: "six"',
            "job.conf:29:31: data.store_conf.shape[0]: expected a whole number of 32 bits, got 'six', the "
            "value of ${width}",
        ),
        ('kind" value: "TANH"', 'kind"', "job.conf:25:52 (b1): in.block_conf: expected a value of kind, got none"),
        (
            'srclayers: "fc" act',
            'srclayers: "fx" act',
            "job.conf:21:44 (b1-in): tanh.srclayers[0]: expected a layer or an input of the block, got 'fx'; "
            "did you mean x?",
        ),
        (
            'srclayers: "b" ',
            'srclayers: "b2-in-fc" ',
            "job.conf:31:44: last.srclayers[0]: expected a layer that may be read here, got 'b2-in-fc'; "
            "outputs of block residual (job.conf:23:3): add",
        ),
        (
            '["in", "x"]',
            '["in-fc", "x"]',
            "job.conf:26:48 (b1): add.srclayers[0]: expected a layer or an input of the block, got 'in-fc'; "
            'outputs of block product (job.conf:10:3): tanh; to read it add output: "fc" there',
        ),
        ('name: "last"', 'name: "b1-add"', "job.conf:31:11: b1-add: expected a name of its own, got a second"),
        ('name: "last"', 'name: "b"', "job.conf:31:11: b.name: expected another name than b, got two that have it"),
        ('name: "last"', 'name: "b1-in-fc"', "job.conf:31:11: b1-in-fc: expected a name of its own"),
        (
            'input: "x" output: "tanh"',
            'input: "fc" output: "tanh"',
            "job.conf:11:21 (b1-in): product.input[0]: expected a name that no layer has, got 'fc'",
        ),
        (
            'name: "residual"',
            'name: "product"',
            "job.conf:23:3: neuralnet.block[1]: expected blocks of different names, got 'product', which is "
            "also defined at job.conf:10:3; rename one",
        ),
        (
            'of: "product"',
            'of: "residual"',
            "job.conf:25:65 (b1): in.block_conf.of: expected another block, got residual → residual",
        ),
        (
            'of: "residual"',
            'of: "residul"',
            "b.block_conf.of: expected the name of a block, got 'residul'; did you mean",
        ),
        ('output: "add"', 'output: "sum"', "job.conf:24:"),
        (
            'srclayers: "data" block_conf',
            'srclayers: "date" block_conf',
            "job.conf:30:34: b.srclayers[0]: expected a layer",
        ),
        (
            'name: "width" value: "6"',
            'name: "width" value: ${rate}',
            "job.conf:6:30: ${rate}: expected no placeholder here",
        ),
        ("times: 3", "times: -1", "b.block_conf.times: expected 0 or more, got -1"),
        (
            "times: 3",
            'times: 3 let { name: "wide" value: "3" }',
            "expected a value that block residual takes, got 'wide'",
        ),
        (
            "times: 3",
            'times: 3 change { name: "c*" location: 1 }',
            "b.block_conf.change[0].name: expected names of layers, got 'c*'",
        ),
        (
            "times: 3",
            'times: 3 change { name: "b*" srclayers: "x" }',
            "expected a field that may differ, got srclayers",
        ),
        (
            'srclayers: "data" block_conf',
            'srclayers: "data" location: 1 block_conf',
            "b.location: expected a field of kBlock",
        ),
        (
            'srclayers: "data" block_conf',
            'srclayers: ["data", "data"] block_conf',
            "expected 1 sources, the inputs of block residual, got 2; its inputs are x",
        ),
        ('name: "width" value', 'name: "wi dth" value', "expected a name of letters, digits and _"),
        ("times: 3", "times: 0", "b has no instance, as its times are 0"),
        (
            '"last" type: kInnerProduct srclayers: "b"',
            '"last" type: kInnerProduct srclayers: "b4"',
            "got 'b4'; did you mean",
        ),
        (
            'output: "add"',
            'output: "x"',
            "(b1): residual.output[0]: expected a layer of the block, got 'x'; it is an input",
        ),
        ('name: "residual"', f'name: "{"9" * 5000}"', "got 'residual'; known: product, 999"),
        ('input: "x" output: "add"', 'input: "x" output: ["add", "in"]', "expected at most 1 outputs"),
        (
            'name: "tanh" type: kActivation',
            "type: kActivation",
            "job.conf:21:5: neuralnet.block.layer: expected name in",
        ),
    ],
)
def test_what_is_wrong_is_told_with_place_and_instance(old: str, new: str, expected: str) -> None:
    assert expected in fault(job_with(old, new))


def test_a_fault_of_several_instances_is_told_once() -> None:
    found = fault(
        job_with('name: "tanh" type: kActivation', 'name: "tanh" partition_dim: 1 location: 5000 type: kActivation')
    )
    assert found.startswith(
        "job.conf:21:43 (b1-in and 2 more): b1-in-tanh.location[0]: expected from 0 to 4095, got 5000"
    )
    assert "\n" not in found


def test_a_fault_of_a_change_is_at_the_change() -> None:
    found = fault(job_with("times: 3", 'times: 3 change { name: "b2-add" location: 9999 }'))
    assert found.startswith("job.conf:30:113 (b2): b2-add.location[0]: expected from 0 to 4095, got 9999")


def test_instances_within_one_another_are_limited() -> None:
    inner = 'block { name: "b0" input: "x" output: "y" layer { name: "y" type: kReLU srclayers: "x" } }'
    for k in range(BLOCK_DEPTH):
        inner += f"""block {{ name: "b{k + 1}" input: "x" output: "y"
          layer {{ name: "y" type: kBlock srclayers: "x" block_conf {{ of: "b{k}" }} }} }}"""
    inner += 'layer { name: "d" type: kSyntheticInput }'
    job = f'neuralnet {{ {inner} layer {{ name: "a" type: kBlock srclayers: "d" block_conf {{ of: "b%d" }} }} }}'
    assert len(read_job_text(job % (BLOCK_DEPTH - 1)).proto.neuralnet.layer) == 2
    assert "expected at most 8 blocks within one another, got more" in fault(job % BLOCK_DEPTH)


def test_bombs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a smaller limit, which is reached sooner."""
    monkeypatch.setattr("netpart.proto.blocks.builder.EXPANDED_LAYERS", FEW)
    assert f"expected at most {FEW} layers, got more; repeat less" in fault(job_with("times: 3", f"times: {FEW}"))
    many = 'layer { name: "y" type: kBlock srclayers: "x" block_conf { of: "%s" times: 1000 } }'
    text = f"""neuralnet {{ block {{ name: "a" input: "x" output: "y" layer {{ name: "y" type: kReLU
      srclayers: "x" }} }} block {{ name: "b" input: "x" output: "y" {many % "a"} }} {many % "b"} }}"""
    assert f"expected at most {FEW} layers, got more; repeat less" in fault(text)
    empty = 'block { name: "a" } layer { name: "k" type: kBlock block_conf { of: "a" times: 2147483647 } }'
    assert f"expected at most {FEW} instances of blocks, got more" in fault(f"neuralnet {{ {empty} }}")
    doubled = "".join(f'let {{ name: "a{k + 1}" value: "${{a{k}}}${{a{k}}}" }}' for k in range(40))
    assert "expected at most 4096 characters" in fault(f'neuralnet {{ let {{ name: "a0" value: "x" }} {doubled} }}')


def test_what_is_set_is_told_with_the_option() -> None:
    assert fault(JOB, "b2.location=9999").startswith("--set b2.location=9999: b2-in-fc.location[0]: expected from 0")
    assert "expected a layer or a field of the job, got 'b9'" in fault(JOB, "b9.location=1")
    assert "expected a field of LayerProto, got 'locatoin'" in fault(JOB, "b*-fc.locatoin=1")

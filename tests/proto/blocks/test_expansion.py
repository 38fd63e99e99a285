"""Blocks written out: the names, sources, parameters and values of the layers."""

from __future__ import annotations

from netpart.proto.job_pb2 import LayerProto
from netpart.proto.reader import Job, read_job_text
from tests.proto.blocks.texts import JOB, job_with


def layers(job: Job) -> dict[str, LayerProto]:
    return {layer.name: layer for layer in job.proto.neuralnet.layer}


def test_layers_have_the_names_of_their_instances_and_read_each_other() -> None:
    job = read_job_text(JOB)
    read = {name: list(layer.srclayers) for name, layer in layers(job).items()}
    assert read == {
        "data": [],
        "b1-in-fc": ["data"], "b1-in-tanh": ["b1-in-fc"], "b1-add": ["b1-in-tanh", "data"],
        "b2-in-fc": ["b1-add"], "b2-in-tanh": ["b2-in-fc"], "b2-add": ["b2-in-tanh", "b1-add"],
        "b3-in-fc": ["b2-add"], "b3-in-tanh": ["b3-in-fc"], "b3-add": ["b3-in-tanh", "b2-add"],
        "last": ["b3-add"], "loss": ["last", "data"],
    }  # fmt: skip
    assert [layer.param[0].name for name, layer in layers(job).items() if name.endswith("fc")] == [
        "b1-in-w", "b2-in-w", "b3-in-w"
    ]  # fmt: skip


def test_values_are_filled_in_numbers_enums_and_the_rest_of_the_job() -> None:
    job = read_job_text(JOB)
    assert layers(job)["b2-in-fc"].innerproduct_conf.num_output == 6
    assert layers(job)["b2-in-tanh"].activation_conf.type == 3
    assert job.proto.updater.learning_rate.base_lr == 0.1
    unquoted = job_with('name: "blocks"', "name: ${rate}").replace('srclayers: "x"\n', "srclayers: [${from}]\n")
    unquoted = unquoted.replace('let { name: "kind" value', 'let { name: "from" value: "x" } let { name: "kind" value')
    assert read_job_text(unquoted).proto.neuralnet == job.proto.neuralnet
    assert read_job_text(unquoted).proto.name == "0.1"
    assert not {"block", "let", "include"} & {known.name for known, _ in job.proto.neuralnet.ListFields()}


def test_the_innermost_layer_that_gives_a_value_has_precedence() -> None:
    given = job_with('block_conf { of: "product" }', 'block_conf { of: "product" let { name: "kind" value: "RELU" } }')
    assert layers(read_job_text(given))["b3-in-tanh"].activation_conf.type == 1
    net = job_with('let { name: "rate"', 'let { name: "kind" value: "SIGMOID" } let { name: "rate"')
    assert layers(read_job_text(net))["b3-in-tanh"].activation_conf.type == 2


def test_a_job_without_blocks_is_read_as_before() -> None:
    text = 'name: "${x}" neuralnet { layer { name: "a" type: kSyntheticInput store_conf { path: "${HOME}/x" } } }'
    job = read_job_text(text)
    assert job.expansion is None
    assert job.proto.name == "${x}"


def test_one_instance_and_numbers_from_any() -> None:
    one = layers(read_job_text(job_with(" times: 3 } }", " } }")))
    assert "b-in-fc" in one
    assert one["last"].srclayers == ["b-add"]
    later = layers(read_job_text(job_with("times: 3", "times: 2 first: 5")))
    assert [name for name in later if name.endswith("add")] == ["b5-add", "b6-add"]


def test_a_name_with_instance_has_no_prefix() -> None:
    named = job_with('layer { name: "add" type', 'layer { name: "sum-${instance}" type').replace(
        'output: "add"', 'output: "sum-${instance}"'
    )
    assert layers(read_job_text(named))["last"].srclayers == ["sum-b3"]


def test_an_output_is_read_by_the_names_of_layer_instance_and_output() -> None:
    for name in ("b", "b3", "b3-add"):
        assert read_job_text(job_with('srclayers: "b" ', f'srclayers: "{name}" ')).proto == read_job_text(JOB).proto
    assert layers(read_job_text(job_with('srclayers: "b" ', 'srclayers: "b2" ')))["last"].srclayers == ["b2-add"]


def test_an_output_of_an_inner_layer_kblock_is_read_by_the_name_of_that_layer() -> None:
    text = job_with('input: "x" output: "add"', 'input: ["x", "y"] output: ["add", "in"]')
    text = text.replace('srclayers: "data" block_conf', 'srclayers: ["data", "data"] block_conf')
    text = text.replace('"last" type: kInnerProduct srclayers: "b"', '"last" type: kInnerProduct srclayers: "b3-in"')
    layers = {layer.name: layer for layer in read_job_text(text).proto.neuralnet.layer}
    assert layers["last"].srclayers == ["b3-in-tanh"]


def test_inputs_that_no_output_replaces_stay() -> None:
    text = job_with('name: "residual" input: "x"', 'name: "residual" input: ["x", "y"]').replace(
        '["in", "x"]', '["in", "y"]'
    )
    text = text.replace('srclayers: "data" block_conf', 'srclayers: ["data", "data"] block_conf')
    read = layers(read_job_text(text))
    assert list(read["b3-add"].srclayers) == ["b3-in-tanh", "data"]
    assert list(read["b3-in-fc"].srclayers) == ["b2-add"]


def test_instances_share_the_parameters_of_the_first() -> None:
    text = job_with('param { name: "w" init', 'param { name: "w" share_from: "b1-in-w" init')
    first, second, third = (
        layer.param[0] for name, layer in layers(read_job_text(text)).items() if name.endswith("fc")
    )
    assert not first.HasField("share_from")
    assert [second.share_from, third.share_from] == ["b1-in-w", "b1-in-w"]
    inside = job_with("param { init { type: kConstant value: 0 } }\n    }", 'param { share_from: "w" }\n    }')
    assert layers(read_job_text(inside))["b2-in-fc"].param[1].share_from == "b2-in-w"


def test_a_block_shares_parameters_of_the_blocks_that_use_it() -> None:
    inner = 'block { name: "inner" input: "x" output: "fc" layer { name: "fc" type: kInnerProduct srclayers: "x" '
    inner += 'innerproduct_conf { num_output: 4 } param { share_from: "w" } param { share_from: "own/bias" } } }\n'
    outer = 'block { name: "outer" input: "x" output: "i" layer { name: "own" type: kInnerProduct srclayers: "x" '
    outer += 'innerproduct_conf { num_output: 4 } param { name: "w" } param { name: "bias" } } '
    outer += 'layer { name: "i" type: kBlock srclayers: "own" block_conf { of: "inner" } } }\n'
    uses = "".join(
        f'layer {{ name: "{name}" type: kBlock srclayers: "data" block_conf {{ of: "{of}" }} }}\n'
        for name, of in (("a", "outer"), ("b", "outer"), ("c", "inner"))
    )
    data = 'layer { name: "data" type: kSyntheticInput store_conf { batchsize: 4 shape: 4 } }\n'
    read = layers(read_job_text(f'name: "shared" neuralnet {{\n{inner}{outer}{data}{uses}}}'))
    assert [param.share_from for param in read["a-i-fc"].param] == ["a-w", "a-own/bias"]
    assert [param.share_from for param in read["b-i-fc"].param] == ["b-w", "b-own/bias"]
    assert [param.share_from for param in read["c-fc"].param] == ["w", "own/bias"]


def test_changes_set_lists_as_a_whole_and_blocks_field_by_field() -> None:
    text = job_with(
        "times: 3",
        'times: 3 change { name: "b*-fc" location: [0, 1] partition_dim: 1 }'
        ' change { name: "b2-in-fc" location: 1 innerproduct_conf { bias_term: false } }',
    )
    found = layers(read_job_text(text))
    assert list(found["b1-in-fc"].location) == [0, 1]
    second = found["b2-in-fc"]
    assert list(second.location) == [1]
    assert second.partition_dim == 1
    assert (second.innerproduct_conf.num_output, second.innerproduct_conf.bias_term) == (6, False)


def test_an_instance_and_a_pattern_are_set() -> None:
    job = read_job_text(
        JOB, overrides=["b*-fc.partition_dim=1", "b2.location=1", "b.recompute=true", "b3-in.location=0"]
    )
    found = layers(job)
    assert [found[f"b{k}-in-fc"].partition_dim for k in (1, 2, 3)] == [1, 1, 1]
    assert {name: list(layer.location) for name, layer in found.items() if layer.location} == {
        "b2-in-fc": [1], "b2-in-tanh": [1], "b2-add": [1], "b3-in-fc": [0], "b3-in-tanh": [0]
    }  # fmt: skip
    assert [name for name, layer in found.items() if not layer.recompute] == ["data", "last", "loss"]

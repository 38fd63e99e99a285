"""Each mistake a job's text can have: the position, what was expected and the next step."""

from __future__ import annotations

import pytest

from netpart.errors import ConfigError
from netpart.proto.reader import read_job_text

LAYER = 'neuralnet {\n  layer {\n    name: "c"\n    %s\n  }\n}\n'
CASES = {
    "unknown field": (
        LAYER % "convolution_conf { kernal: 3 }",
        "job.conf:4:24: c.convolution_conf: expected a field of ConvolutionProto, got 'kernal'; did you mean kernel",
    ),
    "few fields are listed": (
        LAYER % "relu_conf { x: 3 }",
        "job.conf:4:17: c.relu_conf: expected a field of ReLUProto, got 'x'; known: negative_slope",
    ),
    "neuralnet forgotten": (
        'name: "x"\nlayer { name: "a" }',
        "job.conf:2:1: job: expected a field of JobProto, got 'layer'; "
        "'layer' is a field of neuralnet: write neuralnet { layer ... }",
    ),
    "field of an inner block": (
        LAYER % "kernel_z: 3",
        "job.conf:4:5: c: expected a field of LayerProto, got 'kernel_z'; 'kernel_z' is a field of "
        "convolution_conf or pooling_conf: write it in that block",
    ),
    "field of an outer block": (
        LAYER % "pooling_conf { kernel: 3\n    srclayers: 'a'",
        "job.conf:5:5: c.pooling_conf: expected a field of PoolingProto, got 'srclayers'; "
        "'srclayers' is a field of 'layer': close the 'pooling_conf' block opened at line 4 first",
    ),
    "layer not closed": (
        'neuralnet {\n  layer {\n    name: "a"\n  layer { name: "b" }\n}\n',
        "job.conf:4:3: a: expected a field of LayerProto, got 'layer'; "
        "'layer' is a field of 'neuralnet': close the 'layer' block opened at line 2 first",
    ),
    "field of the job in an open block": (
        "updater {\n  type: kSGD\ntrain_steps: 3",
        "job.conf:3:1: updater: expected a field of UpdaterProto, got 'train_steps'; "
        "'train_steps' is a field of the job: close the 'updater' block opened at line 1 first",
    ),
    "last block not closed": (
        'name: "x"\n\n neuralnet {\n  layer { name: "a" }\n\n# end\n',
        "job.conf:3:2: neuralnet: expected } or > that closes the block opened here, got the end of the file",
    ),
    "bracket too many": (
        "neuralnet { }\n}",
        "job.conf:2:1: job: expected a field or the end of the file, got '}'; remove this bracket",
    ),
    "wrong bracket": (
        "neuralnet {\n>",
        "job.conf:2:1: neuralnet: expected a field, or the bracket that closes the block, got '>' "
        "(the block opens at line 1); { closes with }, < with >",
    ),
    "enum value": (
        LAYER % "type: kConvolutoin",
        "job.conf:4:11: c.type: expected a value of LayerType, got kConvolutoin; did you mean kConvolution",
    ),
    "enum value in a list": (
        LAYER % "include: [kTrain, kTets]",
        "job.conf:4:23: c.include: expected a value of Phase, got kTets; did you mean kTest",
    ),
    "list not closed": (
        LAYER % "location: [0, 1",
        "job.conf:5:3: c.location: expected , or ] that closes the list of line 4, got '}'; "
        "a list is written location: [1, 2]",
    ),
    "list without commas": (
        LAYER % "location: [0 1]",
        "job.conf:4:18: c.location: expected , or ] that closes the list of line 4, got '1'",
    ),
    "few values are listed": (
        LAYER % "remainder: X",
        "job.conf:4:16: c.remainder: expected a value of Remainder, got X; known: LAST, SPREAD",
    ),
    "after a list of blocks": (
        LAYER % "param: [{ name: 'w' }, { init { type: kFoo } }]",
        "job.conf:4:43: c.param.init.type: expected a value of InitMethod, got kFoo; known: kConstant",
    ),
    "number too large": (
        "train_steps: 99999999999",
        "job.conf:1:14: train_steps: expected a whole number of 32 bits, got 99999999999",
    ),
    "no whole number": (
        "train_steps: 1e3",
        "job.conf:1:14: train_steps: expected a whole number of 32 bits, got 1e3; write it in digits, as in train_",
    ),
    "typographic quotes": (
        "name: “abc”",
        'job.conf:1:7: name: expected a string, got “; write it with straight quotes: name: "..."',
    ),
    "typographic quotes around a number": (
        "train_steps: “3”",
        "job.conf:1:14: train_steps: expected a whole number of 32 bits, got “; write it in digits, as in train_steps",
    ),
    "no value": ("name:", "job.conf:1:6: name: expected a string, got the end of the file; write a value after name"),
    "no number": ("updater { momentum: fast }", "job.conf:1:21: updater.momentum: expected a number, got fast"),
    "no truth value": ("debug: yes", "job.conf:1:8: debug: expected true or false, got yes"),
    "no quotes": (
        LAYER % "srclayers: data",
        'job.conf:4:16: c.srclayers: expected a string, got data; put it in quotes: srclayers: "data"',
    ),
    "open quote": ('name: "abc\ntrain_steps: 3', 'job.conf:1:7: name: expected a string, got "abc'),
    "block expected": ("neuralnet: 3", "job.conf:1:12: neuralnet: expected a block { ... } (NetProto), got 3"),
    "no colon": ("train_steps 3", "job.conf:1:13: job: expected \":\", got '3'; a field is written name: value"),
    "no name": ("= 3", "job.conf:1:1: job: expected identifier or number, got '='; a field is written"),
    "twice": ('name: "a"\nname: "b"', "job.conf:2:7: job: expected one name, got a second one; remove one"),
    "axis and over": (
        LAYER % "cut { axis: 1\n over: INPUT }",
        "job.conf:5:2: c.cut: expected axis or over, got both; remove one of them",
    ),
    "bytes that are no UTF-8 in a string": (
        'name: "\\xff"',
        "job: expected protobuf text, got Couldn't parse string",
    ),
    "a comment of another language": ("// x", "job.conf:1:1: job: expected a field, got '/'; comments begin with #"),
    "a number with a unit": (
        "cluster { device { flops: 10G } }",
        "job.conf:1:27: cluster.device.flops: expected a number, got 10G; a number has no unit: write 1e10",
    ),
    "a size in quotes": (
        'cluster { device { memory: "8GB" } }',
        'job.conf:1:28: cluster.device.memory: expected a number, got "8GB"; a number has no unit: write 8e9',
    ),
    "a number in words": (
        "updater { momentum: fast }",
        "job.conf:1:21: updater.momentum: expected a number, got fast; write it in digits, as in momentum: 0.1",
    ),
    "a device outside the cluster": (
        'device { name: "a" }',
        "job.conf:1:8: device: expected a string, where kernels run, got a block; devices stand in cluster: cluster { ",
    ),
    "a class of PyTorch": (
        LAYER % "type: nn.Linear",
        "job.conf:4:11: c.type: expected a value of LayerType, got nn.Linear; a fully connected layer is kInnerProduct",
    ),
    "unknown extension": (
        LAYER % "[foo.bar] { }",
        "c: expected a field, or an extension that a package has registered, got [foo.bar]; install the package whose",
    ),
    "unknown extension after a string": (
        LAYER % 'user_type: "kData" [data_conf] { path: "x" }',
        "c: expected a field, or an extension that a package has registered, got [data_conf]; install the package",
    ),
    "required field": (
        LAYER % "innerproduct_conf { }",
        "job.conf:4:5: c: expected num_output in neuralnet.layer.innerproduct_conf, got none; add num_output: ...",
    ),
    "layer without a name": (
        "neuralnet {\n layer { type: kReLU } }",
        "job.conf:2:2: layer 0: expected name in neuralnet.layer, got none; add name: ...",
    ),
    "required field outside the net": (
        "updater { rmsprop_conf { } }",
        "job.conf:1:11: updater.rmsprop_conf: expected rho in updater.rmsprop_conf, got none; add rho: ...",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_mistake(case: str) -> None:
    text, expected = CASES[case]
    with pytest.raises(ConfigError) as caught:
        read_job_text(text, "job.conf")
    assert expected in str(caught.value)
    assert caught.value.position is not None
    assert caught.value.position.file == "job.conf"

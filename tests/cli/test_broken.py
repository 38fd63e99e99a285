"""Every mistake of the list that a new user will make: one message, where it is, what came and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from netpart.data.stores.store import KvWriter
from tests.cli.conftest import JOB, Netpart


@dataclass(frozen=True)
class Mistake:
    """JOB with ``right`` replaced by ``wrong``; ``place`` is the text that the error points at."""

    right: str
    wrong: str
    place: str
    says: str
    code: int = 2
    messages: int = 1


CONV = '    name: "conv"\n'
LOSS = '    name: "loss"\n'
IP = '    srclayers: "ip"\n'
CONV_LAYER, DATA_LAYER = 'layer {\n    name: "conv"', 'layer {\n    name: "data"'
PARAMS = JOB[JOB.index("    param") : JOB.index('  }\n  layer {\n    name: "ip"')]
TAKES = "axis 0 (batch) or 1 (neurons, channels) or 2 (space) or 3 (space)"
SHAPE = "shape: 3 shape: 8 shape: 8"
STORE = JOB[JOB.index("    type: kSynth") : JOB.index('  }\n  layer {\n    name: "conv"')]


def records(more: str, shape: str = SHAPE) -> str:
    """What stands in the place of STORE where rows are read from a file."""
    return f"    type: kRecordInput\n    store_conf {{ {more} batchsize: 8 {shape} }}\n"


MISTAKES = {
    "unknown field": Mistake(
        "kernel: 3", "kernal: 3", "kernal",
        "conv.convolution_conf: expected a field of ConvolutionProto, got 'kernal'; did you mean kernel",
    ),
    "unknown layer type": Mistake(
        "kConvolution", "kConvolutoin", "kConvolutoin",
        "conv.type: expected a value of LayerType, got kConvolutoin; did you mean kConvolution or kCConvolution?",
    ),
    "a layer type that netpart does not have": Mistake(
        "kConvolution", "kGRU", "type: kGRU", "conv: expected a layer type of netpart, got kGRU; the language",
    ),
    "a user's layer type that is not installed": Mistake(
        "kConvolution", 'kUserLayer user_type: "kFancy"', "type: kUserLayer",
        "conv: expected a known layer type, got 'kFancy'; if a package has it, install that",
    ),
    "no layer type": Mistake(
        "    type: kConvolution\n", "", CONV_LAYER, "conv: expected a type, got none; add type: kReLU",
    ),
    "missing name": Mistake(
        CONV, "", 'layer {\n    type: kConvolution', "layer 1: expected name in neuralnet.layer, got none; add name",
    ),
    "empty name": Mistake(
        '"conv"', '""', 'layer {\n    name: ""', 'layer 1: expected a name, got none; add name: "..."',
    ),
    "doubled name": Mistake(
        '"ip"', '"conv"', 'name: "conv"\n    type: kInner',
        "conv: expected a name of its own, got a second layer of that name; rename one",
    ),
    "unknown srclayer": Mistake(
        'srclayers: "conv"', 'srclayers: "convv"', 'srclayers: "convv"',
        "ip: expected srclayers that exist in phase train, got 'convv'; did you mean conv?",
    ),
    "srclayer of another phase": Mistake(
        '"data"\n', '"data"\n    include: kTest\n', 'srclayers: "data"\n    conv',
        "conv: expected srclayers that exist in phase train, got 'data'; "
        "data is only in phase test; drop its include, or add include: kTrain",
        messages=2,  # the loss reads it as well
    ),
    "cycle": Mistake(
        'srclayers: "data"\n    conv', 'srclayers: "ip"\n    conv', 'srclayers: "ip"\n    conv',
        "conv: expected layers without a cycle, got conv -> ip -> conv; remove one of these srclayers",
    ),
    "wrong rank": Mistake(
        "shape: 3 shape: 8 shape: 8", "shape: 3", "convolution_conf",
        "conv: expected a source of 4 axes (batch, channels, 2 spatial), or 3 for one channel, got (8, 3); "
        "set spatial_axes or change the source",
    ),
    "wrong size": Mistake(
        "kernel: 3", "kernel: 9", "kernel: 9",
        "conv: expected a kernel no larger than the padded input, got 9 over 8 + 2 * 0; use a smaller kernel",
    ),
    "labels from the wrong layer": Mistake(
        'srclayers: "data"\n  }', 'srclayers: "conv"\n  }', 'srclayers: "conv"\n  }',
        "loss: expected 8 int labels from source 1 (conv) for the scores (8, 5) of source 0 (ip), "
        "got float (8, 4, 6, 6); name the input layer here",
    ),
    "no labels": Mistake(
        IP, "", 'srclayers: "data"\n  }',
        "loss: expected 2 sources (the prediction, the labels), got 1; correct its srclayers",
    ),
    "a cut that a layer does not allow": Mistake(
        LOSS, LOSS + "    partition_dim: 2\n", "partition_dim: 2",
        "loss: expected a cut on axis 0 (batch) or 1 (neurons, channels), got a cut on axis 2; its shape is (8, 5)",
    ),
    "a cut on an axis that is not there": Mistake(
        CONV, CONV + "    partition_dim: 7\n", "partition_dim: 7",
        f"conv: expected a cut on {TAKES}, got a cut on axis 7; its shape is (8, 4, 6, 6)",
    ),
    "a cut on inputs that are not summed": Mistake(
        LOSS, LOSS + "    cut { over: INPUT parts: 2 }\n", "cut { over",
        "loss: expected a cut on an axis, got a cut over INPUT; only a layer that adds up its inputs",
    ),
    "an axis shorter than its parts": Mistake(
        CONV, CONV + "    partition_dim: 1 location: [0, 1, 2, 0, 1]\n", "partition_dim: 1",
        "conv: expected axis 1 (neurons, channels) at least as long as its 5 parts, got 4; cut it into at most 4 parts",
    ),
    "a batch shorter than its parts": Mistake(
        CONV, CONV + "    partition_dim: 0 location: [0, 1, 2, 0, 1, 2, 0, 1, 2]\n", "partition_dim: 0",
        "conv: expected axis 0 (batch) at least as long as its 9 parts, got 8; cut it into at most 8 parts",
    ),
    "sizes that do not sum up": Mistake(
        CONV, CONV + "    cut { axis: 1 sizes: [2, 3] location: [0, 1] }\n", "cut { axis",
        "conv: expected 2 sizes that sum to 4, got [2, 3]; every part needs at least 1",
    ),
    "a location beyond the workers": Mistake(
        CONV, CONV + "    location: 5\n", "location: 5",
        "conv: expected a location below the 3 workers, got 5; run with --workers 6",
    ),
    "missing conf": Mistake(
        "    convolution_conf { num_filters: 4 kernel: 3 }\n", "", CONV_LAYER,
        "conv: expected a convolution_conf, got none; add convolution_conf { num_filters: 32 kernel: 3 }",
    ),
    "missing conf of an input": Mistake(
        "    store_conf { batchsize: 8 shape: 3 shape: 8 shape: 8 }\n", "", DATA_LAYER,
        "data: expected a store_conf, got none; add store_conf { ... }",
    ),
    "missing param blocks": Mistake(
        PARAMS, "", CONV_LAYER,
        'conv: expected 1 or 2 param blocks (weight, bias), got 0; write param { name: "conv_w" init {',
    ),
    "doubled param names": Mistake(
        'param { name: "b" init { type: kConstant value: 0 } }', 'param { name: "w" }', 'name: "w" }\n',
        "conv: expected param names of their own, got conv/w; rename one",
    ),
    "a parameter that nothing fills": Mistake(
        ' init { type: kUniform }', "", 'param { name: "w" }',
        "conv.param[0].init: expected a way to fill the parameter, got none; add init { type: kUniformSqrtFanIn }",
    ),
    "no updater": Mistake(
        "updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }\n", "", 'name: "small"',
        "updater: expected a type, got none; add updater { type: kSGD learning_rate { type: kFixed base_lr: 0.01 } }",
    ),
    "a norm that nothing has": Mistake(
        "type: kSGD", "type: kSGD clip_norm: -1", "clip_norm: -1",
        "updater.clip_norm: expected a number of at least 0, got -1.0; 0 clips nothing",
    ),
    "averages that are not kept": Mistake(
        "type: kSGD", "type: kSGD ema_eval: true", "ema_eval: true",
        "updater.ema_eval: expected an ema_decay above 0 with it, got 0.0; add ema_decay: 0.999",
    ),
    "a warm-up into the past": Mistake(
        "base_lr: 0.1", "base_lr: 0.1 warmup_steps: -4", "warmup_steps: -4",
        "updater.learning_rate.warmup_steps: expected a number of at least 0, got -4",
    ),
    "a cosine without its length": Mistake(
        "type: kFixed base_lr: 0.1", "type: kCosine", "learning_rate",
        "updater.learning_rate.cosine_conf: expected a value, got none; add cosine_conf { change_freq: 1000 }",
    ),
    "a net without layers": Mistake(
        JOB[JOB.index("neuralnet") :], "", 'name: "small"',
        "neuralnet: expected at least one layer in phase train, got none; add layers",
    ),
    "a missing data file that the shape depends on": Mistake(
        STORE, records('path: "absent.bin"', shape=""), 'path: "absent.bin"',
        "absent.bin: expected a data file, got nothing there", 1,
    ),
    "a data file that is truncated": Mistake(
        STORE, records('path: "short.bin"'), 'path: "short.bin"',
        "short.bin: byte 42, record 1: expected a value of 8 bytes, got 5 more; `truncate --size=18` keeps the 1", 1,
    ),
    "a data file that is empty": Mistake(
        STORE, records('path: "empty.bin"'), 'path: "empty.bin"',
        "empty.bin: expected at least one record, got an empty file", 1,
    ),
    "no path": Mistake(
        STORE, records(""), "store_conf",
        'data: expected the path of its data, got none; write path: "..." in store_conf',
    ),
}  # fmt: skip


def position(text: str, place: str) -> str:
    """``line:column`` of ``place``, counted from 1."""
    at = text.index(place)
    start = text.rfind("\n", 0, at) + 1
    return f"{text.count(chr(10), 0, at) + 1}:{at - start + 1}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the job lies, with data that cannot be read."""
    with KvWriter(tmp_path / "short.bin") as writer:
        writer.put(b"0", b"v")
        writer.put(b"12345678", b"12345678")
    whole = (tmp_path / "short.bin").read_bytes()
    (tmp_path / "short.bin").write_bytes(whole[:-3])
    (tmp_path / "empty.bin").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_in_one_message(name: str, folder: Path, netpart: Netpart) -> None:
    mistake = MISTAKES[name]
    assert mistake.right in JOB
    text = JOB.replace(mistake.right, mistake.wrong, 1)
    (folder / "job.conf").write_text(text)
    answer = netpart("check", "job.conf", "--workers", 3)
    message, *others = [line for line in (answer.err + answer.out).splitlines() if line.startswith("error: ")]
    assert message.startswith(f"error: job.conf:{position(text, mistake.place)}: ")
    assert mistake.says in message
    assert answer.code == mistake.code
    assert len(others) == mistake.messages - 1


def test_what_is_wrong_in_a_set_is_placed_there(job: Path, netpart: Netpart) -> None:
    answer = netpart("check", job, "--workers", 2, "--set", "conv.partition_dim=9")
    assert answer.err.startswith("error: --set conv.partition_dim=9: conv: expected a cut on axis 0 (batch) or")
    assert answer.code == 2


@pytest.mark.parametrize("verb", ["check", "draw", "verify", "run"])
def test_every_verb_says_where(verb: str, job: Path, netpart: Netpart) -> None:
    job.write_text(JOB.replace("kernel: 3", "kernel: 9"))
    answer = netpart(verb, job)
    assert answer.err.startswith(f"error: {job}:{position(job.read_text(), 'kernel: 9')}: conv: expected a kernel")
    assert (answer.code, answer.out) == (2, "")

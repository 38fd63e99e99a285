"""What a newcomer types, from other frameworks or by a slip, and what he is told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from netpart.cli.examples import EXAMPLES
from netpart.cli.main import VERBS, parse_command_line
from netpart.resources import zoo_folder
from netpart.threads import available_cores
from tests.cli.conftest import JOB, Netpart

PARAMS = JOB[JOB.index("    param") : JOB.index('  }\n  layer {\n    name: "ip"')]
RATE = "learning_rate { type: kFixed base_lr: 0.1 }"
NEURONS = "neurons are written innerproduct_conf { num_output: 10 }"

WRITTEN = {
    "type: Linear": (
        "kInnerProduct",
        "Linear",
        "ip.type: expected a value of LayerType, got Linear; a fully connected"
        " layer is kInnerProduct; docs/layers.md lists all",
    ),
    "type: Dense": ("kInnerProduct", "Dense", "got Dense; a fully connected layer is kInnerProduct"),
    "type: Conv2d": ("kConvolution", "Conv2d", "got Conv2d; a convolution is kConvolution; docs"),
    "type: Conv1D": ("kConvolution", "Conv1D", "it is kConvolution with convolution_conf { spatial_axes: 1 }"),
    "type: MaxPool2d": ("kConvolution", "MaxPool2d", "max pooling is kPooling"),
    "type: AvgPool2d": ("kConvolution", "AvgPool2d", "average pooling is kPooling with pooling_conf { pool: AVG }"),
    "type: BatchNorm2d": ("kConvolution", "BatchNorm2d", "batch normalisation is kBM"),
    "type: ReLU": ("kConvolution", "ReLU", "got ReLU; did you mean kReLU?"),
    "type: GELU": ("kConvolution", "GELU", "it is kActivation with activation_conf { type: GELU }"),
    "type: LSTM": ("kConvolution", "LSTM", "recurrent layers are not there yet"),
    "type: CrossEntropyLoss": (
        "kSoftmaxLoss",
        "CrossEntropyLoss",
        "softmax and cross-entropy together are kSoftmaxLoss",
    ),
    "partition_dim: quoted": (
        "partition_dim: -1",
        'partition_dim: "1"',
        'data.partition_dim: expected a whole number of 32 bits, got "1"; write it without quotes: partition_dim: 1',
    ),
    "partition_dim: neurons": (
        "partition_dim: -1",
        "partition_dim: neurons",
        "got neurons; partition_dim is: Axis it is"
        " cut on: 0 batch, 1 neurons or channels, 2, 3, 4 spatial, -1 whole. Unset: the net's",
    ),
    "base_lr: quoted": (
        "0.1",
        '"0.05"',
        'updater.learning_rate.base_lr: expected a number, got "0.05"; write it without quotes: base_lr: 0.05',
    ),
    "base_lr: with a comma": ("0.1", "0,05", "numbers have a point, not a comma: base_lr: 0.05"),
    "true: quoted": ("partition_dim: -1", 'sum_gradient: "true"', "write it without quotes: sum_gradient: true"),
    "an enum: quoted": ("kSGD", '"kSGD"', "write it without quotes: type: kSGD"),
    "no param blocks": (
        PARAMS,
        "",
        "conv: expected 1 or 2 param blocks (weight, bias), got 0; write param { name:"
        ' "conv_w" init { type: kUniformSqrtFanIn } } param { name: "conv_b" init { type: kConstant'
        " value: 0 } }",
    ),
    "lr": (
        RATE,
        "lr: 0.05",
        "updater: expected a field of UpdaterProto, got 'lr'; the rate is written learning_rate {"
        " type: kFixed base_lr: 0.05 } in updater",
    ),
    "learning_rate: 0.1": (
        RATE,
        "learning_rate: 0.1",
        "updater.learning_rate: expected a block { ... } (LRGenProto), got"
        " 0.1; write learning_rate { type: kFixed base_lr: 0.05 }",
    ),
    "srclayers in one string": (
        'srclayers: "ip"\n    srclayers: "data"',
        'srclayers: "ip, data"',
        'got \'ip, data\'; write one name each: srclayers: "ip" srclayers: "data"',
    ),
    "bottom": ('srclayers: "ip"', 'bottom: "ip"', 'a layer names what it reads, each by itself: srclayers: "data"'),
    "num_output: 0": (
        "num_output: 5",
        "num_output: 0",
        "ip: expected num_output of 1 or more, got 0; num_output is: neurons",
    ),
    "units": ("num_output: 5", "units: 5", f"got 'units'; {NEURONS}"),
    "out_features": ("num_output: 5", "out_features: 5", f"got 'out_features'; {NEURONS}"),
    "hidden_size": ("num_output: 5", "hidden_size: 5", f"got 'hidden_size'; {NEURONS}"),
    "out_channels": ("num_filters", "out_channels", "output channels are written convolution_conf { num_filters: 32 }"),
    "kernel_size": ("kernel:", "kernel_size:", "the window is written kernel: 3, or kernel_x and kernel_y"),
    "in_channels": ("num_filters: 4", "in_channels: 3", "it is not written: a layer knows it from its source"),
    "batch_size": ("batchsize", "batch_size", "got 'batch_size'; did you mean batchsize?"),
    "epochs": ("train_steps", "epochs", "got 'epochs'; a run is as long as train_steps: 1000, in mini-batches"),
    "optimizer": ("updater", "optimizer", "got 'optimizer'; it is written updater { type: kSGD ... }"),
    "type: Adam": ("kSGD", "Adam", "updater.type: expected a value of UpdaterType, got Adam; did you mean kAdam?"),
    "type: xavier": ("kUniform }", "xavier }", "kUniformSqrtFanIn and kGaussianSqrtFanIn scale by the inputs"),
    "share_from: nothing": (
        '"w" init { type: kUniform }',
        '"w" share_from: "zz"',
        "got no param of that name above; no layer before it has a parameter",
    ),
}
"""(what stands in JOB, what is typed instead, what is said)."""


@pytest.mark.parametrize("typed", WRITTEN)
def test_what_is_typed_into_a_job(typed: str, job: Path, netpart: Netpart) -> None:
    right, wrong, said = WRITTEN[typed]
    assert right in JOB
    job.write_text(JOB.replace(right, wrong, 1))
    answer = netpart("check", job)
    assert answer.code == 2
    assert said in answer.err
    assert answer.err.startswith(f"error: {job}:")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("ip.location=[0,1]", "expected a list without brackets, got '[0,1]'; write location=0,1"),
        ("lr=0.1", "expected a layer or a field of the job, got 'lr'; did you mean updater.learning_rate.base_lr?"),
        ("learning_rate.base_lr=1", "got 'learning_rate'; did you mean updater.learning_rate.base_lr?"),
        ("batchsize=3", "got 'batchsize'; did you mean data.store_conf.batchsize?"),
        ("batch_size=3", "got 'batch_size'; did you mean data.store_conf.batchsize?"),
        ("num_output=3", "got 'num_output'; did you mean ip.innerproduct_conf.num_output?"),
        ("epochs=3", "got 'epochs'; did you mean train_steps?"),
        ("workers=3", "got 'workers'; did you mean cluster.nworkers_per_group?"),
        ("ip.units=3", "got 'units'; did you mean innerproduct_conf.num_output?"),
        ("conv.kernel_size=3", "got 'kernel_size'; did you mean convolution_conf.kernel?"),
        ("ip.type=Dense", "got 'Dense'; a fully connected layer is kInnerProduct; docs/layers.md lists all"),
        ("train_steps=ten", "expected a whole number of 32 bits, got 'ten'"),
    ],
)
def test_what_is_typed_into_set(change: str, said: str, job: Path, netpart: Netpart) -> None:
    answer = netpart("check", job, "--set", change)
    assert answer.code == 2
    assert said in answer.err


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("train", "expected a verb, got 'train'; did you mean run?"),
        ("fit", "did you mean run?"),
        ("infer", "expected a verb, got 'infer'; did you mean predict?"),
        ("eval", "did you mean evaluate?"),
        ("test", "run tests as it trains; `netpart evaluate JOB --checkpoint F` tests a checkpoint"),
        ("visualize", "did you mean draw?"),
        ("job.conf", "a verb comes first: netpart check job.conf, or netpart run job.conf"),
        ("zzz", "netpart --help lists them"),
    ],
)
def test_what_is_typed_as_a_verb(typed: str, said: str, netpart: Netpart) -> None:
    answer = netpart(typed)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert answer.err.count("\n") == 1


def test_help_is_a_verb_too(netpart: Netpart) -> None:
    assert netpart("help").out == netpart("--help").out
    assert netpart("help", "run").out == netpart("run", "--help").out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--dtype", "float16"],
            "error: --dtype: expected float32 or float64, got 'float16'; `netpart run --help` explains all options\n",
        ),
        (
            ["--seed", "x"],
            "error: --seed: expected a whole number, got 'x'; `netpart run --help` explains all options\n",
        ),
        (["--seed"], "error: --seed: expected a value, got none; `netpart run --help` explains all options\n"),
        (
            ["--lr=0.1"],
            "error: unknown: --lr=0.1; write --set updater.learning_rate.base_lr=0.1; `netpart run --help` explains all"
            " options\n",
        ),
        (
            ["-n", "3"],
            "error: unknown: -n 3; write --workers 3; `netpart run --help` explains all options\n",
        ),
        (
            ["--epochs", "3"],
            "error: unknown: --epochs 3; write --steps N; an epoch is the samples / batchsize; `netpart run --help`"
            " explains all options\n",
        ),
        (["--wrkers", "3"], "error: unknown: --wrkers 3; did you mean --workers?\n"),
        (
            ["--workers", "two"],
            "error: --workers: expected a whole number from 1 to 4096, got 'two'; `netpart run"
            " --help` explains all options\n",
        ),
        (
            ["--steps", "12345678901234567890123"],
            "error: --steps: expected a whole number from 0 to 2147483647, got '12345678901234567890…'; "
            "`netpart run --help` explains all options\n",
        ),
        (
            ["--reach", "2"],
            "error: --reach: expected a number from 0 to 1, got '2'; `netpart run --help` explains all options\n",
        ),
        (
            ["--wait", "nan"],
            "error: --wait: expected seconds from 0 to 1000000000, got 'nan'; `netpart run --help`"
            " explains all options\n",
        ),
    ],
)
def test_a_wrong_option_is_one_line(options: list[str], said: str, job: Path, netpart: Netpart) -> None:
    answer = netpart("run", job, *options)
    assert (answer.code, answer.out, answer.err) == (2, "", said)


def test_reach_says_what_it_is_for(netpart: Netpart) -> None:
    words = " ".join(netpart("run", "--help").out.split())
    assert "with --against: test accuracy, 0..1, up to which the epochs of both runs are counted" in words


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lenet", "did you mean mnist/conv?"),
        ("LeNet-5", "did you mean mnist/conv?"),
        ("resnet18", "did you mean resnet/resnet18?"),
        ("nanogpt", "did you mean gpt/tiny?"),
        ("mnist/con", "did you mean mnist/conv"),
    ],
)
def test_what_a_job_of_the_zoo_is_called(name: str, said: str, netpart: Netpart) -> None:
    assert said in netpart("zoo", name).err


def test_a_png_needs_a_converter(job: Path, netpart: Netpart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)
    monkeypatch.setenv("PATH", "")
    answer = netpart("draw", job, "--turns", "-o", "turns.png")
    assert answer.code == 1
    assert answer.err == (
        "error: drawing: expected typst or rsvg-convert for a PNG, got neither; "
        "`pip install 'netpart[print]'`, or write an SVG, which any browser prints\n"
    )
    assert not Path("turns.png").exists()


def test_no_token(netpart: Netpart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NETPART_TOKEN", raising=False)
    answer = netpart("worker", "--join", "tcp://127.0.0.1:5555")
    assert answer.err.startswith(
        "error: NETPART_TOKEN: expected the run's token, got none; copy the line that `netpart run` printed, set"
        " NETPART_TOKEN or give --token-file"
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("test_freq=5", "test_freq: 5 has no effect, as there is no test_steps; write test_steps: 10, say"),
        ("validate_freq=5", "validate_freq: 5 has no effect, as there is no validate_steps; write validate_steps"),
        ("ip.partition_dim=0", "ip: partition_dim: 0 is not read, as cut is written; remove one"),
    ],
)
def test_what_has_no_effect_is_said(changed: str, said: str, job: Path, netpart: Netpart) -> None:
    job.write_text(job.read_text().replace('name: "ip"', 'name: "ip" cut { axis: 1 }'))
    places = "--launcher", "threads", "--workspace", job.parent
    assert f"warning: {said}" in netpart("check", job, "--set", changed).out
    assert f"warning: {said}" in netpart("run", job, *places, "--set", changed).err
    meant = "--set", "test_steps=0", "--set", "validate_steps=0", "--set", "ip.cut[0].phase=kTest"
    assert "warning" not in netpart("check", job, "--set", changed, *meant).out


def test_a_gpu_that_is_not_there_is_said(
    job: Path, netpart: Netpart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netpart.launch.control.worker_devices.count_gpus", lambda: 0)
    run = ("run", job, "--launcher", "threads", "--workspace", tmp_path, "--set", "gpu=0")
    said = "warning: gpu: 0 has no effect, as no NVIDIA GPU can be used here: the processor computes"
    assert said in netpart(*run).err
    assert "has no effect" not in netpart(*run, "--device", "cpu").err


@pytest.mark.parametrize("verb", VERBS)
def test_help_ends_with_examples_that_work(verb: str, netpart: Netpart) -> None:
    shown = netpart(verb, "--help").out
    root = zoo_folder().parent
    for example in EXAMPLES[verb]:
        assert f"\n  {example}\n" in shown
        words = example.replace('"def "', "def").split()
        assert parse_command_line(words[1:]).run_verb
        for word in words[2:]:
            assert not word.startswith(("graphs/", "workers/")) or (root / word).is_file()


@pytest.mark.parametrize("launcher", ["local", "threads"])
def test_more_workers_than_a_host_can_hold_are_not_started(launcher: str, job: Path, netpart: Netpart) -> None:
    placed = [word for name in ("data", "conv", "ip", "loss") for word in ("--set", f"{name}.location=0")]
    many = 64 * available_cores() + 1
    answer = netpart("run", job, "--launcher", launcher, "--workers", many, *placed)
    assert (answer.code, answer.out) == (2, "")
    assert f"expected at most 64 workers per core of this host, got {many} workers on" in answer.err
    assert "netpart simulate and netpart verify play any number" in answer.err


def test_what_the_operating_system_answers_is_told_as_what_came(job: Path, netpart: Netpart, tmp_path: Path) -> None:
    absent = netpart("run", job, "--set", f"checkpoint_path={tmp_path}/zz")
    assert "zz: expected a checkpoint, got nothing there; check the path" in absent.err
    (tmp_path / "file").write_text("")
    blocked = netpart("run", job, "--workspace", tmp_path / "file")
    assert "expected a folder to write to, got a file; name another one with --workspace" in blocked.err

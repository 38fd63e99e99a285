"""The text of a job.conf as it grows, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from textwrap import wrap

WIDTH = 117
"""Columns of a comment."""
MADE = "Made by tools/make_zoo.py: a change belongs there."
HE = "init { type: kGaussianSqrtFanIn value: 1.4142135 }"
"""Normal with variance 2 / fan-in: keeps the variance through ReLUs (He et al., 2015)."""
ONE, ZERO = "init { type: kConstant value: 1 }", "init { type: kConstant value: 0 }"
NORMAL = "init { type: kGaussian std: 0.02 }"


@dataclass
class Net:
    """The layers of a net as text. ``cuts``: the cut of a layer, by a pattern of names; the first match counts."""

    cuts: Mapping[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Write a comment above the next layer."""
        self.lines += ["", f"# {text}"]

    def layer(self, name: str, kind: str, *sources: str, conf: str = "", params: Sequence[str] = ()) -> str:
        """Add a layer; ``params`` are its param blocks, in order. Returns its name."""
        cut = next((text for pattern, text in self.cuts.items() if fnmatch(name, pattern)), "")
        listed = ", ".join(f'"{source}"' for source in sources)
        body = [
            f'name: "{name}"',
            f"type: {kind}",
            f"srclayers: {listed}" if len(sources) == 1 else f"srclayers: [{listed}]" if sources else "",
            cut,
            *conf.split("\n"),
            *(f"param {{ {text} }}" for text in params),
        ]
        above = [] if not self.lines or self.lines[-1].startswith("#") else [""]
        self.lines += [*above, "layer {", *(f"  {line}" for line in body if line), "}"]
        return name

    def data(self, batch: int, shape: Sequence[int], classes: int) -> str:
        """Add synthetic data: a pattern per class, plus noise. Few classes get less noise: they are learnt faster."""
        conf = f"store_conf {{ batchsize: {batch} shape: [{', '.join(map(str, shape))}] }}"
        store = f"synthetic_conf {{ classes: {classes}{' noise: 0.5' if classes < 100 else ''} }}"
        return self.layer("data", "kSyntheticInput", conf=f"{conf}\n{store}")

    def convolution(
        self, name: str, source: str, filters: int, kernel: int, stride: int = 1, pad: int = 0, more: str = "",
        bias: bool = False,
    ) -> str:  # fmt: skip
        """A convolution with the initial weights of He et al."""
        fields = [f"num_filters: {filters} kernel: {kernel}"]
        fields += [f"stride: {stride}"] * (stride != 1) + [f"pad: {pad}"] * (pad != 0) + [more] * bool(more)
        conf = f"convolution_conf {{ {' '.join(fields)} }}"
        return self.layer(name, "kConvolution", source, conf=conf, params=[HE, *([ZERO] * bias)])

    def norm(self, name: str, source: str) -> str:
        """Batch normalisation over the whole mini-batch, wherever its rows are."""
        return self.layer(name, "kBM", source, params=[ONE, ZERO])

    def relu(self, name: str, source: str) -> str:
        """Rectified linear units."""
        return self.layer(name, "kReLU", source)

    def pool(self, name: str, source: str, kernel: int, stride: int, pad: int = 0, method: str = "MAX") -> str:
        """Pooling over windows."""
        fields = f"pool: {method} kernel: {kernel} stride: {stride}" + f" pad: {pad}" * (pad != 0)
        return self.layer(name, "kPooling", source, conf=f"pooling_conf {{ {fields} }}")

    def mean(self, name: str, source: str) -> str:
        """The mean of each channel."""
        return self.layer(name, "kGlobalPooling", source)

    def product(
        self, name: str, source: str, outputs: int, axis: int = 1, init: str = NORMAL, bias: bool = True
    ) -> str:
        """An inner product of the axes from ``axis`` on."""
        fields = f"num_output: {outputs}" + f" axis: {axis}" * (axis != 1) + " bias_term: false" * (not bias)
        return self.layer(
            name, "kInnerProduct", source, conf=f"innerproduct_conf {{ {fields} }}", params=[init, *([ZERO] * bias)]
        )

    def dropout(self, name: str, source: str, ratio: float) -> str:
        """Dropout."""
        return self.layer(name, "kDropout", source, conf=f"dropout_conf {{ dropout_ratio: {ratio:g} }}")

    def loss(self, source: str, labels: str = "data") -> str:
        """Cross-entropy with the labels."""
        return self.layer("loss", "kSoftmaxLoss", source, labels)


@dataclass(frozen=True)
class Job:
    """A job of the zoo: graphs/FAMILY/NAME.conf. ``about`` is the comment at its head.

    ``momentum`` 0 means Adam.
    """

    family: str
    name: str
    about: str
    net: Net
    steps: int
    rate: float
    momentum: float = 0.9
    workers: int = 2

    def text(self) -> str:
        """All of the file."""
        head = [f"# {line}".rstrip() for line in [*wrap(self.about, WIDTH), "", *self.commands(), "", MADE]]
        return "\n".join([*head, "", *self.training(), *self.layers(), *self.end()])

    def layers(self) -> list[str]:
        """The net."""
        return ["neuralnet {", "  remainder: SPREAD", *map(indented, self.net.lines), "}"]

    def commands(self) -> list[str]:
        """What to type."""
        path = f"graphs/{self.family}/{self.name}.conf"
        return [f"    netpart check {path}", f"    netpart run {path}"]

    def training(self) -> list[str]:
        """How it is trained."""
        kind = [f"  type: kSGD momentum: {self.momentum:g}"] if self.momentum else ["  type: kAdam"]
        rate = f"  learning_rate {{ type: kFixed base_lr: {self.rate:g} }}"
        freq = max(self.steps // 10, 1)
        lines = [f'name: "{self.name}"', f"train_steps: {self.steps}", f"disp_freq: {freq}"]
        return [*lines, "train_one_batch { alg: kBP }", "updater {", *kind, rate, "}"]

    def end(self) -> list[str]:
        """Where it runs."""
        return ["cluster {", f"  nworkers_per_group: {self.workers}", f'  workspace: "out/{self.name}"', "}", ""]


def indented(line: str) -> str:
    """A line of the net's block."""
    return f"  {line}".rstrip()

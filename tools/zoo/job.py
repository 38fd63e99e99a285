"""The text of a job.conf as it grows, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from textwrap import wrap

WIDTH = 117
"""Columns of a comment."""
PACKED = 112
"""Columns of a line of fields, without its indentation and a bracket."""
HERE = "${instance}"
"""In the name of a layer of a block: the name of the instance, which the name then does not begin with."""
MADE = "Made by tools/make_zoo.py: a change belongs there."
HE = "init { type: kGaussianSqrtFanIn value: 1.4142135 }"
"""Normal with variance 2 / fan-in: keeps the variance through ReLUs (He et al., 2015)."""
ONE, ZERO = "init { type: kConstant value: 1 }", "init { type: kConstant value: 0 }"
NORMAL = "init { type: kGaussian std: 0.02 }"


Value = int | float | str
"""A number of a field, or the placeholder ${name} in its place."""


@dataclass
class Net:
    """The layers of a net as text. ``cuts``: the cut of a layer, by a pattern of names; the first match counts.

    ``blocks`` are those that it may use, ``defined`` those that are its own. ``head`` has the lines before its layers,
    and ``names`` the names of all its layers.
    """

    cuts: Mapping[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    head: list[str] = field(default_factory=list)
    blocks: dict[str, Block] = field(default_factory=dict)
    defined: list[Block] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Write a comment above the next layer."""
        self.lines += ["", f"# {text}"]

    def layer(self, name: str, kind: str, *sources: str, conf: str = "", params: Sequence[str] = ()) -> str:
        """Add a layer; ``params`` are its param blocks, in order. Returns its name."""
        cut = first_match(name, self.cuts)
        self._add(name, kind, sources, [cut, *conf.split("\n"), *(f"param {{ {text} }}" for text in params)])
        self.names.append(name)
        return name

    def _add(self, name: str, kind: str, sources: Sequence[str], fields: Sequence[str]) -> None:
        listed = ", ".join(f'"{source}"' for source in sources)
        read = f"srclayers: {listed}" if len(sources) == 1 else f"srclayers: [{listed}]" if sources else ""
        self.lines += packed("layer", [f'name: "{name}"', f"type: {kind}", read, *fields])

    def include(self, file: str, net: Net) -> None:
        """Use the blocks of ``net``, which is in ``file``."""
        self.head.append(f'include: "{file}"')
        self.blocks |= net.blocks

    def let(self, **values: Value) -> None:
        """Give values names, for this net and its blocks."""
        self.head += [f'let {{ name: "{name}" value: "{value}" }}' for name, value in values.items()]

    def block(self, name: str, *inputs: str, takes: Sequence[str] = ()) -> Block:
        """A block to add layers to; ``takes`` are the names of the values that each use of it gives."""
        made = self.blocks[name] = Block(blocks=self.blocks, title=name, inputs=inputs, takes=takes)
        self.defined.append(made)
        return made

    def use(self, name: str, block: str, *sources: str, times: Value = 0, first: int = 1, **values: Value) -> str:
        """Add one instance of a block, or ``times`` from number ``first`` on. Returns the name of its output."""
        fields = [f'of: "{block}"'] + [f"times: {times}"] * bool(times) + [f"first: {first}"] * (first > 1)
        fields += [f'let {{ name: "{key}" value: "{value}" }}' for key, value in values.items()]
        numbers = range(first, first + times) if isinstance(times, int) and times else [""]
        made = [self.blocks[block].layer_names(f"{name}{number}") for number in numbers]
        self.names += [each for names in made for each in names]
        fields += changes(name, made, self.cuts)
        self._add(name, "kBlock", sources, packed("block_conf", fields))
        return name

    def data(self, batch: int, shape: Sequence[int], classes: int) -> str:
        """Add synthetic data: a pattern per class, plus noise. Few classes get less noise: they are learnt faster."""
        conf = f"store_conf {{ batchsize: {batch} shape: [{', '.join(map(str, shape))}] }}"
        store = f"synthetic_conf {{ classes: {classes}{' noise: 0.5' if classes < 100 else ''} }}"
        return self.layer("data", "kSyntheticInput", conf=f"{conf}\n{store}")

    def convolution(
        self, name: str, source: str, filters: Value, kernel: Value, stride: int = 1, pad: int = 0, more: str = "",
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
        self, name: str, source: str, outputs: Value, axis: int = 1, init: str = NORMAL, bias: bool = True
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


@dataclass
class Block(Net):
    """A block of layers as text; ``takes`` are the names of the values that each use of it gives."""

    title: str = ""
    inputs: Sequence[str] = ()
    takes: Sequence[str] = ()
    outputs: Sequence[str] = ()

    def text(self) -> list[str]:
        """The lines of the block."""
        names = [f'input: "{name}"' for name in self.inputs] + [f'output: "{name}"' for name in self.outputs]
        taken = [f'let {{ name: "{name}" }}' for name in self.takes]
        head = packed("block", [f'name: "{self.title}"', *names, *taken])
        head[-1] = head[-1].removesuffix(" }")
        return ["", *head, *map(indented, self.lines), "}"]

    def layer_names(self, instance: str) -> list[str]:
        """The names in the net of the layers of an instance."""
        return [n.replace(HERE, instance) if HERE in n else f"{instance}-{n}" for n in self.names]


def packed(title: str, fields: Sequence[str]) -> list[str]:
    """A block in few lines: as many fields in each as there is room for, but each change has its own."""
    lines = [f"{title} {{"]
    for text in filter(None, map(str.strip, fields)):
        if len(lines[-1]) + len(text) + 1 > PACKED or text.startswith("change"):
            lines.append(" ")
        lines[-1] += f" {text}"
    return [*lines[:-1], f"{lines[-1]} }}"]


def changes(use: str, made: Sequence[Sequence[str]], cuts: Mapping[str, str]) -> list[str]:
    """The changes that cut the layers of instances, ``made``, as ``cuts`` says, with as few patterns as they take."""
    wanted = {name: first_match(name, cuts) for names in made for name in names}
    alike = [f"{use}*-{column[0].partition('-')[2]}" for column in zip(*made, strict=True)]
    found, done = list[str](), {name for name, cut in wanted.items() if not cut}
    for pattern in [f"{use}*", *cuts, *alike, *wanted]:
        names = {name for name in wanted if fnmatch(name, pattern)}
        if names - done and len(same := {wanted[name] for name in names}) == 1:
            found.append(f'change {{ name: "{pattern}" {same.pop()} }}')
            done |= names
    return found


def first_match(name: str, cuts: Mapping[str, str]) -> str:
    """The cut of the first pattern that ``name`` matches, "" without one."""
    return next((text for pattern, text in cuts.items() if fnmatch(name, pattern)), "")


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
        blocks = [line for block in self.net.defined for line in block.text()]
        gap = [""] * bool(self.net.head or blocks)
        lines = ["remainder: SPREAD", *self.net.head, *blocks, *gap, *self.net.lines]
        return ["neuralnet {", *map(indented, lines), "}"]

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

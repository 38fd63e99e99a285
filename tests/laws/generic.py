"""Random jobs in which every element of every tensor counts: what a mutation spoils cannot stay unseen.

Nor is any layer symmetric: an LRN adds up the channel before and the one behind, whichever is which. Weights shrink
with their fan-in, so that nothing saturates: the gradient of a class that is all but excluded is 0 to the tenth digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job_text
from tests.graph.jobs import HEAD, data, layer

WEIGHTS = "param { init { type: kUniformSqrtFanIn } } param { init { type: kGaussian std: 0.1 } }"
SMOOTH = ("kSigmoid", "kSTanh", "kActivation", "kSplit")
HALVES = "cut { axis: 0 parts: 2 } cut { over: REPLICA parts: 2 }"
CONFS = {
    "kConcate": "concate_conf { concate_dim: 1 }",
    "kActivation": "activation_conf { type: TANH }",
}


def generic_job(random: Random) -> tuple[JobProto, int]:
    """A job, cut at random, and its number of workers. In a third of the jobs two halves of the batch have two copies
    each, layer by layer: replicas then hold whole gradients, of which one is to be summed."""
    copies = random.randrange(3) == 0
    workers = 4 if copies else random.choice([2, 3, 3, 4])
    rows, image = random.choice([6, 7, 8]), random.random() < 0.6
    shape = "shape: 4 shape: 6 shape: 6" if image else "shape: 9"
    texts = list(layers(random, image))
    cuts = [HALVES if copies else cut(random, text, workers) for text in texts]
    head = data(rows, shape, 4, HALVES if copies else random.choice(["partition_dim: -1", "partition_dim: 0"]))
    body = [text.rstrip().removesuffix("}") + f"{how} }}\n" for text, how in zip(texts, cuts, strict=True)]
    return read_job_text(HEAD + head + "".join(body) + "}").proto, workers


def layers(random: Random, image: bool) -> Iterator[str]:
    """A chain of layers, some with a second branch that is added or put beside the first, and a loss."""
    source, n = "data", 0
    for _ in range(random.choice([1, 2]) if image else 0):
        conf = f"convolution_conf {{ num_filters: 4 kernel: 3 pad: 1 }} {WEIGHTS}"
        yield layer(f"conv{n}", "kConvolution", source, more=conf)
        yield typed(f"act{n}", random.choice(SMOOTH), f"conv{n}")
        source, n = f"act{n}", n + 1
    for _ in range(random.choice([1, 2])):
        yield product(f"fc{n}", source, 8)
        yield typed(f"act{n}", random.choice(SMOOTH), f"fc{n}")
        source, n = f"act{n}", n + 1
        if random.random() < 0.4:
            yield product(f"side{n}", source, 8)
            yield typed(f"both{n}", random.choice(["kAdd", "kConcate"]), source, f"side{n}")
            source, n = f"both{n}", n + 1
    yield product("top", source, 4)
    yield layer("loss", "kSoftmaxLoss", "top", "data")


def typed(name: str, kind: str, *sources: str) -> str:
    """A layer of any other type, with the conf that this type must have."""
    return layer(name, kind, *sources, more=CONFS.get(kind, ""))


def product(name: str, source: str, outputs: int) -> str:
    """An inner product with weight and bias."""
    return layer(name, "kInnerProduct", source, more=f"innerproduct_conf {{ num_output: {outputs} }} {WEIGHTS}")


def cut(random: Random, text: str, workers: int) -> str:
    """A cut that the layer of ``text`` can take."""
    ways = ["partition_dim: 0", f"partition_dim: -1 location: {random.randrange(workers)}"]
    if "kSoftmaxLoss" in text:
        return random.choice([*ways, f"cut {{ over: REPLICA parts: {workers} }}"])
    ways += ["partition_dim: 1"] * 3
    if "kInnerProduct" in text or "kConvolution" in text:
        ways += [f"cut {{ over: INPUT parts: {workers} }}"] * 2
    if "kConvolution" in text:
        ways += ["partition_dim: 2"] * 3
    return random.choice(ways)

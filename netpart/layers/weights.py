"""Parameters of layers that multiply by a weight and may add a bias."""

from __future__ import annotations

from collections.abc import Sequence

from netpart.kernels import flops
from netpart.kernels.op import Array
from netpart.layers.checks import fault
from netpart.layers.layer import Layer, MemoryOrder, ParamSpec
from netpart.layers.part import Call, Cost, Needs
from netpart.spec import Region, Shape


def weight_and_bias(
    layer: Layer, shape: Shape, matrix: tuple[int, int], saved: Shape, blocks: Sequence[int] = (1, 2),
    factor: bool = False,
) -> tuple[ParamSpec, ...]:  # fmt: skip
    """Return the weight and, if there is a second param block, the bias of ``matrix[0]`` outputs.

    ``shape``, ``matrix``, ``saved`` and ``factor`` are those of the weight, see ParamSpec. ``blocks`` are the legal
    numbers of param blocks; raises ConfigError for another number.
    """
    protos = list(layer.conf.param)
    if len(protos) not in blocks:
        inits = {"w": "type: kUniformSqrtFanIn", "b": "type: kConstant value: 0"}
        names = [f'param {{ name: "{layer.name}_{kind}" init {{ {init} }} }}' for kind, init in inits.items()]
        names = names[: max(blocks)]
        expected = f"{' or '.join(map(str, blocks))} param blocks (weight, bias)"
        raise fault(layer, expected, str(len(protos)), f"write {' '.join(names)}", "param")
    last = layer.memory_order == MemoryOrder.CHANNELS_LAST
    weight = ParamSpec("weight", shape, protos[0], matrix, saved, channels_last=last, factor=factor)
    return (weight, *(ParamSpec("bias", matrix[:1], proto, None, matrix[:1]) for proto in protos[1:]))


def bias_region(layer: Layer, outputs: tuple[int, int], term: Region | None) -> tuple[Region | None, ...]:
    """The region of the bias that a part needs: only the term that contains the origin adds it (regions.md, D1).

    Empty if the layer has no bias.
    """
    if len(layer.params) < 2:
        return ()
    # The terms are addends of one output, so that exactly one of them may add the bias.
    return ((outputs,) if term is None or all(lo == 0 for lo, _ in term) else None,)


def part_bias(call: Call, arrays: list[Array]) -> Array | None:
    """Return the bias of ``arrays`` (``call.w`` or ``call.dw``); None if this part adds no bias."""
    return arrays[1] if len(arrays) > 1 and call.needs.params[1] is not None else None


def wanted_gradient(gradients: list[Array], k: int) -> Array | None:
    """Return gradient buffer ``k``; None if it is not wanted or has no elements."""
    found = gradients[k] if k < len(gradients) else None
    return None if found is None or found.size == 0 else found


def added_gradient(call: Call) -> bool:
    """True if backward is to add the gradient of the first input instead of overwriting it."""
    return call.adds[:1] == (True,)


def product_cost(needs: Needs, outputs: int, terms: int) -> Cost:
    """The cost of a part with ``outputs`` elements, each the sum of ``terms`` products and, if needed, a bias."""
    biased = len(needs.params) > 1 and needs.params[1] is not None
    product = flops.convolution_flops(outputs, terms, biased)
    data = flops.convolution_flops(outputs, terms, False)
    return Cost(product, (data if needs.inputs[0] is not None else 0,), product, outputs * terms)

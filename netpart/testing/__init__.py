"""Holds a layer type to the laws that netpart's own types are held to: for packages that bring a type of their own.

from netpart.testing import check_layer

def test_channel_scale() -> None:
    check_layer(ChannelScale, 'param { name: "w" }', (3, 4, 5, 5))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netpart.layers.layer import Layer
    from netpart.spec import Shape, Spec
    from netpart.testing.cuts import RandomCut
    from netpart.testing.play import LayerData

LAWS = ("shape", "cost", "gradient", "cut")

__all__ = ["LAWS", "check_layer"]


def check_layer(
    kind: type[Layer],
    conf: str,
    *sources: Shape | Spec,
    laws: Iterable[str] = LAWS,
    examples: int = 100,
    objective: float = 1.0,
) -> None:
    """Holds the layer of type ``kind`` with ``conf``, in text format, on ``sources`` to ``laws`` under random cuts.

    A source is its Spec, or the shape of one that holds numbers, batch first; the type need not be registered.
    ``objective`` is that of a loss over its first metric, per row. Shapes cost time: extents up to 6 or so will do.
    Raises LawBroken, an AssertionError, that says what the type did wrong; ConfigError for a conf that it does not
    declare; ValueError for an unknown law.
    """
    from google.protobuf import text_format

    from netpart.layers.foreign import find_conf_errors
    from netpart.proto.job_pb2 import LayerProto
    from netpart.spec import Spec
    from netpart.testing.cuts import random_cut
    from netpart.testing.laws import cost_law, cut_law, gradient_law, shape_law
    from netpart.testing.play import make_layer_data

    specs = tuple(source if isinstance(source, Spec) else Spec(source) for source in sources)
    user_type = "" if "type:" in conf else f'user_type: "{kind.types[0]}"'
    proto = text_format.Parse(f'name: "it" {user_type} {conf}', LayerProto())
    for error in find_conf_errors(kind, kind.__name__, proto):
        raise error
    layer = kind(proto, specs)
    held: dict[str, Callable[[LayerData, RandomCut, int], None]] = {
        "shape": lambda data, cut, seed: shape_law(layer, data),
        "cost": lambda data, cut, seed: cost_law(layer, data, cut),
        "gradient": lambda data, cut, seed: gradient_law(layer, data, seed, objective),
        "cut": lambda data, cut, seed: cut_law(layer, data, cut),
    }
    for law in laws:
        if law not in held:
            raise ValueError(f"{law}: expected a law out of {', '.join(LAWS)}")
        for seed in range(examples):
            held[law](make_layer_data(layer, seed), random_cut(layer, Random(seed)), seed)

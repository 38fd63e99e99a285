"""Tests of a layer type against the laws that netpart's own types obey, for packages that add a type:

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
    from netpart.testing.play_part import LayerData

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
    """Test a layer of type ``kind`` with ``conf``, in text format, and ``sources`` against ``laws`` under random cuts.

    A source is a Spec, or the shape, batch first, of a source of floats. The type need not be registered.
    ``objective`` is the ratio of a loss's objective to its first metric, both per row. Large shapes take long: extents
    up to about 6 are enough. Raises LawBroken, an AssertionError, with the error of the type; ConfigError for a conf
    that the type does not declare; ValueError for an unknown law.
    """
    from google.protobuf import text_format

    from netpart.layers.conf_errors import find_conf_errors
    from netpart.proto.job_pb2 import LayerProto
    from netpart.spec import Spec
    from netpart.testing.cuts import random_cut
    from netpart.testing.laws import cost_law, cut_law, gradient_law, shape_law
    from netpart.testing.play_part import make_layer_data

    specs = tuple(source if isinstance(source, Spec) else Spec(source) for source in sources)
    user_type = "" if "type:" in conf else f'user_type: "{kind.types[0]}"'
    proto = text_format.Parse(f'name: "it" {user_type} {conf}', LayerProto())
    for error in find_conf_errors(kind, kind.__name__, proto):
        raise error
    layer = kind(proto, specs)
    checks: dict[str, Callable[[LayerData, RandomCut, int], None]] = {
        "shape": lambda data, cut, seed: shape_law(layer, data),
        "cost": lambda data, cut, seed: cost_law(layer, data, cut),
        "gradient": lambda data, cut, seed: gradient_law(layer, data, seed, objective),
        "cut": lambda data, cut, seed: cut_law(layer, data, cut),
    }
    for law in laws:
        if law not in checks:
            raise ValueError(f"{law}: expected a law out of {', '.join(LAWS)}")
        for seed in range(examples):
            checks[law](make_layer_data(layer, seed), random_cut(layer, Random(seed)), seed)

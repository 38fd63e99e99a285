"""A method for each layer type, looked up when it is called; layer_methods.pyi, which is generated, has their types."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from netpart.layers import layer_class, layer_type_names
from netpart.proto.fields import nearest_hint

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z])")


class LayerMethods:
    """The base of what layers are added to by ``add_layer(type, *sources, **fields)``."""

    add_layer: Callable[..., Any]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        types = method_types()
        if name not in types:
            raise AttributeError(f"expected a layer type, got {name!r}; {nearest_hint(name, types)}".removesuffix("; "))
        return partial(self.add_layer, types[name])

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *method_types()})


@cache
def method_types() -> dict[str, str]:
    """The layer types that netpart computes by the names of their methods: ``inner_product`` adds a kInnerProduct.

    Of several types of one class, such as kConvolution and kCConvolution, only the first has a method.
    """
    first = dict.fromkeys(layer_class(name).types[0] for name in layer_type_names())
    return {_WORDS.sub("_", name.removeprefix("k")).lower(): name for name in first}

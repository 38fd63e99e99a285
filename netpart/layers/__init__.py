"""Layer types by the names that a job uses for them; a new type is a file in this folder, or in inputs/."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from netpart.errors import ConfigError, FieldPath
from netpart.layers.layer import Layer
from netpart.proto.job_pb2 import LayerType
from netpart.registry import Registry

PAGE = "docs/layers.md"
INSTEAD = {
    "kCharRNN": "kTextInput",
    "kOneHot": "kEmbedding",
    "kArgSort": "kAccuracy",
}
"""Types of the language that netpart does not compute -> the type to use instead, the same or similar."""
ARRAY_NUMBERS, ARRAY_TOKENS = "array of numbers", "array of tokens"
TOKENS_OF_2, TOKENS_OF_4 = "tokens of 2 bytes", "tokens of 4 bytes"
IMAGES = "images without labels"
UNLABELLED_SCANS = "scans without labels"
INTERNAL = (
    dict.fromkeys(
        (ARRAY_NUMBERS, ARRAY_TOKENS, TOKENS_OF_2, TOKENS_OF_4), "netpart.layers.inputs.source_rows:SourceRows"
    )
    | {IMAGES: "netpart.layers.inputs.source_images:SourceImages"}
    | {UNLABELLED_SCANS: "netpart.layers.inputs.nifti:NiftiInput"}
)
"""Types of layers that netpart itself puts into a job, as user_type -> the class. No page lists them."""
UNSAID = "kUserLayer"
"""The default of LayerProto.type: the type of a layer whose job sets none."""


def layer_class(type_name: str, *, who: str = "", at: FieldPath | None = None) -> type[Layer]:
    """Return the class that implements a LayerType or user_type; raise ConfigError with the nearest names.

    ``who`` is the name of the layer, for the error; ``at`` is the path of its type.
    """
    if type_name == UNSAID:
        hint = "add type: kReLU, say, or user_type for a type of your own"
        raise ConfigError(who or "layer", "a type", "none", hint, at=at)
    if type_name in INTERNAL:
        module, _, name = INTERNAL[type_name].partition(":")
        found: type[Layer] = getattr(import_module(module), name)
        return found
    if type_name in LayerType.DESCRIPTOR.values_by_name and type_name not in layer_type_names():
        instead = _replacement_hint(type_name)
        hint = f"the language has its name, netpart does not compute it; {instead}{PAGE} lists what it does"
        raise ConfigError(who or "layer", "a layer type of netpart", type_name, hint, at=at)
    return _layer_registry().get(type_name, who=who, at=at)


def _replacement_hint(type_name: str) -> str:
    """A hint that names the replacement of a type that netpart does not compute; "" if nothing replaces it."""
    return f"try {INSTEAD[type_name]}; " if type_name in INSTEAD else ""


def layer_type_names() -> tuple[str, ...]:
    """All registered type names, sorted. Packages add types by entry points of the group netpart.layers."""
    return _layer_registry().names()


def layer_modules() -> tuple[str, ...]:
    """The full names of all modules of this package. A new module is found without any registration."""
    return tuple(found.name for found in walk_packages(__path__, f"{__name__}.") if not found.ispkg)


@cache
def _layer_registry() -> Registry[type[Layer]]:
    hint = "if a package has it, install that or put it on PYTHONPATH (docs/writing-a-layer.md); "
    members = {name: f"{kind.__module__}:{kind.__name__}" for kind in _layer_classes() for name in kind.types}
    return Registry("layer type", "netpart.layers", members, hint, PAGE)


def _layer_classes() -> Iterator[type[Layer]]:
    """Every subclass of Layer that a module of this package defines, bases of types included."""
    for name in layer_modules():
        for kind in vars(import_module(name)).values():
            if isinstance(kind, type) and issubclass(kind, Layer) and kind.__module__ == name:
                yield kind

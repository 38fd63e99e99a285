"""netpart cuts a neural net, layer by layer, over workers. It draws the cut, verifies it and trains the net.

    job = netpart.load("job.conf").set("fc1.partition_dim", 0)
    net = netpart.Net("mlp", train_steps=100)   or write one: net.write("job.conf")
    netpart.build(job)                  the uncut net; a notebook draws it
    netpart.partition(job, workers=3)   the net cut over 3 workers; a notebook draws it
    netpart.check(job, workers=3)       what the cut costs, by layer and worker
    netpart.explain(job, "fc1")         why its helpers are there, and other cuts of the layer
    netpart.diff(before, after)         what two cuts differ in
    netpart.draw(job, workers=3)        the net cut over 3 workers as SVG, text or JSON
    netpart.verify(job, workers=3)      compare the cut net with the uncut one
    netpart.profile(job, workers=3)     the measured time and memory of a step
    netpart.simulate(job, workers=8)    the time of a step of workers that this machine plays
    netpart.plan(job, workers=3)        the cuts that planners propose, and the best as a job
    netpart.save_plan(job, "plan.conf") write the cut as a job
    netpart.run(job, workers=3)         train it on 3 worker processes
    netpart.evaluate(job)               test it from its newest checkpoint
    netpart.predict(job, input=rows)    the classes of rows, from its newest checkpoint
    netpart.gradcam(job)                where in a sample it finds the evidence for a class
    netpart.sample(job, prompt=b"if")   text that it generates
    netpart.look(job)                   the rows that it reads, and what an epoch costs

Every error that netpart raises on purpose is a NetpartError. Its subclasses ConfigError, DataError and WorkerFailed
give more detail. Importing netpart imports nothing large: each function is imported when it is first used.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any

from netpart.graph.notebook_display import set_notebook_drawing

if TYPE_CHECKING:
    from netpart.api.build import build
    from netpart.api.check import check
    from netpart.api.diff import diff
    from netpart.api.draw import draw
    from netpart.api.evaluate import evaluate
    from netpart.api.explain import explain
    from netpart.api.gradcam import gradcam
    from netpart.api.load import load
    from netpart.api.look import look
    from netpart.api.partition import partition
    from netpart.api.plan import plan
    from netpart.api.predict import predict
    from netpart.api.profile import profile
    from netpart.api.run import run
    from netpart.api.sample import sample
    from netpart.api.save_plan import save_plan
    from netpart.api.simulate import simulate
    from netpart.api.verify import verify
    from netpart.builder.layer_list import LayerHandle
    from netpart.builder.named_value import NamedValue
    from netpart.builder.nested_layers import NestedLayers
    from netpart.builder.net_builder import NetBuilder as Net
    from netpart.errors import ConfigError, DataError, NetpartError, WorkerFailed
    from netpart.graph.net import Net as UncutNet
    from netpart.graph.partition import Partition

    __version__: str

__all__ = [
    "ConfigError",
    "DataError",
    "LayerHandle",
    "NamedValue",
    "NestedLayers",
    "Net",
    "NetpartError",
    "WorkerFailed",
    "__version__",
    "build",
    "check",
    "diff",
    "draw",
    "evaluate",
    "explain",
    "gradcam",
    "load",
    "look",
    "partition",
    "plan",
    "predict",
    "profile",
    "run",
    "sample",
    "save_plan",
    "simulate",
    "verify",
]

_BUILDER = {
    "LayerHandle": "layer_list:LayerHandle",
    "NamedValue": "named_value:NamedValue",
    "NestedLayers": "nested_layers:NestedLayers",
    "Net": "net_builder:NetBuilder",
}


def _draw(shown: UncutNet | Partition) -> str | None:
    from netpart.choices import AUTO
    from netpart.draw import render
    from netpart.draw.look import DrawingLook
    from netpart.errors import NetpartError
    from netpart.graph.partition import Partition

    with suppress(NetpartError):  # without Graphviz the notebook falls back to the object's repr
        return render(shown.graph if isinstance(shown, Partition) else shown, "svg", look=DrawingLook(fold=AUTO))
    return None


def __getattr__(name: str) -> Any:
    # Names that are looked up on first use: importlib.metadata, errors and all functions would slow down
    # `import netpart`.
    if name == "__version__":
        from netpart.resources import installed_version

        return installed_version()
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name in _BUILDER:
        module, attribute = _BUILDER[name].split(":")
        return getattr(import_module(f"netpart.builder.{module}"), attribute)
    module = "netpart.errors" if name[0].isupper() else f"netpart.api.{name}"
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return __all__


class _FrontDoor(ModuleType):
    """The package, in which ``draw``, ``plan`` and ``verify`` are functions and not the packages of the same names.

    Python sets a package as an attribute of the one that it is in when a module of it is imported, for the first time
    or by another function of this package: the function would be gone.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


# The package graph may not import draw, which is a higher floor (docs/house.md): it gets the function from here.
set_notebook_drawing(_draw)
sys.modules[__name__].__class__ = _FrontDoor

"""kSlice written by hand: refused, as a layer has one output for all its readers and a slice has several."""

from __future__ import annotations

from typing import ClassVar, NoReturn, final

from netpart.kernels.op import Op
from netpart.layers.checks import fault
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Needs
from netpart.spec import Region, Spec


@final
class Slice(Layer):
    """Raises ConfigError: in SINGA, which reader got which slice depended on the order of access."""

    types: ClassVar[tuple[str, ...]] = ("kSlice",)
    confs: ClassVar[tuple[str, ...]] = ("slice_conf",)

    def infer(self) -> tuple[Spec, ...]:
        self._refuse()

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        self._refuse()

    def forward(self, kernels: object, call: Call) -> Op:
        self._refuse()

    def _refuse(self) -> NoReturn:
        hint = "remove it and let its readers name its source: netpart inserts slices where a cut needs them"
        raise fault(self, "no kSlice in a conf", "one", hint, "type")

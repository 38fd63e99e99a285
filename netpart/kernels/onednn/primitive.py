"""Primitives: described, asked which orders they want, and bound to memory so that a run is one call for each."""

from __future__ import annotations

import ctypes
from typing import Any

from netpart.kernels.onednn.library import Handle, HandleOwner, OneDnnRefused, load_onednn
from netpart.kernels.onednn.memory import NOWHERE, MemoryDesc
from netpart.kernels.onednn.names import Algorithm, Arg, Query

SCRATCHPAD_USER = 1


class Attributes(HandleOwner):
    """What a primitive does beside its own work: operations on each element of its output, in order.

    Its scratchpad is the caller's, so that all Ops of a worker share one workspace.
    """

    def __init__(self) -> None:
        lib = load_onednn()
        super().__init__(lib.create("dnnl_primitive_attr_create"), "dnnl_primitive_attr_destroy")
        lib.call("dnnl_primitive_attr_set_scratchpad_mode", self.handle, SCRATCHPAD_USER)
        self.post = HandleOwner(lib.create("dnnl_post_ops_create"), "dnnl_post_ops_destroy")

    def eltwise(self, algorithm: Algorithm, alpha: float = 0.0, beta: float = 0.0) -> Attributes:
        """Then y = algorithm(y)."""
        return self._append("eltwise", algorithm, ctypes.c_float(alpha), ctypes.c_float(beta))

    def sum(self, scale: float = 1.0) -> Attributes:
        """Then y += scale times what was in the output before."""
        return self._append("sum", ctypes.c_float(scale), 0, 0)

    def binary(self, algorithm: Algorithm, other: MemoryDesc) -> Attributes:
        """Then y = algorithm(y, other); other is the argument POST_OP * (1 + place in the list) | SRC_1."""
        return self._append("binary", algorithm, other.handle)

    def _append(self, kind: str, *args: Any) -> Attributes:
        lib = load_onednn()
        lib.call(f"dnnl_post_ops_append_{kind}", self.post.handle, *args)
        lib.call("dnnl_primitive_attr_set_post_ops", self.handle, self.post.handle)
        return self


class PrimitiveDesc(HandleOwner):
    """A primitive described, with the implementation that oneDNN chose for it."""

    def __init__(self, kind: str, *args: Any, attributes: Attributes | None = None) -> None:
        """``kind`` is the middle of dnnl_``kind``_primitive_desc_create, ``args`` what stands there between the engine
        and the attributes: Desc, PrimitiveDesc, None (a null pointer), numbers and arrays of ``dims``.

        Raises Refused if oneDNN cannot do it, or only with its plain loops ("ref"), which are very slow.
        """
        lib, self.kind = load_onednn(), kind
        plain = [_c_argument(a) for a in args]
        first = [lib.engine] if kind != "reorder" else []
        plain = plain if kind != "reorder" else [plain[0], lib.engine, plain[1], lib.engine]
        attributes = attributes or Attributes()
        made = lib.create(f"dnnl_{kind}_primitive_desc_create", *first, *plain, attributes.handle)
        super().__init__(made, "dnnl_primitive_desc_destroy")
        if self.implementation.startswith("ref"):
            raise OneDnnRefused(f"oneDNN: {kind} has only the implementation {self.implementation}")

    @property
    def implementation(self) -> str:
        """What oneDNN calls the implementation, as brgconv:avx512_core."""
        name = ctypes.c_char_p()
        self._ask(Query.IMPLEMENTATION, 0, ctypes.byref(name))
        return (name.value or b"").decode()

    def arg(self, arg: Arg | int) -> MemoryDesc:
        """How the primitive wants argument ``arg`` to lie; of no bytes if it has no such argument."""
        lib = load_onednn()
        query = lib.calls.dnnl_primitive_desc_query_md
        query.restype = Handle
        found = Handle(query(self.handle, Query.ARGUMENT, int(arg)))
        return MemoryDesc(lib.create("dnnl_memory_desc_clone", found))

    def _ask(self, query: Query, index: int, result: Any) -> None:
        load_onednn().call("dnnl_primitive_desc_query", self.handle, query, index, result)


def _c_argument(value: Any) -> Any:
    if value is None:
        return NOWHERE
    return (
        value.handle if isinstance(value, HandleOwner) else ctypes.c_float(value) if isinstance(value, float) else value
    )

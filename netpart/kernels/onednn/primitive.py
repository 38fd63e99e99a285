"""Descriptors of primitives and their attributes: what they compute, and the memory orders that they want."""

from __future__ import annotations

import ctypes
from functools import cached_property
from typing import Any

from netpart.kernels.onednn.library import Handle, HandleOwner, OneDnnRefused, load_onednn
from netpart.kernels.onednn.memory import NOWHERE, MemoryDesc
from netpart.kernels.onednn.names import Algorithm, Arg, Query

SCRATCHPAD_USER = 1


class Attributes(HandleOwner):
    """The post-operations of a primitive: operations on each element of its output, in order.

    They also make the scratchpad the caller's, so that all Ops of a worker share one workspace.
    """

    def __init__(self) -> None:
        lib = load_onednn()
        super().__init__(lib.create("dnnl_primitive_attr_create"), "dnnl_primitive_attr_destroy")
        lib.call("dnnl_primitive_attr_set_scratchpad_mode", self.handle, SCRATCHPAD_USER)
        self.post = HandleOwner(lib.create("dnnl_post_ops_create"), "dnnl_post_ops_destroy")

    def eltwise(self, algorithm: Algorithm, alpha: float = 0.0, beta: float = 0.0) -> Attributes:
        """Append y = algorithm(y)."""
        return self._append("eltwise", algorithm, ctypes.c_float(alpha), ctypes.c_float(beta))

    def sum(self, scale: float = 1.0) -> Attributes:
        """Append y += scale times the previous contents of the output."""
        return self._append("sum", ctypes.c_float(scale), 0, 0)

    def binary(self, algorithm: Algorithm, other: MemoryDesc) -> Attributes:
        """Append y = algorithm(y, other); other is the argument POST_OP * (1 + index in the list) | SRC_1."""
        return self._append("binary", algorithm, other.handle)

    def scales(self, *args: Arg) -> Attributes:
        """Multiply each of ``args`` by a number that a run reads from its argument ``scale_argument``."""
        for arg in args:
            load_onednn().call("dnnl_primitive_attr_set_scales_mask", self.handle, int(arg), 0)
        return self

    def _append(self, kind: str, *args: Any) -> Attributes:
        lib = load_onednn()
        lib.call(f"dnnl_post_ops_append_{kind}", self.post.handle, *args)
        # Set again after each: the attributes hold a copy of the list.
        lib.call("dnnl_primitive_attr_set_post_ops", self.handle, self.post.handle)
        return self


def scale_argument(arg: Arg) -> int:
    """The number of the argument that scales ``arg``."""
    return int(Arg.SCALES) | int(arg)


class PrimitiveDesc(HandleOwner):
    """The description of a primitive, with the implementation that oneDNN chose for it. What oneDNN says of it is asked
    once: a convolution by Winograd binds hundreds of alike runs."""

    def __init__(self, kind: str, *args: Any, attributes: Attributes | None = None) -> None:
        """Call dnnl_``kind``_primitive_desc_create.

        ``args`` are its arguments between the engine and the attributes: MemoryDesc, PrimitiveDesc, None (a null
        pointer), numbers and arrays of ``dims_array``. Raises OneDnnRefused if oneDNN cannot do it, or only with its
        plain loops ("ref"), which are very slow.
        """
        lib, self.kind = load_onednn(), kind
        self._orders: dict[int, MemoryDesc] = {}
        plain = [_c_argument(a) for a in args]
        # A reorder names an engine after each of its two tensors; the others name one, first.
        first = [lib.engine] if kind != "reorder" else []
        plain = plain if kind != "reorder" else [plain[0], lib.engine, plain[1], lib.engine]
        attributes = attributes or Attributes()
        made = lib.create(f"dnnl_{kind}_primitive_desc_create", *first, *plain, attributes.handle)
        super().__init__(made, "dnnl_primitive_desc_destroy")
        if self.implementation.startswith("ref"):
            raise OneDnnRefused(f"oneDNN: {kind} has only the implementation {self.implementation}")

    @cached_property
    def primitive(self) -> HandleOwner:
        """The primitive. It keeps nothing from run to run, so all runs on other memory share it."""
        return HandleOwner(load_onednn().create("dnnl_primitive_create", self.handle), "dnnl_primitive_destroy")

    @cached_property
    def implementation(self) -> str:
        """oneDNN's name of the implementation, for example brgconv:avx512_core."""
        name = ctypes.c_char_p()
        self._ask(Query.IMPLEMENTATION, 0, ctypes.byref(name))
        return (name.value or b"").decode()

    def arg(self, arg: Arg | int) -> MemoryDesc:
        """The memory order that the primitive wants for argument ``arg``; of 0 bytes if it has no such argument."""
        if int(arg) not in self._orders:
            self._orders[int(arg)] = self._find_order(int(arg))
        return self._orders[int(arg)]

    def _find_order(self, arg: int) -> MemoryDesc:
        """The memory order, as oneDNN says it."""
        lib = load_onednn()
        query = lib.calls.dnnl_primitive_desc_query_md
        query.restype = Handle
        found = Handle(query(self.handle, Query.ARGUMENT, arg))
        # The queried descriptor belongs to the primitive; a MemoryDesc destroys the one that it owns.
        return MemoryDesc(lib.create("dnnl_memory_desc_clone", found))

    def _ask(self, query: Query, index: int, result: Any) -> None:
        load_onednn().call("dnnl_primitive_desc_query", self.handle, query, index, result)


def _c_argument(value: Any) -> Any:
    if value is None:
        return NOWHERE
    return (
        value.handle if isinstance(value, HandleOwner) else ctypes.c_float(value) if isinstance(value, float) else value
    )

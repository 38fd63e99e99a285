"""CuPy's own elementwise kernels, by NumPy: netpart launches none on its way, but tests compare with their help."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

SIGNATURE = r"__global__ void {}\((.*?)\)\s*\{{"
ARRAY = re.compile(r"CArray<.*?, (\d+), \d, \d> _raw_\w+")
SEPARATOR = re.compile(r", (?=(?:const )?[\w ]+(?:<[^()]*?>)? _?\w+(?:, |$))")
C_TYPES = {
    "double": "f8", "float": "f4", "bool": "?", "signed char": "i1", "unsigned char": "u1", "short": "i2", "int": "i4",
    "unsigned int": "u4", "long long": "i8", "unsigned long long": "u8", "thrust::complex<float>": "c8",
    "thrust::complex<double>": "c16",
}  # fmt: skip


class Foreign:
    """A kernel ``cupy_NAME__TYPES``; others are refused when they are launched."""

    def __init__(self, source: str, name: str) -> None:
        found = re.search(SIGNATURE.format(name), source, re.DOTALL)
        self.name, self.text = name, found[1] if found else ""
        ufunc, _, types = name.removeprefix("cupy_").partition("__")
        self.ufunc, self.types = ufunc, [np.dtype(each) for each in types.split("_")] if types else []
        if name == "cupy_fill":
            self.ufunc, self.types = "copy", [scalar(self.text)] * 2

    def bound(self, parameters: Any) -> Any:
        """The launch as work, with the parameters as they are now. Raises ValueError if it cannot be done here."""
        parts = SEPARATOR.split(self.text)
        arrays = list[Any]()
        for i, (part, dtype) in enumerate(zip(parts, self.types, strict=False)):
            if found := ARRAY.search(part):
                arrays.append(strided(parameters[i], int(found[1]), dtype))
            else:
                kind = scalar(part)
                arrays.append(np.frombuffer(ctypes.string_at(parameters[i], kind.itemsize), kind)[0].astype(dtype))
        if len(arrays) != len(self.types) or not arrays:
            raise ValueError(f"a kernel of CuPy's own, {self.name}({self.text})")
        return lambda: compute(self.ufunc, arrays)


def scalar(text: str) -> Any:
    """The type of the first parameter of a list."""
    return np.dtype(C_TYPES[text.split(",")[0].removeprefix("const ").rpartition(" ")[0]])


def compute(ufunc: str, arrays: Sequence[Any]) -> None:
    *given, out = arrays
    if ufunc == "arange":
        out[...] = given[0] + given[1] * np.arange(out.size, dtype=out.dtype)
        return
    with np.errstate(all="ignore"):
        out[...] = given[0] if ufunc == "copy" else getattr(np, ufunc)(*given)


def strided(address: int, ndim: int, dtype: Any) -> Any:
    """The array that struct CArray describes: address, size, then extents and strides in bytes."""
    words = (ctypes.c_longlong * (2 + 2 * ndim)).from_address(address)
    shape, strides = tuple(words[2 : 2 + ndim]), tuple(words[2 + ndim :])
    if not words[1]:
        return np.empty(shape, dtype)
    low = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    high = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0) + dtype.itemsize
    raw = (ctypes.c_ubyte * (high - low)).from_address(words[0] + low)
    return np.ndarray(shape, dtype, raw, -low, strides)

"""Arrays on the emulated device: numpy's, behind a wall that CuPy has too."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from cupy import memory, runtime
from cupy.cuda import WORKING, Stream, get_current_stream


class MemoryPointer:
    """Where an array begins; ``mem`` keeps it alive."""

    def __init__(self, mem: Any, offset: int) -> None:
        self.mem, self.ptr = mem, mem.ptr + offset

    def copy_from_host_async(self, mem: Any, size: int, stream: Stream | None = None) -> None:
        stream = stream or get_current_stream()
        runtime.memcpyAsync(self.ptr, address(mem), size, runtime.memcpyHostToDevice, stream.ptr, self)

    def copy_to_host_async(self, mem: Any, size: int, stream: Stream | None = None) -> None:
        stream = stream or get_current_stream()
        runtime.memcpyAsync(address(mem), self.ptr, size, runtime.memcpyDeviceToHost, stream.ptr, self)

    def copy_from_device_async(self, src: MemoryPointer, size: int, stream: Stream | None = None) -> None:
        stream = stream or get_current_stream()
        runtime.memcpyAsync(self.ptr, src.ptr, size, runtime.memcpyDeviceToDevice, stream.ptr, (self, src))

    def memset_async(self, value: int, size: int, stream: Stream | None = None) -> None:
        runtime.memsetAsync(self.ptr, value, size, (stream or get_current_stream()).ptr)


class Owner:
    """What an array lies in, as far as anybody asks."""

    def __init__(self, array: Any, ptr: int) -> None:
        self.array, self.ptr = array, ptr


def address(mem: Any) -> int:
    if isinstance(mem, int):
        return mem
    return int((mem.value or 0) if isinstance(mem, ctypes.c_void_p) else mem.ptr)


class ndarray(NDArrayOperatorsMixin):
    """An array on the device; ``_host`` is where it really is."""

    __array_priority__ = 100

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C"
    ) -> None:
        if memptr is None:
            self._host = allocated(np.empty, shape, dtype)
            return
        dtype, shape = np.dtype(dtype), (shape if isinstance(shape, tuple) else (shape,))
        count = max(1, int(np.prod(shape)) * dtype.itemsize)
        raw = (ctypes.c_ubyte * count).from_address(memptr.ptr)
        raw.owner = memptr
        self._host = np.ndarray(shape, dtype, raw, 0, strides)

    @property
    def data(self) -> MemoryPointer:
        return MemoryPointer(Owner(self, int(self._host.__array_interface__["data"][0])), 0)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        get_current_stream().synchronize()
        return {**self._host.__array_interface__, "stream": 1}

    @property
    def device(self) -> Any:
        from cupy.cuda import Device

        return Device(0)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()` explicitly.")

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return called(getattr(ufunc, method), args, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return called(function, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._host, name)
        if callable(found):
            return lambda *args, **kwargs: called(found, args, kwargs, [self._host])
        return wrapped(found)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value) if name == "_host" else setattr(self._host, name, value)

    def __getitem__(self, index: Any) -> ndarray:
        item, host = self._host.__getitem__, [self._host]
        found: ndarray = wrapped(item(index)) if basic(index) else called(item, (index,), {}, host)
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, ndarray) and (index is Ellipsis or index == slice(None)):
            target, source = self._host, np.broadcast_to(value._host, self._host.shape)
            get_current_stream().enqueue(lambda: copied(target, source))
            return
        target = np.asarray(self._host[index]) if basic(index) else self._host
        called(self._host.__setitem__, (index, value), {}, (), [target])

    def fill(self, value: Any) -> None:
        """Bytes that are filled with rubbish are as good as never written."""
        called(self._host.fill, (value,), {}, (), [self._host])
        if self._host.dtype == np.uint8 and value == runtime.RUBBISH:
            memory.enroll(self._host.__array_interface__["data"][0], self._host.nbytes)

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __float__(self) -> float:
        return float(self.get())

    def __int__(self) -> int:
        return int(self.get())

    def __bool__(self) -> bool:
        return bool(self.get())

    def __repr__(self) -> str:
        return repr(self.get())

    def item(self, *args: Any) -> Any:
        return self.get().item(*args)

    def tolist(self) -> Any:
        return self.get().tolist()

    def get(self, stream: Stream | None = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        """Copies to the host."""
        stream = stream or get_current_stream()
        stream.refuse_while_capturing("cudaMemcpy to the host")
        found = np.empty(self._host.shape, self._host.dtype) if out is None else out
        assert (found.shape, found.dtype) == (self._host.shape, self._host.dtype)
        if not (self._host.flags.c_contiguous and found.flags.c_contiguous):
            with stream:  # CuPy packs it first
                allocated(np.empty, self._host.shape, self._host.dtype)
        stream.enqueue(lambda: copied(found, self._host))
        if blocking or not runtime.pinned(found.__array_interface__["data"][0], found.nbytes):
            stream.synchronize()
        return found

    def set(self, host: Any, stream: Stream | None = None) -> None:
        """Copies from the host, at once for what is not pinned."""
        if not isinstance(host, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if (host.shape, host.dtype) != (self._host.shape, self._host.dtype):
            raise ValueError(f"set: {host.shape} {host.dtype} to {self._host.shape} {self._host.dtype}")
        if not (self._host.flags.c_contiguous or self._host.flags.f_contiguous):
            raise RuntimeError("Cannot set to non-contiguous array")
        stream = stream or get_current_stream()
        stream.refuse_while_capturing("cudaMemcpy from the host")
        stream.enqueue(lambda: copied(self._host, host))
        if not runtime.pinned(host.__array_interface__["data"][0], host.nbytes):
            stream.synchronize()


VIEWS = {"broadcast_to", "expand_dims", "moveaxis", "ravel", "reshape", "squeeze", "swapaxes", "transpose", "view"}
"""Functions and methods that compute nothing where they are asked for what needs no copy."""


def basic(index: Any) -> bool:
    """True if ``index`` makes a view."""
    return not any(isinstance(i, ndarray | np.ndarray | list) for i in many(index))


def copied(target: Any, source: Any) -> None:
    """Copies between arrays of the device and the host."""
    if memory.has(source.__array_interface__["data"][0]):
        memory.reads(source)
    if memory.has(target.__array_interface__["data"][0]):
        memory.writes(target)
    np.copyto(target, source, casting="unsafe")


def many(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def allocated(make: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Memory of the device, at addresses of 512 as its allocator has them; what is not empty is written."""
    get_current_stream().refuse_while_capturing("cudaMalloc")
    plain = make(*args, **kwargs)
    with WORKING:
        block = runtime.Block(plain.nbytes)
        raw = np.frombuffer(block, np.uint8)
        start = block.address - raw.__array_interface__["data"][0]
        found = raw[start : start + plain.nbytes].view(plain.dtype).reshape(plain.shape)
        if make is not np.empty:
            memory.writes(found)
            np.copyto(found, plain)
    return found


def wrapped(value: Any) -> Any:
    """What numpy found, as CuPy has it: an array on the device, even of no axes."""
    if isinstance(value, ndarray) or not isinstance(value, np.ndarray | np.generic):
        return tuple(map(wrapped, value)) if type(value) in (tuple, list) and any_array(value) else value
    found, array = ndarray.__new__(ndarray), np.asarray(value)
    there = not array.size or memory.has(array.__array_interface__["data"][0])
    found._host = array if there else allocated(np.array, array)
    return found


def any_array(values: Any) -> bool:
    return any(isinstance(v, np.ndarray) for v in values)


def unwrapped(value: Any) -> Any:
    """What numpy can compute with; arrays of the host are refused."""
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, tuple | list):
        return type(value)(map(unwrapped, value))
    return value


def called(
    function: Callable[..., Any], args: Any, kwargs: Any, reads: Sequence[Any] = (), writes: Sequence[Any] = ()
) -> Any:
    """What numpy's function finds, behind all that was enqueued before: it reads its arguments, and ``reads``."""
    stream = get_current_stream()
    outs = [value for value in many(kwargs.get("out")) if isinstance(value, ndarray)]
    given = {name: unwrapped(value) for name, value in kwargs.items()}
    if getattr(function, "__name__", "") in VIEWS:
        return wrapped(function(*unwrapped(tuple(args)), **given))
    stream.refuse_while_capturing("a kernel of CuPy's own, which may allocate")
    with WORKING:
        stream.drain()
        stream.begin()
        for array in (*reads, *arrays(args), *arrays([v for name, v in kwargs.items() if name != "out"])):
            if not any(array is each for each in writes):
                memory.reads(array)
        found = function(*unwrapped(tuple(args)), **given)
        for array in (*writes, *arrays(outs)):
            memory.writes(array)
    return outs[0] if outs else wrapped(found)


def arrays(values: Any) -> Iterator[Any]:
    """Those of the device among arguments."""
    for value in values:
        if isinstance(value, ndarray):
            yield value._host
        elif isinstance(value, tuple | list):
            yield from arrays(value)


def function(name: str) -> Any:
    """numpy's function of this name, for arrays of the device."""
    found = getattr(np, name)
    if not callable(found) or isinstance(found, type):
        return found
    if name in ("dtype", "result_type", "can_cast"):
        return found
    if name == "copyto":
        return lambda dst, src, **kwargs: called(found, (dst, src), kwargs, (), [dst._host])
    return lambda *args, **kwargs: called(found, args, kwargs)


def empty(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    return ndarray(shape, dtype)


def zeros(shape: Any, dtype: Any = float) -> ndarray:
    return wrapped(allocated(np.zeros, shape, dtype))  # type: ignore[no-any-return]


def asarray(a: Any, dtype: Any = None, order: str | None = None, *, blocking: bool = False) -> ndarray:
    """``a`` on the device: itself, if it is there."""
    if isinstance(a, ndarray) and dtype in (None, a.dtype):
        return a
    get_current_stream().drain()
    return wrapped(allocated(np.array, a._host if isinstance(a, ndarray) else a, dtype))  # type: ignore[no-any-return]


def array(a: Any, dtype: Any = None, copy: bool = True) -> ndarray:
    return asarray(asnumpy(a), dtype)


def asnumpy(a: Any, stream: Stream | None = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> Any:
    """``a`` on the host."""
    return a.get(stream, order, out, blocking) if isinstance(a, ndarray) else np.asarray(a)


def get_array_module(*args: Any) -> Any:
    from sys import modules

    return modules[__package__ if any(isinstance(a, ndarray) for a in args) else "numpy"]

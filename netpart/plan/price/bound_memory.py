"""Bound memory: what a worker's process keeps for its bound instructions, besides their arrays.

oneDNN keeps code and tables for each primitive that it made, once for all that are alike, and a handle for each that is
bound to memory. Python keeps the objects of each instruction. The bytes are not derived: with these numbers the sums
came nearest to what the processes of thirteen nets took, with CPython 3.11, with AVX-512 and without
(`benchmarks/resident_memory.py`).
`tests/plan/price/test_bound_memory.py` holds them against what is allocated.
"""

from __future__ import annotations

from collections import Counter

from netpart.kernels.choose import has_avx512
from netpart.plan.price.kernel_workspace import Key, call_memory
from netpart.program.program import WorkerProgram

INSTRUCTION = 22 << 10
"""Bytes of Python for an instruction: it, the views of its arrays, the action that runs it, its part of the graph."""
HANDLE = 6 << 10
"""Bytes of a primitive that is bound: its handle, and for each of about three arguments a memory and its descriptor."""
CODE = 10 << 10
"""Bytes of the code and tables of a primitive."""
PRODUCT_CODE = 112 << 10
"""The same of a product with AVX-512, which has code for each shape of its blocks."""
CONVOLUTION_CODE = 80 << 10
"""The same of a convolution without AVX-512, which has a product with code of its own for each shape of its borders."""


def bound_bytes(program: WorkerProgram, calls: Counter[Key]) -> int:
    """Bytes that a worker keeps for its instructions, and for ``calls``, of ``count_calls``; 0 on a GPU."""
    if program.kernels.runs_on != "cpu":
        return 0
    instructions = sum(1 for phase in program.phases.values() for _ in phase.in_turn)
    handles = sum(times * len(call_memory(key).primitives) for key, times in calls.items())
    code = sum(_code_bytes(kind) for key in calls for kind in call_memory(key).primitives)
    return INSTRUCTION * instructions + HANDLE * handles + code


def _code_bytes(kind: str) -> int:
    """Bytes of the code and tables of a primitive of this kind."""
    large, size = ("matmul", PRODUCT_CODE) if has_avx512() else ("convolution", CONVOLUTION_CODE)
    return size if kind.startswith(large) else CODE

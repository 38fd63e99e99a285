"""This host's processor, in words."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
"""Linux's list of processors."""
INSTRUCTIONS = {
    "amx_bf16": "AMX-BF16",
    "avx512_bf16": "AVX512-BF16",
    "avx512f": "AVX-512",
    "avx2": "AVX2",
    "avx": "AVX",
}
"""Linux's flags of instructions for floats, the widest first."""


@cache
def this_processor() -> str:
    """This host's processor; no more than its architecture where the system does not list it."""
    try:
        return describe_processor(CPUINFO.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return platform.machine()


def describe_processor(cpuinfo: str) -> str:
    """The first processor of Linux's list: its name and, as several have one name, its family, model and widest
    instructions for floats. A virtual machine may offer fewer instructions than others of its processor do."""
    pairs = (line.partition(":") for line in cpuinfo.split("\n\n")[0].splitlines())
    found = {name.strip(): value.strip() for name, _, value in pairs}
    if "model name" not in found:
        return " ".join([platform.machine(), *(found[key] for key in ("CPU implementer", "CPU part") if key in found)])
    flags = found.get("flags", "").split()
    widest = next((name for flag, name in INSTRUCTIONS.items() if flag in flags), "SSE")
    return f"{found['model name']} (family {found.get('cpu family')}, model {found.get('model')}, {widest})"

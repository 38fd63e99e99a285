"""Memory that was freed below memory in use is given back to the system."""

from __future__ import annotations

import subprocess
import sys

from tests.house.tree import ROOT

PROGRAM = """
from netpart.worker.memory_limit import resident_memory, return_free_memory

freed = [bytearray(64 << 10) for _ in range(1024)]
kept = bytearray(64 << 10)
del freed
before = resident_memory()
return_free_memory()
print(before - resident_memory())
"""


def test_it_is_returned() -> None:
    found = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, cwd=ROOT, text=True)
    assert int(found.stdout) > 48 << 20

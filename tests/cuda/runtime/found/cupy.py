"""Found instead of CuPy where this folder is on the path: gives CuPy a CUDA runtime, and gives way to it."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
os.environ.setdefault("CUPY_CACHE_DIR", str(Path(tempfile.gettempdir(), "netpart-runtime", "cache")))
sys.path.insert(0, str(HERE.parents[3]))

from tests.cuda.runtime.install import install, watch_compiler, watch_pool  # noqa: E402

del sys.modules["cupy"]
sys.path.remove(str(HERE))
install()
import_module("cupy")
sys.path.insert(0, str(HERE))
watch_compiler()
watch_pool()

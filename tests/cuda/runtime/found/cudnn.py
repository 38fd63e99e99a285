"""Found instead of cuDNN's frontend by tests that put this folder on the path: the emulated one, on our streams."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import cupy  # noqa: F401 - brings the runtime

from tests.cuda.runtime import streams

_spec = spec_from_file_location("cudnn", Path(__file__).parents[2] / "emulator/cudnn.py")
assert _spec
assert _spec.loader
_found = module_from_spec(_spec)
_spec.loader.exec_module(_found)
vars(_found)["cuda"] = SimpleNamespace(runtime=SimpleNamespace(STREAMS=streams.OBJECTS))
sys.modules["cudnn"] = _found

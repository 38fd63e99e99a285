"""Generates netpart/proto/*_pb2.py and *_pb2.pyi from proto/*.proto.

``python -m tools.gen_proto`` writes them; ``--check`` writes nothing and exits 1 if what is committed is not
what the compiler makes of proto/ today. Needs grpcio-tools 1.71.2: a newer compiler's code would ask for a newer
protobuf at run time than netpart does (5.29).
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.command import run

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "netpart/proto"
COMPILER = "1.71.2"
STUB_HEADER = b"# mypy: ignore-errors\n"
"""The compiler's stubs name private classes and bare generics, which ``mypy --strict`` would report."""


def fresh_files() -> dict[str, bytes]:
    """What the compiler makes of proto/*.proto: name -> content."""
    sources = [f"{PACKAGE}/{path.name}" for path in sorted((ROOT / "proto").glob("*.proto"))]
    with TemporaryDirectory() as target:
        flags = [f"-I{PACKAGE}=proto", f"--python_out={target}", f"--pyi_out={target}"]
        subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *flags, *sources], cwd=ROOT, check=True)
        made = committed(Path(target))
    return {name: STUB_HEADER + code if name.endswith(".pyi") else code for name, code in made.items()}


def committed(root: Path) -> dict[str, bytes]:
    """The generated files below ``root``: name -> content."""
    return {path.name: path.read_bytes() for path in sorted((root / PACKAGE).glob("*_pb2.py*"))}


def stale() -> list[str]:
    """Names of generated files of this checkout that are missing, left over or different from a fresh run."""
    fresh, present = fresh_files(), committed(ROOT)
    return sorted(name for name in fresh.keys() | present.keys() if fresh.get(name) != present.get(name))


def write() -> None:
    """Replaces the generated files of this checkout."""
    fresh = fresh_files()
    for name in committed(ROOT).keys() - fresh.keys():
        (ROOT / PACKAGE / name).unlink()
    for name, content in fresh.items():
        (ROOT / PACKAGE / name).write_bytes(content)


def compiler_trouble(checks: bool) -> str:
    """Why the compiler cannot be used, whether it checks or writes; or an empty string."""
    try:
        found = importlib.metadata.version("grpcio-tools")
    except importlib.metadata.PackageNotFoundError:
        found = "none"
    wanted = f"expected grpcio-tools {COMPILER}, got {found}; pip install grpcio-tools=={COMPILER}"
    return "" if found == COMPILER else wanted


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status: 0 done or up to date, 1 stale, 2 no usable compiler."""
    description = "Generates netpart/proto/*_pb2.py and .pyi from proto/*.proto."
    return run("gen_proto", description, stale, write, arguments, compiler_trouble)


if __name__ == "__main__":
    sys.exit(main())

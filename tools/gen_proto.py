"""Generates netpart/proto/*_pb2.py and *_pb2.pyi from proto/*.proto.

``python tools/gen_proto.py`` writes them; ``--check`` writes nothing and exits 1 if what is committed is not
what the compiler makes of proto/ today. Needs grpcio-tools 1.71.2: a newer compiler's code would ask for a newer
protobuf at run time than netpart does (5.29).
"""

from __future__ import annotations

import argparse
import importlib.metadata
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

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


def compiler_trouble() -> str:
    """Why the compiler cannot be used, or an empty string."""
    try:
        found = importlib.metadata.version("grpcio-tools")
    except importlib.metadata.PackageNotFoundError:
        found = "none"
    return "" if found == COMPILER else f"expected grpcio-tools {COMPILER}, got {found}"


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status: 0 done or up to date, 1 stale, 2 no usable compiler."""
    parser = argparse.ArgumentParser(description="Generates netpart/proto/*_pb2.py and .pyi from proto/*.proto.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the files are stale")
    options = parser.parse_args(arguments)
    if trouble := compiler_trouble():
        print(f"gen_proto: {trouble}; pip install grpcio-tools=={COMPILER}", file=sys.stderr)
        return 2
    if not options.check:
        write()
        return 0
    if names := stale():
        print(f"gen_proto: stale: {', '.join(names)}; run python tools/gen_proto.py", file=sys.stderr)
    return int(bool(names))


if __name__ == "__main__":
    sys.exit(main())

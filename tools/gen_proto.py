"""Generates netpart/proto/*_pb2.py and *_pb2.pyi, and tools/proto_comments.json, from proto/*.proto.

``python -m tools.gen_proto`` writes them; ``--check`` writes nothing and exits 1 if the committed files differ from
those that the compiler generates today. The compiler is the extra ``proto`` of setup.cfg, in an environment of its own:
it needs an older protobuf than the generated code, which works with 5.29 to 7.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.command import run
from tools.proto_comments import COMMENTS, comments
from tools.throwaway import environment, extra

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "netpart/proto"
STUB_HEADER = b"# mypy: ignore-errors\n"
"""The compiler's stubs name private classes and bare generics, which ``mypy --strict`` would report."""


def fresh_files() -> dict[str, bytes]:
    """The files generated from proto/*.proto: path -> content. Raises RuntimeError if there is no compiler."""
    sources = [f"{PACKAGE}/{path.name}" for path in sorted((ROOT / "proto").glob("*.proto"))]
    with environment(*extra("proto")) as python, TemporaryDirectory() as target:
        described = Path(target) / "all.pb"
        flags = [f"-I{PACKAGE}=proto", f"--python_out={target}", f"--pyi_out={target}"]
        flags += ["--include_source_info", f"--descriptor_set_out={described}"]
        subprocess.run([python, "-m", "grpc_tools.protoc", *flags, *sources], cwd=ROOT, check=True)
        code = committed(Path(target))
        noted = as_json(comments(described.read_bytes()))
    stubs = {name: STUB_HEADER + text for name, text in code.items() if name.endswith(".pyi")}
    return code | stubs | {COMMENTS: noted}


def as_json(found: dict[str, str]) -> bytes:
    """Comments as JSON: a line each, by their names."""
    return (json.dumps(found, indent=0, ensure_ascii=False, sort_keys=True) + "\n").encode()


def committed(root: Path) -> dict[str, bytes]:
    """The generated files below ``root``: path from there -> content."""
    paths = [*(root / PACKAGE).glob("*_pb2.py*"), *root.glob(COMMENTS)]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(paths)}


def stale() -> list[str]:
    """Generated files of this checkout that are missing, left over or different from fresh ones."""
    fresh, present = fresh_files(), committed(ROOT)
    return sorted(path for path in fresh.keys() | present.keys() if fresh.get(path) != present.get(path))


def write() -> None:
    """Replace the generated files of this checkout."""
    fresh = fresh_files()
    for path in committed(ROOT).keys() - fresh.keys():
        (ROOT / path).unlink()
    for path, content in fresh.items():
        (ROOT / path).write_bytes(content)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status: 0 done or up to date, 1 stale, 2 the compiler cannot be had."""
    description = "Generates netpart/proto/*_pb2.py and .pyi, and tools/proto_comments.json, from proto/*.proto."
    try:
        return run("gen_proto", description, stale, write, arguments)
    except RuntimeError as error:
        print(f"gen_proto: expected to install {extra('proto')[0]}, got: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

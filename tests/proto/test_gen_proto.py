"""The generated modules are those that the compiler makes of proto/ today."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import gen_proto

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _compiler() -> None:
    if trouble := gen_proto.compiler_trouble(True):
        pytest.skip(f"cannot generate: {trouble}")


def test_committed_files_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert gen_proto.main(["--check"]) == 0, capsys.readouterr().err


def test_check_names_what_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "netpart" / "proto"
    package.mkdir(parents=True)
    for name, content in gen_proto.committed(ROOT).items():
        (package / name).write_bytes(content)
    (package / "cut_pb2.py").write_text("edited = True\n")
    (package / "record_pb2.pyi").unlink()
    (package / "gone_pb2.py").touch()
    (tmp_path / "proto").symlink_to(ROOT / "proto")
    monkeypatch.setattr(gen_proto, "ROOT", tmp_path)
    assert gen_proto.main(["--check"]) == 1
    assert "stale: cut_pb2.py, gone_pb2.py, record_pb2.pyi; run" in capsys.readouterr().err
    assert gen_proto.main([]) == 0
    assert gen_proto.main(["--check"]) == 0
    assert not (package / "gone_pb2.py").exists()


def test_wrong_compiler_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(gen_proto, "COMPILER", "0.0.1")
    assert gen_proto.main(["--check"]) == 2
    assert "expected grpcio-tools 0.0.1, got" in capsys.readouterr().err

"""What is generated from proto/ is what the compiler makes of it today."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import gen_proto, proto_comments
from tools.proto_comments import COMMENTS

ROOT = Path(__file__).parents[2]
CODE = "netpart/proto"


@pytest.mark.peers
def test_committed_files_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert gen_proto.main(["--check"]) == 0, capsys.readouterr().err


def test_check_names_what_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fresh = gen_proto.committed(ROOT)
    for path, content in fresh.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    (tmp_path / CODE / "cut_pb2.py").write_text("edited = True\n")
    (tmp_path / CODE / "record_pb2.pyi").unlink()
    (tmp_path / CODE / "gone_pb2.py").touch()
    (tmp_path / COMMENTS).write_text("{}")
    monkeypatch.setattr(gen_proto, "ROOT", tmp_path)
    monkeypatch.setattr(gen_proto, "fresh_files", lambda: fresh)
    assert gen_proto.main(["--check"]) == 1
    named = f"{CODE}/cut_pb2.py, {CODE}/gone_pb2.py, {CODE}/record_pb2.pyi, {COMMENTS}"
    assert f"stale: {named}; run" in capsys.readouterr().err
    assert gen_proto.main([]) == 0
    assert gen_proto.main(["--check"]) == 0
    assert gen_proto.committed(tmp_path) == fresh


def test_without_a_compiler_it_says_what_it_expected(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    assert gen_proto.main(["--check"]) == 2
    said = capsys.readouterr().err
    assert "gen_proto: expected to install grpcio-tools==1.71.2, got: pip " in said
    assert "No matching distribution found for grpcio-tools==1.71.2" in said


def test_the_committed_code_has_its_comments_beside_it() -> None:
    said = proto_comments.known()
    assert said["netpart.LayerType.kReLU"]
    assert list(said) == sorted(said)
    assert (ROOT / COMMENTS).read_bytes() == gen_proto.as_json(said)

"""netpart fmt: files are replaced at once and keep their mode; what is no job is refused with its places."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

import pytest

from netpart.cli.main import main
from netpart.resources import zoo_folder

LOOSE = "name :  'it'\n\n\n# of the net\nneuralnet{ layer {name:\"a\" type:kReLU\n} }"
LAID = 'name: "it"\n\n# of the net\nneuralnet { layer { name: "a" type: kReLU\n} }\n'


@pytest.fixture
def loose(tmp_path: Path) -> Path:
    path = tmp_path / "jobs" / "job.pbtxt"
    path.parent.mkdir()
    path.write_text(LOOSE)
    return path


def test_the_zoo_is_formatted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", "--check", str(zoo_folder())]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_file_is_formatted_and_keeps_its_mode(loose: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loose.chmod(0o640)
    link = loose.parent.with_name("link")
    link.symlink_to(loose)
    assert main(["fmt", str(link)]) == 0
    assert (link.is_symlink(), loose.read_text(), stat.S_IMODE(loose.stat().st_mode)) == (True, LAID, 0o640)
    assert capsys.readouterr() == ("", f"formatted {link}\n")
    assert os.listdir(loose.parent) == ["job.pbtxt"]


def test_what_is_formatted_is_not_written(loose: Path) -> None:
    loose.write_text(LAID)
    before = loose.stat()
    assert main(["fmt", str(loose)]) == 0
    assert (loose.stat().st_mtime_ns, loose.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_check_names_the_first_line_and_changes_nothing(loose: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", "--check", str(loose.parent)]) == 1
    assert capsys.readouterr().out == f"{loose}:1: expected 'name: \"it\"', got \"name :  'it'\"\n"
    assert loose.read_text() == LOOSE
    loose.write_text(LAID.rstrip())
    assert main(["fmt", "--check", str(loose.parent)]) == 1
    assert capsys.readouterr().out == f"{loose}:6: expected '', got the end of the file\n"


def test_standard_input_is_printed(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LOOSE.encode())))
    assert main(["fmt", "-"]) == 0
    assert capsysbinary.readouterr() == (LAID.encode(), b"")


def test_all_mistakes_are_named_and_the_others_formatted(loose: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = loose.with_name("wrong.any")
    wrong.write_text('nam: "x"\ntrain_steps: many\n')
    assert main(["fmt", str(wrong), str(loose)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert f"error: {wrong}:1:1: job: expected a field of JobProto, got 'nam'; did you mean name?" in lines
    assert any(line.startswith(f"error: {wrong}:2:14: ") for line in lines)
    assert (wrong.read_text()[:3], loose.read_text()) == ("nam", LAID)


@pytest.mark.parametrize("content", [b"name: '\xff'", b"{}", b"\x00"])
def test_what_is_no_job_is_refused(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "strange"
    path.write_bytes(content)
    assert main(["fmt", "--check", str(path)]) == 2
    assert f"{path}:1:" in capsys.readouterr().err

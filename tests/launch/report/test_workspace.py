"""A job leads nowhere but into the current folder, unless a person says so; a workspace stays where it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from netpart.errors import ConfigError, DataError
from netpart.launch.report.workspace import choose_workspace, refuse_removal
from netpart.proto.reader import read_job, read_job_text


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def job(workspace: str, name: str = "n") -> str:
    return f'name: "{name}" cluster {{ workspace: "{workspace}" }}' if workspace else f'name: "{name}"'


@pytest.mark.parametrize("workspace", ["out/x", ".", "x", "..x", "./out"])
def test_a_folder_within_the_current_one_is_the_jobs_to_choose(here: Path, workspace: str) -> None:
    assert choose_workspace(read_job_text(job(workspace)), None) == Path(workspace)
    assert choose_workspace(read_job_text(job(f"{here}/{workspace}")), None) == here / workspace
    (here.parent / "elsewhere").mkdir()
    (here / "link").symlink_to(here.parent / "elsewhere")
    assert choose_workspace(read_job_text(job("link/x")), None) == Path("link/x")


def test_all_lies_within_the_root_so_that_a_job_names_nothing_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    with pytest.raises(ConfigError, match=r"expected a folder within the current one, got /etc"):
        choose_workspace(read_job_text(job("/etc")), None)
    assert choose_workspace(read_job_text(job("out/x")), None) == Path("out/x")


@pytest.mark.parametrize("workspace", ["/tmp", "/", "..", "../x", "out/../../x", "out/../x", "HERE-beside", "~/../x"])
def test_any_other_folder_a_person_must_name(here: Path, workspace: str, tmp_path: Path) -> None:
    workspace = workspace.replace("HERE", str(here))
    (tmp_path / "job.conf").write_text(job(workspace))
    with pytest.raises(ConfigError) as caught:
        choose_workspace(read_job(tmp_path / "job.conf"), None)
    assert caught.value.describe() == (
        f"cluster.workspace: expected a folder within the current one, got {workspace}; name it with --workspace if the"
        " run may write there"
    )
    assert caught.value.at == ("cluster", "workspace")
    assert choose_workspace(read_job(tmp_path / "job.conf"), Path(workspace)) == Path(workspace)
    typed = read_job(tmp_path / "job.conf", [f"cluster.workspace={workspace}"])
    assert choose_workspace(typed, None) == Path(workspace)


def test_a_name_may_lead_nowhere_else_either(here: Path) -> None:
    assert choose_workspace(read_job_text(job("", "a/b")), None) == Path("out/a/b")
    for name in ("../../x", "/tmp"):
        with pytest.raises(ConfigError, match=r"^name: expected a folder within the current one"):
            choose_workspace(read_job_text(job("", name)), None)


def test_a_workspace_that_was_removed_moved_or_made_anew_is_told(tmp_path: Path) -> None:
    path = tmp_path / "ws" / "metrics.jsonl"
    path.parent.mkdir()
    with path.open("w") as file:
        refuse_removal(file, path)
        path.parent.rename(tmp_path / "moved")
        with pytest.raises(DataError, match=r"^workspace .*/ws: expected metrics\.jsonl .* got nothing there; .*lost"):
            refuse_removal(file, path)
        shutil.copytree(tmp_path / "moved", tmp_path / "ws")
        with pytest.raises(DataError, match="got another file"):
            refuse_removal(file, path)


def test_a_workspace_that_is_cleared_says_nothing_of_the_name(here: Path) -> None:
    with pytest.raises(ConfigError, match=r"^name: expected a folder within the current one"):
        choose_workspace(read_job_text(job("out", "../../x"), overrides=["cluster.workspace="]), None)
    assert choose_workspace(read_job_text(job("", "x"), overrides=["name=../../y"]), None) == Path("out/../../y")

"""Jobs by the endings of their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.cli.main import main
from netpart.errors import ConfigError
from netpart.proto.job_files import JOB_ENDINGS, jobs_below, without_job_ending
from netpart.proto.reader import read_job


def test_jobs_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    wanted = sorted(tmp_path / "in" / f"job{ending}" for ending in JOB_ENDINGS)
    for path in (*wanted, tmp_path / "in" / "job.txt"):
        path.touch()
    assert jobs_below(tmp_path) == wanted
    assert [without_job_ending(path.name) for path in wanted] == ["job"] * 3


@pytest.mark.parametrize("ending", JOB_ENDINGS)
def test_hints_know_the_endings(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / f"lenet{ending}").touch()
    with pytest.raises(ConfigError, match=f"did you mean lenet{ending}"):
        read_job(tmp_path / f"lenett{ending}")
    with pytest.raises(SystemExit):
        main([f"lenet{ending}"])
    assert "a verb comes first: netpart check lenet" in capsys.readouterr().err

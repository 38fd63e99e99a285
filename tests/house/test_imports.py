"""Starting is cheap: nothing large is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys

from netpart.cli.main import VERBS
from tests.house.tree import ROOT

HEAVY = {"cupy", "google.protobuf", "networkx", "numpy", "rich", "safetensors", "sklearn", "zmq"}

HELP = """
import runpy, sys
sys.argv = ["netpart", "--help"]
try:
    runpy.run_module("netpart", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
"""


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def loaded_by(code: str) -> set[str]:
    return set(python(f"{code}\nimport sys; print(*sys.modules)").splitlines()[-1].split())


def processor_seconds_of(code: str) -> float:
    """The processor time of a Python that runs ``code``; on a busy machine its wall time would be longer."""
    ended = "import atexit, time; atexit.register(lambda: print(time.process_time()))"
    return float(python(f"{ended}\n{code}").splitlines()[-1])


def test_importing_netpart_imports_nothing_large() -> None:
    assert not loaded_by("import netpart") & HEAVY


def test_help_imports_nothing_large() -> None:
    assert not loaded_by(HELP) & HEAVY


def test_options_are_read_before_numpy_which_some_of_them_are_about() -> None:
    command = "['check', 'graphs/schemes/five-layers.conf', '--scheme', 'pipeline', '--stages', '2']"
    assert "numpy" not in loaded_by(f"""
from netpart.cli.common import load_job
from netpart.cli.main import parse_command_line
load_job(parse_command_line({command}))
""")


def test_workers_choose_their_threads_before_numpy_is_there_to_start_them() -> None:
    assert "numpy" not in loaded_by("import netpart.launch.teams.worker_entry, netpart.launch.teams.mpi_entry")
    code = "from netpart.cli.threads import limit_launched_threads; limit_launched_threads(None)"
    assert "numpy" not in loaded_by(code)


def test_a_worker_starts_without_what_only_links_between_hosts_take() -> None:
    assert "asyncio" not in loaded_by("import netpart.launch.member.member")


def test_help_answers_at_once() -> None:
    """0.15 s is what we aim for; the bound here leaves room for a slow processor, and for one with other work."""
    assert min(processor_seconds_of(HELP) for _ in range(5)) < 0.5


def test_help_names_the_verbs() -> None:
    text = python(HELP)
    assert not {verb for verb in VERBS if verb not in text.split()}

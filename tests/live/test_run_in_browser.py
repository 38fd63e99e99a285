"""The page of real runs in a browser: it moves, survives a reload, shows a killed worker, and ends with the summary."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import Browser, Page, open_browser
from tests.end2end.running import mlp

WORKERS = 3
LOSS = "netpartRun.state.curves['train/loss/loss']"
CHART = "netpartRun.state.charts && netpartRun.state.charts[0]"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


class WatchedRun:
    """``netpart run --page`` of a small job on three workers, in a process of its own."""

    def __init__(self, folder: Path, *options: str, **fields: int) -> None:
        job = mlp(folder, "mlp", **{"checkpoint_freq": 0, "test_freq": 0, **fields})
        self.workspace = folder / "run"
        command = [sys.executable, "-m", "netpart", "run", str(job), "--workers", str(WORKERS), "--page", *options]
        self.process = subprocess.Popen(
            [*command, "--workspace", str(self.workspace)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        self.lines: list[str] = []
        for line in self.process.stdout:
            self.lines.append(line)
            if found := re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line):
                self.url = found[0]
                return
        raise AssertionError("".join(self.lines))

    def __enter__(self) -> WatchedRun:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.communicate()

    def worker_pid(self, rank: int) -> int:
        """The process of a worker, which says so in its log."""
        assert self.process.stdout is not None
        logs = "".join(
            path.read_text() for path in self.workspace.rglob("*") if path.is_file() and path.suffix == ".log"
        )
        return int(re.findall(rf"worker {rank}: process (\d+)", logs)[-1])

    def end(self) -> int:
        """The exit code of the run, which ends by itself."""
        rest, _ = self.process.communicate(timeout=60)
        self.lines.append(rest)
        return self.process.returncode


def shown_text(page: Page, selector: str) -> str:
    return str(page.run(f"document.querySelector({selector!r}).innerText"))


@pytest.mark.peers
@pytest.mark.alone
def test_a_run_of_three_workers_one_of_which_is_killed(tmp_path: Path, browser: Browser) -> None:
    with WatchedRun(tmp_path, train_steps=10_000_000, disp_freq=200) as run:
        page = browser.new_page()
        page.open(run.url)
        page.until("netpartRun.state.run && netpartRun.state.positions")
        seen = page.until(f"{LOSS} && {LOSS}.length > 1 && {LOSS}.length")
        first = page.run(f"{LOSS}[0]")
        drawn = page.until("document.querySelector('#curves svg .train path').getAttribute('d')")
        page.until(f"{LOSS}.length > {seen + 2}")
        page.until(f"document.querySelector('#curves svg .train path').getAttribute('d') !== {drawn!r}")
        assert shown_text(page, "#state") == "running"

        page.until(f"{CHART} && {CHART}.workers.every((each) => each.bars.length)")
        page.until("document.querySelectorAll('#gantt canvas').length === 1")
        assert page.run(f"{CHART}.workers.map((each) => each.rank)") == [0, 1, 2]
        assert page.run("Object.values(netpartRun.state.memory).every(([held, grown]) => held > grown && grown > 0)")
        assert page.run("document.querySelectorAll('#workers .memory .planned').length") == WORKERS

        page.click_on("#graph button")
        page.until("window.netpartGraph && netpartGraph.view.look.heat.size > 0")
        page.run("netpartGraph.choose({ box: netpartGraph.model.byName.get('fc1') })")
        page.until("document.querySelectorAll('#graph .time tr').length >= 4")

        page.reload()
        page.until(f"{LOSS} && {LOSS}.length > {seen}")
        assert page.run(f"{LOSS}[0]") == first, "a reload keeps the curves"

        assert {url.split("?")[0] for url in page.requests()} <= {
            run.url.split("?")[0] + name for name in ("", "feed", "graph")
        }
        os.kill(run.worker_pid(1), signal.SIGKILL)
        page.until("netpartRun.state.end && document.querySelector('#workers tr.failed')")
        assert shown_text(page, "#workers tr.failed").startswith("1")
        assert "worker 1" in shown_text(page, "#failure")
        assert shown_text(page, "#state") == "failed"
        assert run.end() == 1
        assert page.errors() == []


@pytest.mark.peers
@pytest.mark.alone
def test_a_page_stays_when_its_run_starts_again(tmp_path: Path, browser: Browser) -> None:
    with WatchedRun(tmp_path, "--restarts", "1", train_steps=10_000_000, disp_freq=100, checkpoint_freq=500) as run:
        page = browser.new_page()
        page.open(run.url)
        page.until("netpartRun.state.log.some(([, text]) => text.startsWith('saved'))")
        page.until(f"{CHART} && {CHART}.workers.length === {WORKERS}")
        first = page.run(f"{LOSS}[0]")
        page.click_on("#graph button")
        page.until("window.netpartGraph")
        os.kill(run.worker_pid(1), signal.SIGKILL)
        page.until("netpartRun.state.attempts")
        attempt = page.run("netpartRun.state.attempts[0]")
        assert (attempt["number"], attempt["workers"], attempt["step"] % 500) == (2, WORKERS - 1, 0)
        page.until("!window.netpartGraph && !document.querySelector('#graph button').hidden")
        page.until(f"{LOSS}.at(-1)[0] > {attempt['step'] + 300}")
        page.until(f"document.querySelectorAll('#workers tr').length === {WORKERS}")
        assert page.run(f"{LOSS}[0]") == first, "the curves of the first attempt stay"
        assert f"attempt 2 began from step {attempt['step']}" in shown_text(page, "#curves .note")
        assert "attempt 2 of 2 at most" in shown_text(page, "#figures")
        assert page.run("document.querySelectorAll('#curves .begin').length > 0")
        assert shown_text(page, "#state") == "running"
        page.resize(360, 800)
        page.until("document.querySelector('#gantt td') && document.querySelector('#gantt td').offsetHeight < 30")
        assert page.run("document.documentElement.scrollWidth") <= 360, "on a phone no table breaks words, or is wider"
        page.click_on("#graph button")
        page.until(f"window.netpartGraph && netpartGraph.model.content.about.workers === {WORKERS - 1}")
        os.kill(run.worker_pid(0), signal.SIGKILL)
        page.until("netpartRun.state.end")
        assert shown_text(page, "#state") == "failed"
        assert run.end() == 1
        assert page.errors() == []


@pytest.mark.peers
def test_a_run_to_its_end(tmp_path: Path, browser: Browser) -> None:
    with WatchedRun(tmp_path, train_steps=800, disp_freq=50) as run:
        page = browser.new_page(360, 800, dark=True)
        page.open(run.url)
        page.until("netpartRun.state.end && !document.querySelector('#summary').hidden")
        assert run.end() == 0
        assert shown_text(page, "#state") == "ended"
        summary = shown_text(page, "#summary")
        assert "as predicted" in summary
        assert "loss/loss" in summary
        assert page.run("document.querySelector('#progress').position") == 1
        assert page.run("document.documentElement.scrollWidth") <= 360, "nothing is wider than a phone"
        assert page.errors() == []


@pytest.mark.peers
def test_names_of_a_job_are_text(tmp_path: Path, browser: Browser) -> None:
    hostile = "x<img src=a onerror=document.hacked=1><script>document.hacked=1</script>"
    with WatchedRun(tmp_path, train_steps=10_000_000, disp_freq=200) as run:
        page = browser.new_page()
        page.open(run.url)
        page.until("netpartRun.state.run")
        change = f"{{ log: [[0, {hostile!r}, 'note']], curves: {{ [{'train/' + hostile!r}]: [[1, 0, 1]] }} }}"
        page.run(f"(netpartRun.merge({change}), netpartRun.announce(['log', 'curves']))")
        page.until("document.querySelector('#log').innerText.includes('onerror')")
        page.until("document.querySelector('#curves').innerText.includes('onerror')")
        assert not page.run("document.hacked")
        assert page.errors() == []

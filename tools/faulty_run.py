"""FaultyRun: one run of tools.elastic_faults: its processes, what it tells, and the faults that are done to it.

this process ── driver ──── coordinator, and with the launcher "local" the parent of the workers
             └─ worker …    with the launcher "join": netpart worker --join
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import secrets
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import Any

from netpart.launch.control.token import BYTES, VARIABLE, RunToken
from tools.fault_jobs import MOST

ROOT = Path(__file__).parent.parent
PIDFD_GETFD = 438
HANG_SECONDS = 150.0
"""A run that tells nothing new for so long hangs."""
END_SECONDS = 25.0
"""How long processes may outlive their run: a worker of another host finds out by itself."""
ANSWER_SECONDS = 15.0
"""How long the next fault waits at most for the end of the last one."""
LATE_SECONDS = 4.0
"""How long a worker that comes later tries to reach the run, which may end just then."""
KINDS = {"kill": 46, "two": 10, "stop": 8, "cut": 10, "join": 18, "disk": 3, "coordinator": 5}
"""Kinds of faults, and how often each is drawn."""


class FaultyRun:
    """A run of job ``name`` with ``changes``, with its files in ``folder``, by ``launcher``: "local", "respawn" or
    "join". It waits ``wait`` seconds for workers that join.

    ``told`` are its events. ``faults`` are (kind, when) of what was done to it.
    """

    def __init__(
        self, name: str, launcher: str, folder: Path, random: Random, changes: Sequence[str] = (), wait: float = 12.0
    ) -> None:  # fmt: skip
        self.name, self.launcher, self.folder, self.random = name, launcher, folder, random
        self.changed, self.wait = changes, wait
        self.told: list[dict[str, Any]] = []
        self.faults: list[tuple[str, float]] = []
        self.seen: set[int] = set()
        self.joined: list[subprocess.Popen[bytes]] = []
        self.stopped: set[int] = set()
        self.token = RunToken(secrets.token_bytes(BYTES)).text
        self.heard = monotonic()
        self.restarts = 0

    def start(self, workers: int, resume: bool) -> None:
        """Start a coordinator and its first workers."""
        self.address = f"tcp://127.0.0.1:{_free_port()}"
        asked = {
            "name": self.name, "workers": workers, "workspace": str(self.folder), "resume": resume,
            "launcher": self.launcher, "listen": self.address, "changes": list(self.changed),
            "wait": self.wait,
        }  # fmt: skip
        environment = os.environ | {VARIABLE: self.token, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        with self.folder.with_suffix(".log").open("ab") as log:
            self.driver = subprocess.Popen(
                [sys.executable, "-m", "tools.elastic_faults", "--drive", json.dumps(asked)], stdout=subprocess.PIPE,
                stderr=log, env=environment, cwd=ROOT,
            )  # fmt: skip
        self.seen.add(self.driver.pid)
        self.reader = threading.Thread(target=self._read, args=(self.driver,), daemon=True)
        self.reader.start()
        for _ in range(workers if self.launcher == "join" else 0):
            self.join(self.wait + 3)

    def join(self, wait: float = LATE_SECONDS) -> None:
        """Start a worker that joins the run, and tries to for ``wait`` seconds."""
        environment = os.environ | {VARIABLE: self.token, "PYTHONPATH": str(ROOT)}
        options = ("--join", self.address, "--wait", f"{wait:g}", "--threads", "1")
        with self.folder.with_suffix(".log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "netpart", "worker", *options], stdout=subprocess.DEVNULL, stderr=log,
                env=environment, cwd=ROOT,
            )  # fmt: skip
        self.joined.append(process)
        self.seen.add(process.pid)

    def _read(self, driver: subprocess.Popen[bytes]) -> None:
        assert driver.stdout is not None
        with driver.stdout as lines:
            for line in lines:
                self.heard = monotonic()
                self.told.append(json.loads(line) | {"heard": self.heard})

    def workers(self) -> list[int]:
        """The processes of workers that there are."""
        if self.launcher == "join":
            found = [process.pid for process in self.joined if process.poll() is None]
        else:
            found = _children(self.driver.pid)
        self.seen |= set(found)
        return [pid for pid in found if pid not in self.stopped]

    def latest(self, kind: str) -> dict[str, Any] | None:
        """The newest event of a kind."""
        return next((told for told in reversed(self.told) if told["kind"] == kind), None)

    def await_answer(self, began: float) -> None:
        """Wait until the run has dealt with a fault that was done at a moment, or ends."""
        end = began + ANSWER_SECONDS
        while not self._has_answered(began) and monotonic() < end and self.driver.poll() is None:
            sleep(0.01)

    def _has_answered(self, began: float) -> bool:
        """True once the run went on after a moment, or was told that a worker that only waited is gone."""
        told = [event for event in tuple(self.told) if event["at"] >= began]
        return any(event["kind"] == "WentOn" or "that waited to take part" in event.get("text", "") for event in told)

    def has_begun(self) -> bool:
        """True once the first step of the present coordinator has begun."""
        return any(told["kind"] == "Started" and told["pid"] == self.driver.pid for told in tuple(self.told))

    def draw_kind(self) -> str:
        """A kind of fault that the run is in a state for."""
        alive = len(self.workers())
        joins = self.launcher == "join"
        fits = {
            "kill": alive > 1, "stop": alive > 1, "two": alive > 2, "cut": joins and alive > 1,
            "join": joins and alive < MOST, "disk": True, "coordinator": True,
        }  # fmt: skip
        kinds = [kind for kind in KINDS if fits[kind]]
        return self.random.choices(kinds, [KINDS[kind] for kind in kinds])[0]

    def kill_seconds(self) -> list[tuple[float, float]]:
        """When a worker was killed, and the seconds until the run went on, for kills after the first step that were the
        only fault meanwhile."""
        kills = [at for kind, at in self.faults if kind in ("kill", "two")]
        return [(at, seconds) for at in kills if (seconds := self._until_go(at))]

    def is_alone(self, at: float, seconds: float) -> bool:
        """True if nothing was done to the run in the ``seconds`` after a moment."""
        return not any(at < other < at + seconds for _, other in self.faults)

    def regroup_seconds(self) -> list[tuple[float, float]]:
        """When a loss of a run that had begun was known, and the seconds until the run went on, other faults meanwhile
        included."""
        found, begun, lost = list[tuple[float, float]](), set[int](), False
        for event in self.told:
            kind, pid = event["kind"], event["pid"]
            if kind == "Started":
                begun.add(pid)
            elif kind == "Lost":
                lost = lost or pid in begun
            elif kind == "WentOn":
                found += [(event["at"] - event["seconds"], event["seconds"])] if lost else []
                lost = False
            elif kind == "failed":
                lost = False
        return found

    def story(self, at: float, seconds: float) -> str:
        """What was done and told in the ``seconds`` after a moment."""
        told = [
            (event["at"], f"{event['kind']} {event.get('reason', event.get('text', ''))}")
            for event in self.told
            if event["kind"] not in ("Measured", "Saved")
        ]
        lines = sorted(told + [(when, f"fault: {kind}") for kind, when in self.faults])
        return "; ".join(f"+{when - at:.2f} {text}" for when, text in lines if -0.01 <= when - at <= seconds + 0.01)

    def _until_go(self, at: float) -> float:
        """Seconds from a loss at a moment until the run went on; 0.0 if it did not, or for another reason as well."""
        told = [event for event in self.told if event["at"] >= at]
        lost = next((event["at"] for event in told if event["kind"] == "Lost"), None)
        went = next((event["at"] for event in told if event["kind"] == "WentOn"), None)
        end = next((event["at"] for event in told if event["kind"] in ("failed", "Started")), None)
        if lost is None or went is None or lost > went or (end is not None and end < went):
            return 0.0
        return went - at if self.is_alone(at, went - at) and self._is_calm(at) else 0.0

    def _is_calm(self, at: float) -> bool:
        """True if the run had begun at that moment, and had no loss that it had not dealt with."""
        before = [event["kind"] for event in self.told if event["at"] < at]
        turns = [kind for kind in before if kind in ("Started", "Lost", "WentOn")]
        return bool(turns) and turns[-1] != "Lost"

    def do_fault(self, kind: str) -> bool:
        """Do a fault of ``kind`` now; False if it did not succeed."""
        alive = self.workers()
        if self.driver.poll() is not None or not alive:
            return False
        began = monotonic()
        done = getattr(self, f"_do_{kind}")(alive)
        if done:
            self.faults.append((kind, began))
        return bool(done)

    def _do_kill(self, alive: list[int]) -> bool:
        return _send(self.random.choice(alive), signal.SIGKILL)

    def _do_two(self, alive: list[int]) -> bool:
        first, second = (_send(pid, signal.SIGKILL) for pid in self.random.sample(alive, 2))
        return first and second

    def _do_stop(self, alive: list[int]) -> bool:
        pid = self.random.choice(alive)
        self.stopped.add(pid)
        return _send(pid, signal.SIGSTOP)

    def _do_cut(self, alive: list[int]) -> bool:
        return self.launcher == "join" and cut_link(self.random.choice(alive), self.random)

    def _do_join(self, alive: list[int]) -> bool:
        self.join()
        return True

    def _do_disk(self, alive: list[int]) -> bool:
        """Let no file of the coordinator grow: what it writes next fails as on a full disk."""
        resource.prlimit(self.driver.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        return True

    def _do_coordinator(self, alive: list[int]) -> bool:
        self.driver.kill()
        return True

    def end(self) -> int:
        """Wait for the end of the coordinator; its exit code. Raises AssertionError if it hangs."""
        while self.driver.poll() is None:
            sleep(0.02)
            assert monotonic() < self.heard + HANG_SECONDS, f"{self.folder}: hangs: {self.told[-3:]}"
        self.reader.join()
        return self.driver.returncode

    def check_end(self) -> None:
        """Raise AssertionError if a process of the run is left."""
        for pid in self.stopped:
            _send(pid, signal.SIGCONT)
        end = monotonic() + END_SECONDS
        while left := [pid for pid in self.seen if self._is_left(pid)]:
            assert monotonic() < end, f"{self.folder}: processes {left} outlive the run"
            sleep(0.05)
        names = [path for path in Path("/dev/shm").iterdir() if "netpart" in path.name]
        assert not names, f"{self.folder}: {names} left"

    def _is_left(self, pid: int) -> bool:
        for process in (*self.joined, self.driver):
            if process.pid == pid:
                return process.poll() is None
        return Path(f"/proc/{pid}").exists()

    def close(self) -> None:
        """Kill what is left."""
        for pid in [*self.workers(), *self.stopped, *(process.pid for process in self.joined)]:
            _send(pid, signal.SIGKILL)
        self.driver.kill()
        for process in (self.driver, *self.joined):
            process.wait()


_ANY = Random(1)


def _send(pid: int, number: int) -> bool:
    """Send a signal; False if the process has ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def cut_link(pid: int, random: Random = _ANY) -> bool:
    """Shut down one TCP connection of a process, as a firewall that forgets it would."""
    with suppress(OSError):
        numbers = [int(n) for n in os.listdir(f"/proc/{pid}/fd") if _is_socket(pid, n)]
        random.shuffle(numbers)
        watch = os.pidfd_open(pid)
        try:
            return any(_shut_down(watch, number) for number in numbers)
        finally:
            os.close(watch)
    return False


def _is_socket(pid: int, number: str) -> bool:
    with suppress(OSError):
        return os.readlink(f"/proc/{pid}/fd/{number}").startswith("socket:")
    return False


def _shut_down(watch: int, number: int) -> bool:
    """Shut down file descriptor ``number`` of the process of ``watch``; False if it is not a TCP connection."""
    copy = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, watch, number, 0)
    if copy < 0:
        return False
    with socket.socket(fileno=copy) as found:
        try:
            if found.family != socket.AF_INET or not found.getpeername():
                return False
            found.shutdown(socket.SHUT_RDWR)
        except OSError:
            return False
    return True

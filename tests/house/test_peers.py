"""A test that needs a package outside the extra dev, or the package index, is marked ``peers``; no other one is.

Tests marked so run by `make test-peers` alone, which installs what they need: there none of them may be skipped.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions

import pytest

from tests.house.needs import INDEX, RUN, Definition, Need, direct, modules, needs, source
from tests.house.requirements import installed_by
from tests.house.tree import ROOT

MARK = "pytest.mark.peers"
OURS = {"netpart", "tests", "benchmarks", "tools", "cupy", "cudnn", ""}
APART: dict[str, Need] = {
    "tests.benchmarks.test_bridges.test_a_process_answers": Definition("benchmarks.reduce", "rows"),
    "tests.benchmarks.test_gpu.test_the_first_steps_bring_the_loss_and_do_not_count": Definition(
        "benchmarks.gpu_contest", "Peer"
    ),
    "tests.benchmarks.test_hybrid.test_a_training_is_a_job_of_its_own": Definition(
        "benchmarks.peers.torch_learner", RUN
    ),
}
"""What a test does not get to, though it names what does."""
OURSELVES = "tests.house.test_peers"
ON_A_GPU = "tests.cuda."
"""The folder that compiles CUDA C with g++: its conftest.py marks all of it."""
FILES = [
    module
    for module in modules()
    if module.split(".")[-1].startswith("test_") and module != OURSELVES and not module.startswith(ON_A_GPU)
]
pytest_plugins = ["pytester"]


def functions(module: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for name, (code, *_) in source(module).code.items():
        if isinstance(code, ast.FunctionDef) and name.startswith("test_"):
            yield name, code


def marked(module: str, code: ast.FunctionDef) -> bool:
    everywhere = source(module).code.get("pytestmark", [])
    return any(MARK in ast.unparse(each) for each in [*everywhere, *code.decorator_list])


def replaced(module: str, code: ast.FunctionDef) -> Iterator[Need]:
    """What a test does not get to: what it puts something else in place of, the index if it works without one."""
    if apart := APART.get(f"{module}.{code.name}"):
        yield apart
    for node in ast.walk(code):
        match node:
            case ast.Call(args=[ast.Name(id=owner), ast.Constant(value=str(name)), *_]):
                found = source(module).imported.get(owner)
                if isinstance(found, Definition) and ast.unparse(node.func) == "monkeypatch.setattr":
                    yield Definition(found.module, name)
            case ast.Constant(value="PIP_NO_INDEX"):
                yield INDEX


@cache
def at_hand() -> frozenset[str]:
    """The names of modules that Python, the extra dev and netpart itself bring."""
    inside = installed_by("dev")
    brought = {name for name, found in packages_distributions().items() if inside & {each.lower() for each in found}}
    return frozenset(brought | OURS | sys.stdlib_module_names)


def wanting(module: str) -> dict[str, set[str]]:
    """What each test of a file needs that the extra dev does not bring."""
    start = Definition(module)
    return {
        name: needs([start, *direct(module, code)], [*replaced(module, code)]) - at_hand()
        for name, code in functions(module)
    }


def test_who_needs_more_is_marked_and_nobody_else() -> None:
    found = {module: wanting(module) for module in FILES}
    tests = [(module, name, code) for module in FILES for name, code in functions(module)]
    needing = {f"{module}.{name}": needed for module, name, _ in tests if (needed := found[module][name])}
    have = {f"{module}.{name}" for module, name, code in tests if marked(module, code)}
    assert {name: needed for name, needed in needing.items() if name not in have} == {}, "mark them peers"
    assert have - needing.keys() == set(), "they need nothing else: take the mark off"


def test_a_need_is_found_wherever_it_is() -> None:
    """In a program as text, in a module that is run, through fixtures and what they call."""
    for module, test in {
        "tests.benchmarks.test_contest": "test_what_the_machine_can_do",
        "tests.benchmarks.test_peers": "test_a_bench_comes_to_the_same_loss_with_everybody",
        "tests.oracle.test_gpt2": "test_uncut",
        "tests.layers.test_batch_norm": "test_running_statistics_are_pytorchs",
    }.items():
        assert wanting(module)[test] == {"torch"}


PAIR = """
import pytest

@pytest.mark.peers
def test_far():
    pytest.{}

def test_near():
    pass
"""


@pytest.fixture
def house(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with the conftest.py of all tests."""
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    pytester.makeini("[pytest]\nmarkers = peers")
    return pytester


def test_marked_tests_run_where_they_are_asked_for(house: pytest.Pytester) -> None:
    house.makepyfile(PAIR.format("raises"))
    house.runpytest().assert_outcomes(passed=1, deselected=1)
    house.runpytest("-m", "not slow").assert_outcomes(passed=1, deselected=1)
    house.runpytest("-m", "peers").assert_outcomes(passed=1, deselected=1)


@pytest.mark.parametrize("how", ["skip('no reason')", "importorskip('no_such_package')"])
def test_none_of_them_is_skipped(house: pytest.Pytester, how: str) -> None:
    house.makepyfile(PAIR.format(how))
    found = house.runpytest("-m", "peers and not alone")
    found.assert_outcomes(failed=1, deselected=1)
    found.stdout.fnmatch_lines(["*a test marked peers is never skipped*no*"])


def test_nor_is_a_file_of_them(house: pytest.Pytester) -> None:
    house.makepyfile("import pytest\npytest.importorskip('no_such_package')" + PAIR.format("raises"))
    assert house.runpytest("-m", "peers").ret == pytest.ExitCode.INTERRUPTED
    house.runpytest("-m", "not slow").assert_outcomes(skipped=1)

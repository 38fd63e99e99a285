"""Processors of one name are told apart by what they compute with."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from netpart import processor
from netpart.processor import describe_processor, this_processor

LISTED = "model name\t: EPYC\ncpu family\t: 25\nmodel\t\t: {}\nflags\t\t: fpu avx avx2 {}\n"


def test_processors_of_one_name_are_told_apart() -> None:
    old, new = LISTED.format(1, ""), LISTED.format(17, "avx512f avx512_bf16")
    assert describe_processor(old + "\n" + new) == "EPYC (family 25, model 1, AVX2)"
    assert describe_processor(new) == "EPYC (family 25, model 17, AVX512-BF16)"


def test_instructions_that_a_virtual_machine_hides_make_another_processor() -> None:
    assert describe_processor(LISTED.format(17, "")) == "EPYC (family 25, model 17, AVX2)"


def test_a_processor_without_a_name_has_its_numbers() -> None:
    arm = "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
    assert describe_processor(arm) == f"{platform.machine()} 0x41 0xd0c"
    assert describe_processor("") == platform.machine()


def test_a_system_without_the_list_has_its_architecture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "CPUINFO", tmp_path / "none")
    this_processor.cache_clear()
    try:
        assert this_processor() == platform.machine()
    finally:
        this_processor.cache_clear()

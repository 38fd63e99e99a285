"""The set of kernels as a whole."""

from __future__ import annotations

from collections import Counter
from inspect import getmembers, isfunction

from netpart.kernels import reference
from netpart.kernels.cuda.kernels import Kernels

COMPOSED = {"normalise_backward"}
"""Verbs that only call other verbs, which are the GPU's."""


def test_every_verb_is_one_of_the_gpu() -> None:
    verbs = {name for name, _ in getmembers(reference.Kernels, isfunction) if not name.startswith("_")}
    inherited = {name for name in verbs if getattr(Kernels, name) is getattr(reference.Kernels, name)}
    assert inherited == COMPOSED


def test_no_mixin_covers_what_another_keeps_to_itself() -> None:
    ours = [base for base in Kernels.__mro__ if base.__module__.startswith("netpart.kernels.cuda")]
    private = Counter(name for base in ours for name in vars(base) if name.startswith("_") and not name.endswith("__"))
    assert [name for name, count in private.items() if count > 1] == []

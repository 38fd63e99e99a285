"""The set of kernels as a whole."""

from __future__ import annotations

from inspect import getmembers, isfunction

from netpart.kernels import reference
from netpart.kernels.cuda.kernels import Kernels


def test_every_verb_is_one_of_the_gpu() -> None:
    verbs = {name for name, _ in getmembers(reference.Kernels, isfunction) if not name.startswith("_")}
    inherited = {name for name in verbs if getattr(Kernels, name) is getattr(reference.Kernels, name)}
    assert not inherited

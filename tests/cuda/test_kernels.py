"""What holds for all verbs on the GPU together."""

from __future__ import annotations

from collections import Counter

from netpart.kernels import reference
from tests.cuda.agreement import fast


def verbs(kernels: type) -> set[str]:
    return {name for name in dir(kernels) if not name.startswith("_") and callable(getattr(kernels, name))}


def test_every_verb_is_computed_by_kernels_of_our_own() -> None:
    kernels = type(fast("float32"))
    inherited = {
        verb
        for verb in verbs(reference.Kernels)
        if not getattr(kernels, verb).__module__.startswith("netpart.kernels.cuda")
    }
    assert inherited == set()


def test_no_mixin_covers_what_another_keeps_to_itself() -> None:
    ours = [base for base in type(fast("float32")).__mro__ if base.__module__.startswith("netpart.kernels.cuda")]
    private = Counter(name for base in ours for name in vars(base) if name.startswith("_") and not name.endswith("__"))
    assert [name for name, count in private.items() if count > 1] == []

"""``verify`` finds every mistake that is made on purpose in a partitioned graph, and at the layer where it was made."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from netpart.graph.partition import Partition, partition_job
from netpart.graph.uncut import partition_uncut
from netpart.verify.compare import compare_nets
from tests.laws.generic import generic_job
from tests.laws.mutants import MUTATIONS, Mutant, mutate
from tests.thorough import sampled

PLACES = 20


def chosen(mutation: str) -> Iterator[tuple[Partition, Mutant]]:
    """PLACES random places for a mistake, each in a job of its own."""
    random, found = Random(mutation), 0
    while found < PLACES:
        job, workers = generic_job(random)
        cut = partition_job(job, workers)
        places = list(MUTATIONS[mutation](cut, random))
        if places:
            found += 1
            yield cut, random.choice(places)


@pytest.mark.parametrize("mutation", sampled(MUTATIONS, 2))
def test_a_mutant_is_found_at_its_layer(mutation: str) -> None:
    for cut, mutant in chosen(mutation):
        whole = partition_uncut(cut.job)
        assert compare_nets(cut, whole, steps=1).first is None
        mutate(cut.graph, mutant)
        report = compare_nets(cut, whole, steps=1)
        assert not report.holds, mutant.what
        assert report.first is not None
        assert (report.first.layer, report.first.kind) == (mutant.layer, mutant.kind), mutant.what

"""GABRA: the genetic algorithm that allocates partitions to devices (Akintoye et al., IEEE Access 10, 2022, 3.1.2).

The steps of the paper's Algorithm 1 are numbered comments in the code. The differences from the paper are:

1. An offspring that the population already contains counts as a generation. As printed, t would not increase, and the
   loop would not end once all offspring are duplicates.
2. The fitter of two chromosomes is selected. The text selects those of lower fitness, which are those to be replaced.
3. Offspring are repaired: crossover and inversion ignore capacities (6) and devices without a partition.
4. A repaired offspring is improved by exchanges of two partitions until none helps, so the search moves from one local
   optimum to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from time import process_time

import numpy as np

from netpart.errors import NetpartError
from netpart.plan.search.knapsacks import Knapsacks, Plan
from netpart.plan.search.local_search import improve_plan
from netpart.plan.search.repair import repair_plan

POPULATION, GENERATIONS = 24, 300
CROSSOVER = 0.8
"""Probability that offspring have two parents, as in the paper."""
TRIES = 50
"""Random allocations that are drawn for each member of the first population."""


@dataclass(frozen=True)
class EvolutionResult:
    """The best plan, and per generation the best value of the objective so far and the mean over the population."""

    plan: Plan
    best: tuple[float, ...]
    mean: tuple[float, ...]


def run_gabra(
    problem: Knapsacks, seed: int = 1, generations: int = GENERATIONS, population: int = POPULATION,
    known: Sequence[Plan] = (), limit: float = inf,
) -> EvolutionResult:  # fmt: skip
    """The best legal plan of ``generations`` generations; the same seed gives the same plan.

    The first population contains ``known``, which are legal plans, and random plans. The run ends early with a plan
    that reaches its bounds, and with the best one so far after ``limit`` seconds. These are seconds of the processor:
    other work on the machine does not change the plan. Raises ConfigError for a problem that obviously has no
    legal plan, NetpartError if none was found.
    """
    problem.check()
    until = process_time() + limit
    random = np.random.default_rng(seed)
    # 1  evaluate c_ij = p_i / d_j: problem.fitness has them, summed up device by device
    # 2  set t = 0
    best = list[float]()
    mean = list[float]()
    # 3  initialise P(t) with random allocations that exceed no capacity
    members = _first_population(problem, random, population, known, until)
    # 4  evaluate P(t)
    fitness = [problem.fitness(member) for member in members]
    # 5  find Z*, the fittest
    fittest = members[fitness.index(max(fitness))]
    # 6  while t < t_max
    for _ in range(generations):
        best.append(problem.value(fittest))
        mean.append(float(np.mean([problem.value(member) for member in members])))
        if problem.is_perfect(fittest) or process_time() >= until:
            break
        # 7-12  breed an offspring; ignore it if P(t) has it
        mutant = _breed_offspring(problem, members, fitness, random, until)
        if mutant is None:
            continue
        # 13-14  evaluate it, and let it replace the least fit
        least = fitness.index(min(fitness))
        members[least] = mutant
        fitness[least] = problem.fitness(mutant)
        # 15-17  update Z*
        if fitness[least] > problem.fitness(fittest):
            fittest = mutant
        # 18  t = t + 1
    # 20  return Z* and f(Z*)
    return EvolutionResult(fittest, tuple(best), tuple(mean))


def _breed_offspring(
    problem: Knapsacks, members: list[Plan], fitness: list[tuple[float, float]], random: np.random.Generator,
    until: float,
) -> Plan | None:  # fmt: skip
    """A legal plan made of two of ``members`` and not among them; None if this attempt gives none."""
    # 7  select two parents
    parents = select_parent(members, fitness, random), select_parent(members, fitness, random)
    # 8  cross them over
    offspring = crossover(*parents, random)
    # 9  mutate the offspring
    mutant = repair_plan(problem, invert_genes(offspring, random), random)
    # 10-12  ignore it if P(t) has it
    if mutant is None or _contains_plan(members, mutant := improve_plan(problem, mutant, until=until)):
        return None
    return mutant


def _first_population(
    problem: Knapsacks, random: np.random.Generator, size: int, known: Sequence[Plan], until: float
) -> list[Plan]:
    """``known`` and legal plans near random ones; raises NetpartError if no legal plan is found. After
    ``until`` only a first plan is added."""
    partitions = len(problem.loads)
    devices = len(problem.capacities)
    found = list(known)
    for _ in range(size * TRIES):
        if len(found) >= size or (found and process_time() >= until):
            break
        plan = repair_plan(problem, random.integers(devices, size=partitions), random)
        if plan is not None:
            found.append(plan)
    if not found:
        raise NetpartError("GABRA: expected an allocation within capacities, found none; increase --slack")
    return found


def select_parent(members: list[Plan], fitness: list[tuple[float, float]], random: np.random.Generator) -> Plan:
    """The fitter of two members."""
    a, b = (int(i) for i in random.integers(len(members), size=2))
    return members[a if fitness[a] >= fitness[b] else b]


def crossover(first: Plan, second: Plan, random: np.random.Generator) -> Plan:
    """Take each gene from either parent; in a fifth of all cases take all genes from the first."""
    child = first.copy()
    if random.random() < CROSSOVER:
        genes = random.random(len(first)) < 0.5
        child[genes] = second[genes]
    return child


def invert_genes(plan: Plan, random: np.random.Generator) -> Plan:
    """Reverse a random run of genes, in place."""
    lo, hi = sorted(random.integers(len(plan) + 1, size=2))
    # Copied, because source and target share memory.
    plan[lo:hi] = plan[lo:hi][::-1].copy()
    return plan


def _contains_plan(members: list[Plan], plan: Plan) -> bool:
    """True if one of ``members`` equals ``plan``."""
    return any(np.array_equal(member, plan) for member in members)

"""How often do our tests find what is not there? `python -m benchmarks.null [--suites 1000] [--seed 0] [-p 2]`.

Suites are made up in which all frameworks are equal on average: each is better on some tasks than on others, by
chance alone, and folds add noise. Task properties have nothing to do with anything. A test at the level α may reject
in a share α of such suites; it keeps its level here if the share is at most α and two standard errors. One task is
made up besides, with folds that are correlated as those of cross-validation are.

Exit 1 if a test that should keep its level does not.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import sqrt
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from assay.analysis.bayes import nadeau_bengio, signed_rank
from assay.analysis.impute import gather
from assay.analysis.pairwise import Pairwise, compare_pairwise, tail_of
from assay.analysis.ranks import Ranks, rank_frameworks
from assay.analysis.trees import Comparisons, TreeSettings, Unit, grow_tree
from benchmarks.made_up import long_table

ALPHA = 0.05
TASKS_PER_LEAF = 5


@dataclass(frozen=True)
class Design:
    """What a made-up suite is like, and how many draws the tests take that draw.

    Attributes:
        effect: deviation of framework × task effects.
        noise: deviation of folds.
        few: so many tasks are fewer than five per parameter, and the tree's p-values come from permutations.
        draws: of tasks, for intervals of strengths.
        samples: of the posterior.
    """

    frameworks: int = 5
    tasks: int = 30
    folds: int = 10
    effect: float = 1.0
    noise: float = 1.0
    few: int = 15
    draws: int = 1000
    samples: int = 50_000

    @property
    def names(self) -> tuple[str, ...]:
        """Return the frameworks' names."""
        return tuple(f"f{j}" for j in range(self.frameworks))


@dataclass(frozen=True)
class Suite:
    """Made-up scores (tasks, folds, frameworks), two properties of the tasks, and a pair's differences on one task."""

    design: Design
    scores: Any
    size: Any
    kind: Any
    differences: Any

    @cached_property
    def means(self) -> Any:
        """The means over folds (tasks, frameworks)."""
        return self.scores.mean(axis=1)

    @cached_property
    def ranks(self) -> Ranks:
        """The tests between average ranks; five tests of ours share them."""
        return rank_frameworks(self.means, self.design.names, ALPHA, control=self.design.names[0])

    def comparisons(self, tasks: int) -> Comparisons:
        """Return what a tree is grown from, of the first so many tasks."""
        names = np.array([f"task{t}" for t in range(tasks)])
        size, kind, name = (
            np.repeat(one[:tasks], self.design.folds) for one in (self.size, self.kind, names)
        )
        flat = self.scores[:tasks].reshape(-1, self.design.frameworks)
        return Comparisons(self.design.names, flat, name, {"size": size, "kind": kind})


@dataclass(frozen=True)
class Check:
    """A test of ours: whether it rejects in a suite, its level, and whether it should keep it."""

    name: str
    rejects: Callable[[Suite, np.random.Generator], bool]
    level: float = ALPHA
    should_keep: bool = True


@dataclass(frozen=True)
class Line:
    """How often a test rejected."""

    test: Check
    rejected: int
    suites: int

    @property
    def rate(self) -> float:
        """Return the share of suites in which it rejected."""
        return self.rejected / self.suites

    @property
    def error(self) -> float:
        """Return the standard error of the rate."""
        return sqrt(self.rate * (1 - self.rate) / self.suites)

    @property
    def allowed(self) -> float:
        """Return the level and two standard errors that the rate of an exact test would have."""
        return self.test.level + 2 * sqrt(self.test.level * (1 - self.test.level) / self.suites)

    @property
    def keeps(self) -> bool:
        """Return whether the rate is no higher than allowed."""
        return self.rate <= self.allowed

    @property
    def is_bad(self) -> bool:
        """Return whether the level is not kept though it should be."""
        return self.test.should_keep and not self.keeps


def make_suite(design: Design, random: np.random.Generator) -> Suite:
    """Return a suite in which nothing is to be found."""
    shape = (design.tasks, design.folds, design.frameworks)
    effect = design.effect * random.normal(size=(design.tasks, 1, design.frameworks))
    return Suite(
        design=design,
        scores=effect + design.noise * random.normal(size=shape),
        size=random.normal(size=design.tasks),
        kind=random.choice(["a", "b", "c"], size=design.tasks),
        differences=make_differences(design.folds, random),
    )


def make_differences(folds: int, random: np.random.Generator) -> Any:
    """Return a pair's differences on the folds of one task, without a true difference.

    Any two folds correlate by 1/K, the share of the rows that are tested on: what Nadeau and Bengio suppose.
    """
    shared, own = random.normal(), random.normal(size=folds)
    return sqrt(1 / folds) * shared + sqrt(1 - 1 / folds) * own


def friedman(suite: Suite, random: np.random.Generator) -> bool:
    return suite.ranks.friedman.p <= ALPHA


def iman_davenport(suite: Suite, random: np.random.Generator) -> bool:
    return suite.ranks.iman_davenport.p <= ALPHA


def nemenyi(suite: Suite, random: np.random.Generator) -> bool:
    return bool((suite.ranks.nemenyi_p <= ALPHA).any())


def wilcoxon(suite: Suite, random: np.random.Generator) -> bool:
    return bool((suite.ranks.wilcoxon_p <= ALPHA).any())


def dunn(suite: Suite, random: np.random.Generator) -> bool:
    return bool((suite.ranks.dunn_p <= ALPHA).any())


def splits(suite: Suite, random: np.random.Generator, unit: Unit, few: bool = False) -> bool:
    """Return whether the tree's root is split."""
    design = suite.design
    folds = 1 if unit == "task" else design.folds
    settings = TreeSettings(unit, TASKS_PER_LEAF * folds, max_depth=2, alpha=ALPHA)
    tree = grow_tree(suite.comparisons(design.few if few else design.tasks), settings, random)
    return tree.nodes[0].split is not None


def compare(suite: Suite, random: np.random.Generator) -> Pairwise:
    table = long_table(suite.scores, suite.design.names, metric="score", higher_is_better=True)
    return compare_pairwise(gather(table, "none"), random, suite.design.draws)


def rank_groups(suite: Suite, random: np.random.Generator) -> bool:
    """Return whether a leaderboard has more than one group."""
    return bool(compare(suite, random).rank_group.max() > 1)


def strength_groups(suite: Suite, random: np.random.Generator) -> bool:
    """Return whether frameworks by strength have more than one group."""
    return bool(compare(suite, random).group.max() > 1)


def bootstrap(suite: Suite, random: np.random.Generator) -> bool:
    """Return whether one of the first two is stronger in nearly all draws of tasks."""
    a, b = suite.design.names[:2]
    found = compare(suite, random)
    better = found.better[found.frameworks.index(a), found.frameworks.index(b)]
    return bool(max(better, 1 - better) > 1 - tail_of(found.n_tasks))


def bayes(suite: Suite, random: np.random.Generator) -> bool:
    """Return whether one of the first two is better with a probability above 1 - α."""
    difference = suite.means[:, 0] - suite.means[:, 1]
    p_a, _, p_b = signed_rank(difference, 0.0, random, suite.design.samples)
    return bool(max(p_a, p_b) > 1 - ALPHA)


def corrected_t(suite: Suite, random: np.random.Generator) -> bool:
    return nadeau_bengio(suite.differences, 1 / (suite.design.folds - 1))[1] <= ALPHA


def plain_t(suite: Suite, random: np.random.Generator) -> bool:
    """Return whether the test without correction rejects: no test rows per training row."""
    return nadeau_bengio(suite.differences, 0.0)[1] <= ALPHA


TESTS = (
    Check("Friedman, χ² corrected for ties", friedman),
    Check("Iman–Davenport", iman_davenport),
    Check("Nemenyi, any pair", nemenyi),
    Check("Wilcoxon with Holm, any pair", wilcoxon),
    Check("Bonferroni–Dunn, any against a control", dunn),
    Check("tree's root, unit cluster (the default)", partial(splits, unit="cluster")),
    Check("tree's root, unit cluster, few tasks (permutations)", partial(splits, unit="cluster", few=True)),
    Check("tree's root, unit task", partial(splits, unit="task")),
    Check("tree's root, unit fold", partial(splits, unit="fold"), should_keep=False),
    Check("groups by rank, more than one", rank_groups),
    Check("groups by strength, more than one", strength_groups),
    Check("one pair, interval over draws of tasks, either side", bootstrap),
    # Each side has a level of α, so both together have twice that.
    Check("one pair, Bayesian signed rank, P(better) > 0.95, either side", bayes, level=2 * ALPHA),
    Check("one pair on one task, corrected t-test (Nadeau–Bengio)", corrected_t),
    Check("one pair on one task, plain paired t-test", plain_t, should_keep=False),
)


def try_suite(tests: Sequence[Check], design: Design, seed: int, number: int) -> tuple[bool, ...]:
    """Return which tests reject in one suite.

    Every suite has a generator of its own, and every test in it: neither the number of workers nor the choice of tests
    changes what a test finds.
    """
    suite = make_suite(design, np.random.default_rng([seed, number]))
    own = [np.random.default_rng([seed, number, crc32(test.name.encode())]) for test in tests]
    return tuple(test.rejects(suite, random) for test, random in zip(tests, own, strict=True))


def simulate(
    suites: int,
    seed: int = 0,
    workers: int = 1,
    design: Design | None = None,
    tests: Sequence[Check] = TESTS,
    tell: Callable[[int], None] = lambda done: None,
) -> list[Line]:
    """Return how often each test rejects in so many suites; `tell` hears how many are done."""
    one = partial(try_suite, tests, design or Design(), seed)
    rejected = np.zeros(len(tests), dtype=int)
    for done, found in enumerate(_each(one, suites, workers), start=1):
        rejected += found
        tell(done)
    return [Line(test, int(count), suites) for test, count in zip(tests, rejected, strict=True)]


def _each(one: Callable[[int], tuple[bool, ...]], suites: int, workers: int) -> Iterator[tuple[bool, ...]]:
    if workers <= 1:
        yield from map(one, range(suites))
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from threadpoolctl import threadpool_limits

    # Spawned, because a fork of a process with threads may hang; one thread each, because workers use all cores.
    with ProcessPoolExecutor(workers, get_context("spawn"), threadpool_limits, (1,)) as pool:
        yield from pool.map(one, range(suites), chunksize=5)


def markdown(lines: Sequence[Line]) -> str:
    """Return the table of the docs."""
    out = [
        "| test | level | rejection rate | standard error | allowed | keeps its level |",
        "|---|---|---|---|---|---|",
    ]
    for line in lines:
        verdict = "yes" if line.keeps else "**no**" if line.is_bad else "no, as expected"
        out.append(
            f"| {line.test.name} | {line.test.level:.2f} | {line.rate:.3f} | {line.error:.3f} | {line.allowed:.3f} "
            f"| {verdict} |"
        )
    return "\n".join(out)


def describe(design: Design, suites: int, seed: int) -> str:
    """Return what was simulated."""
    return (
        f"{suites} suites (seed {seed}) of {design.tasks} tasks × {design.folds} folds and {design.frameworks} "
        f"frameworks that are equal on average; deviation {design.effect:g} of framework × task effects and "
        f"{design.noise:g} of folds; few tasks are {design.few}."
    )


def progress(suites: int) -> Callable[[int], None]:
    """Return what tells how far it is, twenty times at most."""
    begin, step = time.monotonic(), max(1, suites // 20)

    def tell(done: int) -> None:
        if done % step == 0 or done == suites:
            print(f"{done} of {suites} suites, {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)

    return tell


def main(words: Sequence[str] | None = None, tests: Sequence[Check] = TESTS) -> int:
    """Simulate and print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.null", description=__doc__.split("\n")[0])
    parser.add_argument("--suites", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-p", type=int, default=2, help="processes")
    parser.add_argument("--out", type=Path, help="write the table to this file too")
    said = parser.parse_args(words)
    if said.suites < 1:
        parser.error("--suites: at least one is needed")
    lines = simulate(said.suites, said.seed, said.p, tests=tests, tell=progress(said.suites))
    text = f"{describe(Design(), said.suites, said.seed)}\n\n{markdown(lines)}\n"
    print(text, end="")
    if said.out:
        said.out.write_text(text, encoding="utf-8")
    return int(any(line.is_bad for line in lines))


if __name__ == "__main__":
    sys.exit(main())

"""What the analyses cost, beside those of others: `python -m benchmarks.analysis [--small]`.

CPU seconds without imports and without making the data up, ours and theirs in one run; ratios and budgets matter. What
is compared with is run here, but for R's psychotree, whose seconds were measured elsewhere.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.made_up import CONSTANT, FOREST, long_table
from benchmarks.measure import Figure, clean_environ, own_cpu_s

SHARED = Path(__file__).resolve().parents[2] / "shared"
REFERENCE = SHARED / "reference/bt"
PUBLISHED = SHARED / "data/results/amlb_2021"
CASE = "classification_1h_fig4"


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes:
        standings: frameworks, tasks and folds of each table, and the budget in seconds.
        draws, rounds: of tasks, ours and bencheval's.
        tests: frameworks and tasks of the tests between ranks.
        bayes: frameworks and tasks of the Bayesian test.
        samples: of its posterior.
        pairs: so many pairs are measured with baycomp, and scaled up to all.
    """

    standings: tuple[tuple[int, int, int, float], ...] = ((60, 51, 30, 3.0), (230, 142, 30, 4.0))
    draws: int = 1000
    rounds: int = 100
    tests: tuple[int, int] = (100, 142)
    bayes: tuple[int, int] = (10, 104)
    samples: int = 50_000
    pairs: int = 3


SMALL = Sizes(
    ((20, 17, 30, 3.0),), draws=100, rounds=10, tests=(20, 40), bayes=(5, 30), samples=2000, pairs=2
)


@dataclass(frozen=True)
class Measured:
    """What we need beside what somebody else needs, in CPU seconds; `ours_s` is None where it was skipped."""

    what: str
    budget_s: float
    ours_s: float | None
    theirs_s: float | None = None
    who: str = ""
    note: str = ""

    @property
    def theirs(self) -> str:
        """Return who the other is, and its seconds where they were measured."""
        return self.who if self.theirs_s is None else f"{self.who} {self.theirs_s:.3g} s"

    @property
    def figure(self) -> Figure:
        """Return it as a line of the common table."""
        assert self.ours_s is not None
        note = "; ".join(one for one in (self.theirs, self.note) if one)
        return Figure(self.what, self.ours_s, "s", self.budget_s, note)

    def line(self) -> str:
        """Return it as a line of the table of ratios."""
        what = f"{self.what} ({self.note})" if self.note else self.what
        if self.ours_s is None:
            return f"| {what} | skipped | | | ≤ {self.budget_s:g} s | |"
        ratio = "" if self.theirs_s is None else f"{self.theirs_s / self.ours_s:.3g}"
        kept = "kept" if self.ours_s <= self.budget_s else "**OVER**"
        return f"| {what} | {self.ours_s:.3g} s | {self.theirs} | {ratio} | ≤ {self.budget_s:g} s | {kept} |"


HEADER = "| what | ours | theirs | ratio | budget | |\n|---|---|---|---|---|---|"


def cpu_of(action: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a call, all threads included, and what it returned."""
    begin = own_cpu_s()
    found = action()
    return own_cpu_s() - begin, found


def measure_trees(folder: Path = REFERENCE) -> Iterator[Measured]:
    """Grow the AMLB paper's tree: folds as if independent, as R does, and clustered by task, as we do."""
    from assay.analysis.trees import TreeSettings, grow_tree

    what, budget = "Bradley–Terry tree of the AMLB classification results", 2.0
    if not (folder / f"{CASE}_input.csv").is_file():
        yield Measured(what, budget, None, note=f"the reference data are not there: {CASE}_input.csv")
        return
    data, own = read_case(folder)
    plain = TreeSettings("fold", own["minsize"], own["maxdepth"], own["alpha"], psychotree=True)
    quoted = "R psychotree 15–65 s, measured elsewhere"
    grow_tree(data, replace(plain, max_depth=2))  # what is loaded late is loaded now
    clustered = replace(plain, unit="cluster", psychotree=False)
    for settings, how in ((plain, "folds, as R does"), (clustered, "clusters")):
        used, tree = cpu_of(partial(grow_tree, data, settings, np.random.default_rng(0)))
        yield Measured(f"{what}, {how}", budget, used, who=quoted, note=f"{len(tree.nodes)} nodes")


def read_case(folder: Path) -> tuple[Any, dict[str, Any]]:
    """Return the comparisons, and the settings that R was given."""
    import pandas as pd

    from assay.analysis.trees import Comparisons

    frame = pd.read_csv(folder / f"{CASE}_input.csv")
    said = json.loads((folder / f"{CASE}_output.json").read_text(encoding="utf-8"))
    frameworks = said["frameworks"]
    scores = frame.pivot(index="obs", columns="framework", values="score")[frameworks].to_numpy()
    first = frame.groupby("obs").first()
    covariates = {name: first[name].to_numpy(dtype=float) for name in said["covariates"]}
    tasks = first["task"].to_numpy(dtype=str)
    return Comparisons(tuple(frameworks), scores, tasks, covariates), said["settings"]


def measure_standings(sizes: Sizes, python: Path | None) -> Iterator[Measured]:
    """Rank a long table with intervals by drawing tasks; bencheval takes a tenth of the draws."""
    own_standings(*make_errors(4, 3, 2), draws=10)  # what is loaded late is loaded now
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as scratch:
        python, reason = (python, "") if python else install_bencheval(Path(scratch))
        for m, tasks, folds, budget in sizes.standings:
            errors, failed = make_errors(m, tasks, folds)
            ours = own_standings(errors, failed, sizes.draws)
            rows = f"{m * tasks * folds:,}".replace(",", " ")
            what = f"leaderboard of {rows} rows, {sizes.draws} draws"
            if python is None:
                yield Measured(what, budget, ours, note=reason)
                continue
            theirs = their_standings(python, Path(scratch), errors, failed, sizes.rounds)
            yield Measured(what, budget, ours, theirs, f"bencheval, {sizes.rounds} draws:")


def make_errors(m: int, tasks: int, folds: int) -> tuple[Any, Any]:
    """Return errors (tasks, folds, m), the constant predictor's first, and which failed: one in a hundred."""
    random = np.random.default_rng(0)
    strength = random.normal(scale=0.3, size=m)
    effect = random.normal(size=(tasks, 1, 1)) + random.normal(scale=0.3, size=(tasks, 1, m))
    errors = np.exp(strength + effect + random.normal(scale=0.2, size=(tasks, folds, m)))
    errors[:, :, 0] = 1.5 * errors.max(axis=2)
    failed = random.random(errors.shape) < 0.01
    failed[:, :, 0] = False
    return errors, failed


def own_standings(errors: Any, failed: Any, draws: int) -> float:
    """Return the CPU seconds from the scores table to the leaderboard."""
    from assay.analysis.leaderboard import make_leaderboard

    names = [CONSTANT, FOREST, *(f"framework{j}" for j in range(2, errors.shape[2]))]
    table = long_table(errors, names, failed)
    used, found = cpu_of(lambda: make_leaderboard(table, np.random.default_rng(0), draws=draws))
    assert found.anchor == FOREST and len(found.standings) == len(names)
    return used


def their_standings(python: Path, scratch: Path, errors: Any, failed: Any, rounds: int) -> float:
    """Return bencheval's CPU seconds for the same rows, in its own environment."""
    path = scratch / "errors.npz"
    np.savez(path, errors=errors, failed=failed)
    script = Path(__file__).with_name("standings_elsewhere.py")
    command: list[str | Path] = [python, "-I", script, path, str(rounds)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=clean_environ())
    return float(done.stdout.splitlines()[-1])


def install_bencheval(scratch: Path) -> tuple[Path | None, str]:
    """Return the interpreter of a new environment with bencheval, or None and why there is none."""
    uv, folder = Path(sys.executable).parent / "uv", scratch / "venv"
    python = folder / "bin/python"
    commands: tuple[list[str | Path], ...] = (
        [uv, "venv", "--quiet", "--python", sys.executable, folder],
        [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python, "bencheval"],
    )
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, env=clean_environ())
        if done.returncode:
            print(done.stderr, file=sys.stderr)
            return None, "bencheval could not be installed"
    return python, ""


def measure_tests(sizes: Sizes) -> Iterator[Measured]:
    """Run all tests between ranks at once, and scikit-posthocs' Wilcoxon with Holm alone."""
    import pandas as pd
    import scikit_posthocs

    from assay.analysis.ranks import rank_frameworks

    m, tasks = sizes.tests
    random = np.random.default_rng(0)
    scores = random.normal(size=(tasks, m)) + random.normal(scale=0.3, size=m)
    names = [f"framework{j:03d}" for j in range(m)]

    def ours(columns: int) -> Any:
        return rank_frameworks(scores[:, :columns], names[:columns], control=names[0])

    def theirs(columns: int) -> Any:
        frame = pd.DataFrame(scores[:, :columns], columns=names[:columns]).melt(
            var_name="who", value_name="score"
        )
        return scikit_posthocs.posthoc_wilcoxon(frame, val_col="score", group_col="who", p_adjust="holm")

    ours(3), theirs(3)  # what is loaded late is loaded now
    (used, found), (their_s, table) = cpu_of(lambda: ours(m)), cpu_of(lambda: theirs(m))
    other = table.loc[list(found.frameworks), list(found.frameworks)].to_numpy()
    off = float(np.abs(other - found.wilcoxon_p)[~np.eye(m, dtype=bool)].max())
    what = f"all tests but the Bayesian, {m} frameworks × {tasks} tasks"
    who = "scikit-posthocs, Wilcoxon with Holm alone:"
    yield Measured(what, 2.0, used, their_s, who, f"p-values differ by {off:.1g} at most")


def measure_bayes(sizes: Sizes) -> Iterator[Measured]:
    """Run the Bayesian signed-rank test of all pairs, and baycomp's of a few."""
    import baycomp

    from assay.analysis.bayes import signed_rank_pairs

    m, tasks = sizes.bayes
    random = np.random.default_rng(0)
    means = random.normal(scale=0.05, size=(tasks, m)) + random.normal(scale=0.01, size=m)
    names = [f"framework{j}" for j in range(m)]
    rope = 0.01

    def theirs(j: int, samples: int) -> Any:
        test = baycomp.SignedRankTest
        return test.probs(means[:, j], means[:, 0], rope, nsamples=samples, random_state=0)

    def ours(samples: int) -> Any:
        return signed_rank_pairs(means, names, rope, np.random.default_rng(0), samples)

    ours(10), theirs(1, 10)  # what is loaded late is loaded now
    used, found = cpu_of(lambda: ours(sizes.samples))
    few, other = cpu_of(lambda: [theirs(j, sizes.samples) for j in range(1, sizes.pairs + 1)])
    # baycomp's left is its first, and ours is the pair's first: the two are told in the opposite order.
    pairs = [(one.p_a, one.p_rope, one.p_b) for one in found[: sizes.pairs]]
    off = float(np.abs(np.array(pairs) - np.array(other)[:, ::-1]).max())
    count = len(found)
    what = f"Bayesian signed-rank test, {count} pairs × {tasks} tasks, {sizes.samples} samples"
    who = f"baycomp, {sizes.pairs} pairs scaled up to {count}:"
    yield Measured(
        what, 3.0, used, few * count / sizes.pairs, who, f"probabilities differ by {off:.1g} at most"
    )


def measure_report(folder: Path = PUBLISHED) -> Iterator[Measured]:
    """Write the report of AMLB's published results, from the file to the page."""
    from assay.api import analyse, make_report

    what, budget = "report of AMLB's 13,000 jobs, all analyses and figures", 5.0
    scores, properties = folder / "amlb_2021_1h.parquet", folder / "task_metadata_104.csv"
    if not scores.is_file():
        yield Measured(what, budget, None, note=f"the published results are not there: {scores.name}")
        return

    def write() -> str:
        return make_report(analyse(scores, properties))

    write()  # what is loaded late is loaded now
    used, page = cpu_of(write)
    yield Measured(what, budget, used, note=f"{len(page) / 1e6:.1f} MB")


def each(sizes: Sizes, bencheval: Path | None = None) -> Iterator[Measured]:
    """Measure one after the other."""
    yield from measure_trees()
    yield from measure_standings(sizes, bencheval)
    yield from measure_tests(sizes)
    yield from measure_bayes(sizes)
    yield from measure_report()


def measure() -> list[Figure]:
    """Return what was measured, for the common table; what was skipped is not in it."""
    return [one.figure for one in each(Sizes()) if one.ours_s is not None]


def main() -> int:
    """Print a line for each as it comes; exit 1 where a budget is not kept."""
    parser = argparse.ArgumentParser(prog="benchmarks.analysis", description=__doc__.split("\n")[0])
    parser.add_argument("--small", action="store_true", help="only try that everything works")
    parser.add_argument(
        "--bencheval", type=Path, help="the Python of an environment that has bencheval already"
    )
    said = parser.parse_args()
    print(HEADER)
    over = False
    for one in each(SMALL if said.small else Sizes(), said.bencheval):
        print(one.line(), flush=True)
        over |= one.ours_s is not None and one.ours_s > one.budget_s
    return int(over)


if __name__ == "__main__":
    sys.exit(main())

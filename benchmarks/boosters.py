"""Do the boosters choose a good number of rounds on small tables? `python -m benchmarks.boosters`.

Ten named data sets, five seeds each (another fold and another seed of the booster), three rules beside each other: the
one we ship, a held-out tenth of the rows that decides when to stop, and a fixed 100 rounds on all rows. Needs the
environments of the boosters (`assay framework install`) and the reference data.

Losses are compared in gaps: from no loss to that of the constant predictor, because near 0 a ratio says nothing.

Exit 1 if ours is worse than 100 rounds in the median, or anywhere by more than a tenth of that gap.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.data.task import Task
    from assay.frameworks.spec import FrameworkSpec
    from assay.settings import Settings

BOOSTERS = ("lightgbm", "xgboost", "catboost")
BUNDLED = ("iris", "wine")
SETS = {
    "kc2": "class", "boston": "MEDV", "ilpd": "Class", "balance-scale": "class",
    "blood-transfusion-service-center": "class", "diabetes": "class", "credit-g": "class", "Moneyball": "rs",
}  # fmt: skip
METRICS = {"binary": "logloss", "multiclass": "logloss", "regression": "rmse"}
RULES: Mapping[str, Mapping[str, Any]] = {
    "ours": {},
    "held-out tenth": {"_small": 0},
    "100 rounds": {"_fewest": 10**9, "_small": 10**9, "_plain": 100},
}
SEEDS = range(5)
CATASTROPHE = 0.1  # of the constant predictor's loss, above the loss of 100 rounds
CONSTRAINT = "2m1c"
HERE = Path(__file__).resolve().parent.parent / "assay" / "frameworks"
# Runs in the booster's environment: what the child does for one job, for all of them.
DRIVER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import child
adapter = child.prepare(Path(sys.argv[2]))
for line in Path(sys.argv[3]).read_text().splitlines():
    child.run(Path(line), adapter, lambda phase: None)
    print(line, flush=True)
"""


@dataclass(frozen=True)
class Loss:
    """What a booster lost on a set under a rule, with one seed; `constant` is the loss of the best single answer."""

    booster: str
    task: str
    rule: str
    seed: int
    value: float
    constant: float


def measure(boosters: Sequence[str], rules: Sequence[str], data: Path, folder: Path) -> list[Loss]:
    """Do all jobs, those of a booster one after the other in one process of its environment, without a sandbox."""
    from assay.frameworks.envs import environment_of
    from assay.frameworks.find import find_framework
    from assay.settings import Settings

    settings = Settings.from_environment()
    tasks = find_tasks(data, settings)
    out = []
    for booster in boosters:
        spec = find_framework(booster)
        trials = [trial for task in tasks for trial in lay_out(spec, task, rules, folder, settings)]
        listed = folder / f"{booster}.txt"
        listed.write_text("\n".join(str(trial.folder) for trial in trials))
        python = str(environment_of(spec, settings).python)
        subprocess.run([python, "-s", "-c", DRIVER, str(HERE), str(spec.adapter), str(listed)], check=True)
        out += [
            Loss(booster, trial.task.name, trial.rule, trial.seed, trial.loss(), trial.constant())
            for trial in trials
        ]
    return out


def find_tasks(data: Path, settings: Settings) -> list[Task]:
    """Return the ten tasks, each measured by its loss."""
    from assay import api

    tasks = [task for task in api.load_tasks(api.load_suite("bundled"), settings) if task.name in BUNDLED]
    for name, target in SETS.items():
        tasks += api.load_tasks(api.load_suite(str(data / f"{name}.parquet"), target), settings)
    return [replace(task, metrics=(METRICS[task.type],)) for task in tasks]


@dataclass(frozen=True)
class Trial:
    """One job's folder, and the truth that it does not hold."""

    folder: Path
    task: Task
    rule: str
    seed: int
    truth: Any

    def loss(self) -> float:
        """Return what the predictions lose."""
        from assay.frameworks.predictions import Asked, read_predictions
        from assay.metrics import score

        asked = Asked(self.task.type, self.task.classes, len(self.truth))
        found = read_predictions(self.folder / "out", asked)
        if found is None:
            raise SystemExit(f"No predictions: see {(self.folder / 'out' / 'report.json').read_text()}")
        if self.task.type == "regression":
            return score("rmse", self.truth, values=found.values)
        return score("logloss", self.truth, labels=found.values, probabilities=found.probabilities)

    def constant(self) -> float:
        """Return the least that one answer for all test rows can lose."""
        import numpy as np

        if self.task.type == "regression":
            return float(np.std(self.truth))
        share = np.bincount(self.truth) / len(self.truth)
        return float(-(share[share > 0] * np.log(share[share > 0])).sum())


def lay_out(
    spec: FrameworkSpec, task: Task, rules: Sequence[str], folder: Path, settings: Settings
) -> list[Trial]:
    """Write the folders of a task's jobs: five folds, each with a seed of its own, under each of the rules."""
    from assay.data.resolve import fold_data, load
    from assay.frameworks.fold_files import file_name, write_rows
    from assay.jobs.constraint import read_constraint
    from assay.jobs.folder import write_json
    from assay.jobs.plan import plan_jobs
    from assay.runs.place import Share
    from assay.runs.prepare import Resources, describe_job

    rows = load(task, settings)
    out = []
    for rule in rules:
        own = spec.with_params(RULES[rule])
        for job in plan_jobs([task], [own], read_constraint(CONSTRAINT, {}, "boosters"), SEEDS).jobs:
            place = folder / spec.name / task.name / rule.replace(" ", "_") / str(job.fold)
            (place / "out").mkdir(parents=True)
            said = describe_job(job, task, own, Resources(Share(cores=1, memory_mb=4000), "plain"))
            write_json(place / "job.json", {**said, "batch_sizes": []})
            fold = fold_data(rows, task, (job.repeat, job.fold))
            for part, table, y in (("train", fold.train, fold.y_train), ("test", fold.test, None)):
                with open(place / file_name(part, own.format), "wb") as file:
                    write_rows(file, own.format, task, table, y)
            out.append(Trial(place, task, rule, job.fold, fold.y_test))
    return out


def excess(losses: Sequence[Loss], booster: str, rule: str) -> list[float]:
    """Return by how much a rule loses more than 100 rounds, for each set and seed, in gaps."""
    plain = {
        (one.task, one.seed): one.value
        for one in losses
        if (one.booster, one.rule) == (booster, "100 rounds")
    }
    own = [one for one in losses if (one.booster, one.rule) == (booster, rule)]
    return [(one.value - plain[one.task, one.seed]) / one.constant for one in own]


def markdown(losses: Sequence[Loss]) -> str:
    """Return the tables of the docs: means over seeds, then how they compare with 100 rounds."""
    boosters, rules = (
        list(dict.fromkeys(getattr(one, name) for one in losses)) for name in ("booster", "rule")
    )
    heads = [f"{booster}, {rule}" for booster in boosters for rule in rules]
    out = [f"| set | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for task in dict.fromkeys(one.task for one in losses):
        cells = []
        for booster in boosters:
            for rule in rules:
                own = [o.value for o in losses if (o.task, o.booster, o.rule) == (task, booster, rule)]
                cells.append(f"{sum(own) / len(own):.3g}")
        out.append(f"| {task} | {' | '.join(cells)} |")
    out += ["", "| loss above that of 100 rounds, in gaps | median | largest |", "|---|---|---|"]
    for booster in boosters:
        for rule in rules[:-1]:
            found = excess(losses, booster, rule)
            out.append(f"| {booster}, {rule} | {median(found):+.3f} | {max(found):+.3f} |")
    return "\n".join(out)


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(prog="benchmarks.boosters", description=__doc__.split("\n")[0])
    parser.add_argument("--booster", action="append", choices=BOOSTERS)
    parser.add_argument("--quick", action="store_true", help="without the held-out tenth")
    parser.add_argument("--data", type=Path, default=Path("../shared/data/datasets"))
    said = parser.parse_args(words)
    with TemporaryDirectory(prefix="assay-boosters-") as folder:
        rules = ["ours", "100 rounds"] if said.quick else list(RULES)
        losses = measure(said.booster or BOOSTERS, rules, said.data, Path(folder))
    print(markdown(losses))
    ours = [excess(losses, booster, "ours") for booster in said.booster or BOOSTERS]
    return int(any(median(found) > 0 or max(found) > CATASTROPHE for found in ours))


if __name__ == "__main__":
    sys.exit(main())

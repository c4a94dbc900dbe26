"""The study of intervals: how often the bounds of each method hold, in simulated searches or on real data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

from assay.analysis.options import Option
from assay.analysis.record import AnalysisRecord, Medium, TextTable, as_json
from assay.errors import ConfigError
from assay.studies.interval_coverage import PRESETS, run_coverage
from assay.studies.real_coverage import RealSetting, run_real
from assay.studies.registry import StudyRun, StudySpec
from assay.studies.simulate import STRATEGIES, Strategy
from assay.uncertainty.coverage import Coverage, average_ranks

if TYPE_CHECKING:
    from assay.drawing import Drawing
    from assay.typing import Json, JsonObject

__all__ = ["STUDY", "IntervalOptions", "IntervalStudy"]

HEADS = ("method", ">inside", "95 %", ">tightness", ">bias", ">true score", ">CPU time", ">failed")
REAL = "real"


@dataclass(frozen=True)
class IntervalOptions:
    """What is simulated, or searched on, and how often."""

    preset: Annotated[
        str,
        Option(
            "paper (Table 2), beyond (further settings), guided (adaptive searches), times (Figure 3) or real.",
            is_argument=True,
        ),
    ] = "paper"
    repetitions: Annotated[int, Option("Number of searches per setting.", least=1)] = 200
    method: Annotated[tuple[str, ...], Option("Only these methods.", repeats=True, short="-m")] = ()
    only: Annotated[str, Option("Only settings whose name contains this text, such as N=50.")] = ""
    data: Annotated[
        tuple[str, ...], Option("For the study real: FILE:TARGET, a data file and its target.", repeats=True)
    ] = ()
    train: Annotated[
        int, Option("For the study real: rows to search on; the rest serve as ground truth.", least=10)
    ] = 50
    configurations: Annotated[int, Option("For the study real: number of configurations.", least=2)] = 60
    strategy: Annotated[
        Strategy,
        Option(
            "For the study real: static (from the 766), random, or guided (optuna).",
            choices=tuple(STRATEGIES),
        ),
    ] = "static"


@dataclass(frozen=True)
class IntervalStudy(AnalysisRecord):
    """What each method did in each setting."""

    coverages: tuple[Coverage, ...]
    repetitions: int
    preset: str
    notes: tuple[str, ...] = ()

    def rows(self) -> list[JsonObject]:
        """Return a mapping per setting and method."""
        return [asdict(coverage) for coverage in self.coverages]

    def to_json(self) -> Json:
        """Return a list of what each method did."""
        return as_json(list(self.coverages))

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return a table for each setting, and the average ranks."""
        settings = dict.fromkeys(coverage.setting for coverage in self.coverages)
        tables = [
            TextTable(
                HEADS,
                [_line(coverage) for coverage in self.coverages if coverage.setting == setting],
                setting,
            )
            for setting in settings
        ]
        ranks = sorted((rank, name) for name, rank in average_ranks(self.coverages).items())
        lines = [[name, f"{rank:.2f}"] for rank, name in ranks]
        return (*tables, *([TextTable(("method", ">rank"), lines, "Average ranks")] if ranks else []))

    def remarks(self) -> tuple[str, ...]:
        """Return what the columns mean."""
        return (
            f"Of {self.repetitions} searches: the share whose truth was inside; whether a promise of 95 % stands (by "
            "an exact binomial test); how far the bound lay from the truth; how much too good the estimate was; the "
            "true score of the configuration that the method chose.",
        )

    def drawings(self) -> tuple[Drawing, ...]:
        """Return the time of each method for the preset `times`, else its tightness."""
        from assay.report.coverage_figures import tightness_drawing, time_drawing

        return ((time_drawing if self.preset == "times" else tightness_drawing)(self.coverages),)


def run_intervals(options: IntervalOptions, run: StudyRun) -> IntervalStudy:
    """Run what is missing in the folder, and summarise all that was asked for."""
    if options.preset == REAL:
        if options.only:
            raise ConfigError(
                "`only` chooses among simulated settings; real data are named by `data`.",
                arguments=("only", "data"),
            )
        coverages = run_real(
            _real_settings(options), run.folder, options.repetitions, options.method, run.jobs, run.progress
        )
    elif options.preset in PRESETS:
        settings = [setting for setting in PRESETS[options.preset]() if options.only in setting.name]
        if not settings:
            raise ConfigError(f"No setting of {options.preset} has '{options.only}' in its name.")
        coverages = run_coverage(
            settings, run.folder, options.repetitions, options.method, run.jobs, run.progress
        )
    else:
        raise ConfigError(f"There is no preset '{options.preset}': choose {', '.join(PRESETS)} or {REAL}.")
    return IntervalStudy(tuple(coverages), options.repetitions, options.preset)


def _real_settings(options: IntervalOptions) -> list[RealSetting]:
    pairs = [word.rpartition(":") for word in options.data]
    if not pairs or not all(path and target for path, _, target in pairs):
        raise ConfigError(
            "Name the data: `data=FILE:TARGET`, as spambase.csv:class; it may be given several times.",
            arguments=("data",),
        )
    return [
        RealSetting(
            path, target, options.train, n_configurations=options.configurations, strategy=options.strategy
        )
        for path, _, target in pairs
    ]


def _line(coverage: Coverage) -> list[str]:
    holds = "stands" if coverage.holds else ""
    took = "–" if coverage.seconds != coverage.seconds else f"{1000 * coverage.seconds:.0f} ms"
    shown = (coverage.inclusion, coverage.tightness, coverage.bias, coverage.truth)
    inside, *others = ("–" if value != value else f"{value:.3f}" for value in shown)
    return [coverage.method, inside, holds, *others, took, str(coverage.failed)]


STUDY = StudySpec(
    name="intervals",
    help="Measure the coverage of each interval method, in simulated searches or on real data.",
    run=run_intervals,
    options=IntervalOptions,
    folder="interval-study",
    examples=(
        "intervals paper --repetitions 200 --jobs 2",
        "intervals beyond -m bbc -m bbc_f --only acc",
        "intervals real --data spambase.csv:class --train 50 --repetitions 30",
    ),
    about="On real data a few rows are searched on, and the many others serve as ground truth.",
)

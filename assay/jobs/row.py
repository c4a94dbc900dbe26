"""The results row of a job: one typed record. JSON, the index, the scores table and the docs follow from it. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, lru_cache
from typing import Annotated, Any, Literal, get_type_hints

from assay.vocabulary import Blindness, Role, Start, Status, TaskType, Tier

__all__ = ["SCHEMA", "Row", "RowColumn", "row_columns", "row_reader", "row_schema"]

SCHEMA = 3


@dataclass(frozen=True)
class RowColumn:
    """What a column of a results row holds, whether the scores table has it too, and in which schema it was added."""

    text: str
    in_scores: bool = False
    since: int = 1


@dataclass(frozen=True, kw_only=True)
class Row:
    """How a job ended: the record that every later stage reads.

    Seconds and MiB at full precision; None where a number is not known. Columns with a default were added after the
    first stores were written, so that rows of those stores can be read.
    """

    # Read by pydantic: 1 is not "1", and a number is finite. Columns of later versions are ignored.
    __pydantic_config__ = {"strict": True, "allow_inf_nan": False, "extra": "ignore"}  # noqa: RUF012

    schema: Annotated[int, RowColumn("the version of these columns")] = SCHEMA
    key: Annotated[str, RowColumn("the job's key", True)]
    attempt: Annotated[int, RowColumn("which attempt counts", True)]
    framework: Annotated[str, RowColumn("the framework", True)]
    version: Annotated[str, RowColumn("its version", True)]
    params: Annotated[dict[str, object], RowColumn("its parameters; JSON in the scores table", True)]
    meta_learning: Annotated[
        str, RowColumn("`marked` or `excluded` if it learned from public data beforehand", True)
    ] = ""
    role: Annotated[Role, RowColumn("`constant`, `baseline`, `framework` or `model`", True)]
    task: Annotated[str, RowColumn("the task", True)]
    task_id: Annotated[str, RowColumn("where the task comes from, as `openml/t/31`", True)]
    task_digest: Annotated[str, RowColumn("tells states of the same file apart", True)]
    type: Annotated[TaskType, RowColumn("`binary`, `multiclass` or `regression`", True)]
    repeat: Annotated[int, RowColumn("which repeat of the splits", True)]
    fold: Annotated[int, RowColumn("which fold", True)]
    constraint: Annotated[str, RowColumn("what the job was allowed, as the user wrote it", True)]
    budget_s: Annotated[float, RowColumn("the time that the framework was given", True)]
    cores: Annotated[int, RowColumn("the cores that it was given", True)]
    seed: Annotated[int, RowColumn("the seed that it was given", True)]
    run_seed: Annotated[int, RowColumn("the run's seed, from which the job's seed follows")] = 0
    status: Annotated[Status, RowColumn("how it ended", True)]
    message: Annotated[
        str, RowColumn("why it failed; in the scores table also why a metric has no value", True)
    ]
    notes: Annotated[
        tuple[str, ...], RowColumn("why a score is missing, or that another metric was optimised")
    ] = ()
    metric: Annotated[str, RowColumn("the metric that was to be optimised")]
    score: Annotated[float | None, RowColumn("its value")]
    scores: Annotated[dict[str, float | None], RowColumn("the values of all metrics, by name")]
    higher_is_better: Annotated[dict[str, bool], RowColumn("the direction of each metric, by name")]
    fit_s: Annotated[float | None, RowColumn("time of the fit phase", True)]
    predict_s: Annotated[float | None, RowColumn("time of the predict phase", True)]
    wall_s: Annotated[float, RowColumn("time of all phases", True)]
    phases: Annotated[dict[str, float], RowColumn("time of each phase, by name")] = field(
        default_factory=dict
    )
    cpu_s: Annotated[float, RowColumn("CPU time of the whole process tree", True)]
    peak_memory_mb: Annotated[float, RowColumn("the highest memory use that was seen", True)]
    memory_limit_mb: Annotated[float, RowColumn("the memory that it was allowed")] = 0
    oom_kills: Annotated[int, RowColumn("processes that were killed for using too much memory")] = 0
    disk_peak_mb: Annotated[float, RowColumn("what it wrote to disk")] = 0.0
    models_count: Annotated[int | None, RowColumn("models trained, by the framework's account", True)]
    has_oof: Annotated[bool, RowColumn("whether it left out-of-fold predictions of its models")] = False
    has_trace: Annotated[bool, RowColumn("whether it left a trace of what it tried over time")] = False
    inference_s: Annotated[dict[str, float], RowColumn("median seconds to predict a batch, by batch size")]
    constant_predictions: Annotated[bool, RowColumn("whether every test row got the same prediction", True)]
    enforcement: Annotated[
        Tier | Literal[""], RowColumn("the [tier](../trust.md#tiers); empty if nothing ran", True)
    ]
    blindness: Annotated[
        Blindness | Literal[""], RowColumn("how far blindness was enforced; empty if nothing ran", True)
    ]
    network: Annotated[
        bool, RowColumn("whether it could use the network: it asked for it, or nothing forbids it here")
    ] = False
    start: Annotated[
        Start | Literal[""], RowColumn("`cold`: in a fresh process; `warm`: forked from a nursery", True)
    ]
    cold_reason: Annotated[
        str, RowColumn("why it was not forked from a nursery; empty if it was", since=3)
    ] = ""
    contended: Annotated[bool, RowColumn("whether other work on the machine may have slowed it down", True)]
    neighbours: Annotated[int, RowColumn("jobs of the same run beside it")] = 0
    host: Annotated[str, RowColumn("the machine")] = ""
    started_at: Annotated[str, RowColumn("when it started (UTC)")]
    ended_at: Annotated[str, RowColumn("when it ended (UTC)")] = ""
    framework_digest: Annotated[str, RowColumn("of the adapter and its settings; it tells stale rows")]
    lock_digest: Annotated[str, RowColumn("of the packages in its environment")] = ""
    fold_digest: Annotated[str, RowColumn("of the training rows and test features")]
    predictions_digest: Annotated[str, RowColumn("of the predictions that were scored")]
    origin: Annotated[str, RowColumn("`assay`, or where the row came from", True)]

    def __post_init__(self) -> None:
        # One expression where nothing is wrong: this runs for every row that is read.
        if (
            self.schema <= SCHEMA
            and self.attempt >= 0
            and self.key.isalnum()
            and self.scores.keys() <= self.higher_is_better.keys()
            and _are_sizes(tuple(self.inference_s))
        ):
            return
        if self.schema > SCHEMA:
            raise ValueError(f"schema is {self.schema}: a later version of Assay wrote it")
        if self.attempt < 0 or not self.key.isalnum():  # they become names of folders
            raise ValueError(f"it names the attempt {self.attempt} of the job {self.key[:40]!r}")
        if not self.scores.keys() <= self.higher_is_better.keys():
            raise ValueError("higher_is_better lacks a metric of scores")
        raise ValueError("inference_s is not by numbers of rows")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values, one key per column."""
        return {**self.__dict__, "notes": list(self.notes)}

    @classmethod
    def from_json(cls, value: str | bytes | Mapping[str, Any]) -> Row:
        """Make a row from JSON, as text or as what `to_json` returned.

        Raises:
            ValueError: a column is missing, of another type, or contradicts another; the message names it.
        """
        from pydantic import ValidationError

        if isinstance(value, Mapping) and type(schema := value.get("schema")) is int and schema > SCHEMA:
            raise ValueError(f"schema is {schema}: a later version of Assay wrote it")
        text = value if isinstance(value, (str, bytes)) else json.dumps(value)
        try:
            return row_reader()(text)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            where = ".".join(str(part)[:40] for part in problem["loc"])
            raise ValueError(f"{where}: {problem['msg']}"[:300].removeprefix(": ")) from None


@lru_cache(maxsize=100)  # nearly all jobs time the same sizes
def _are_sizes(names: tuple[str, ...]) -> bool:
    """Return whether all names are whole numbers that can be a number of rows."""
    return all(name.isascii() and name.isdecimal() and len(name) < 10 for name in names)


@cache
def row_reader() -> Callable[[str | bytes], Row]:
    """Return a function that makes rows from JSON text, for many rows; its ValueError has pydantic's long message.

    Pydantic parses and checks in one pass, in a fifth of the time that Python code takes. It is imported late, because
    planning needs no rows.
    """
    from pydantic import TypeAdapter

    return TypeAdapter(Row).validator.validate_json


def row_columns() -> Iterator[tuple[str, RowColumn]]:
    """Yield the name of each column of a row, in order, with what it holds."""
    hints = get_type_hints(Row, include_extras=True)
    for column in fields(Row):
        yield column.name, hints[column.name].__metadata__[0]


def row_schema() -> dict[str, Any]:
    """Return the JSON Schema of a row."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(Row).json_schema()
    texts = dict(row_columns())
    properties = {
        name: {"description": texts[name].text, **{key: part for key, part in kind.items() if key != "title"}}
        for name, kind in schema["properties"].items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A results row of Assay",
        "type": "object",
        "properties": properties,
        "required": sorted(schema["required"]),
    }

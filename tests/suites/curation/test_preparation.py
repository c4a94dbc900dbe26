"""The tabular benchmark's preparation against the reference: rows, columns, and what each step removed."""

from __future__ import annotations

from collections.abc import Callable

from assay.data.table import Table
from assay.data.task import Task
from assay.data.transforms import tabular_benchmark, transform

from .test_facts import IGNORED

# What the authors decided by hand for each data set.
REMOVED = {"Diabetes130US": ["patient_nbr"], "MiamiHousing2016": ["PARCELNO"]}
BY_MEDIAN = ("california",)
COLUMNS = {
    "to_categorical_2values": ("binary_as_categories", "changed"),
    "drop_numeric_lt10": ("drop_few_values", "removed"),
    "drop_categorical": ("drop_categories", "removed"),
    "drop_high_cardinality": ("drop_many_categories", "removed"),
    "drop_missing_cols": ("drop_mostly_missing", "removed"),
}


def test_preparation_is_that_of_the_reference(
    reference: dict[str, dict[str, str]], read: Callable[..., tuple[Task, Table]]
) -> None:
    different, n = [], 0
    for name, values in reference.items():
        task, rows = read(name, ignore=IGNORED.get(name, ()))
        for benchmark, keeps_categories in (("tb_num", False), ("tb_cat", True)):
            steps = tabular_benchmark(
                task.type,
                keeps_categories=keeps_categories,
                remove=REMOVED.get(name, ()),
                logarithm=values[f"{benchmark}.target"] == "log",
                median=name in BY_MEDIAN,
            )
            done, records = transform(rows, task.target, steps)
            by_name = {record.name: record for record in records}
            features = [column for column in done.columns if column.role == "feature"]
            found = {
                "n": done.n_rows,
                "p": len(features),
                "n_cat": sum(c.kind != "numeric" for c in features),
            }
            found["drop_missing_rows"] = by_name["drop_incomplete_rows"].n_rows_removed
            found |= {
                fact: len(getattr(by_name[step], what))
                for fact, (step, what) in COLUMNS.items()
                if step in by_name
            }
            for fact, value in found.items():
                n += 1
                if float(values[f"{benchmark}.{fact}"]) != value:
                    different.append((name, benchmark, fact, values[f"{benchmark}.{fact}"], value))
    assert (n, different) == (80 * (9 + 8), [])

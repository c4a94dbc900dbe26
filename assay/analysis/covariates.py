"""Properties of tasks beside their scores: what a Bradley–Terry tree is grown from. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from assay.analysis.impute import FoldScores
from assay.analysis.partitioning import MAX_LEVELS, Comparisons
from assay.errors import UserError
from assay.typing import Floats, Frame, Series, Texts

__all__ = ["as_named", "join_properties", "properties_by_task"]

KEYS = ("task", "task_id")
NO_PROPERTIES = {"did", "name", "version", "uploader", "status", "format"}  # OpenML's, beside the qualities
KNOWN = 0.9  # of the tasks: what is known of fewer is no property to split by, unless it is asked for
# What OpenML calls our facts, by letters only. OpenML counts the target among the features.
FROM_FACTS: Mapping[str, Callable[[Mapping[str, float]], float]] = {
    "numberofinstances": lambda f: f["n_rows"],
    "numberoffeatures": lambda f: f["n_features"] + 1,
    "numberofclasses": lambda f: f["n_classes"],
    "numberofmissingvalues": lambda f: f["n_missing"],
    "numberofinstanceswithmissingvalues": lambda f: f["n_rows_with_missing"],
    "numberofnumericfeatures": lambda f: f["n_numeric"] + (not f["n_classes"]),
    "numberofsymbolicfeatures": lambda f: f["n_categorical"] + f["n_boolean"] + bool(f["n_classes"]),
    "majorityclasssize": lambda f: f["majority_share"] * f["n_rows"],
    "minorityclasssize": lambda f: f["minority_share"] * f["n_rows"],
    "maxnominalattdistinctvalues": lambda f: f["max_categories"],
    "imbalanceratio": lambda f: 1 / f["class_imbalance"],
}


def as_named(facts: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    """Return the facts of a task under the names that properties have, where these are known: ours or OpenML's."""
    out = {}
    for name in names:
        made = FROM_FACTS.get(re.sub(r"[^a-z]", "", name.lower()))
        try:
            out[name] = float(facts[name]) if name in facts or made is None else float(made(facts))
        except (KeyError, ZeroDivisionError):
            continue
    return out


def properties_by_task(scores: FoldScores, properties: Frame, columns: Sequence[str] = ()) -> Frame:
    """Return the properties of each task of the scores, in their order; NaN where they are not known.

    Args:
        scores: whose tasks are wanted.
        properties: a table with task, task_id and one column per property.
        columns: which of them; by default all that are known of nearly all these tasks and differ between them,
            categories with few levels only.
    """
    available = [name for name in properties.columns if name not in KEYS]
    unknown = [name for name in columns if name not in available]
    if unknown or not available:
        there = ", ".join(available) or 'none: give `covariates="FILE.csv"`'
        what = f"Unknown property {', '.join(unknown)}" if unknown else "No properties of tasks to split by"
        raise UserError(f"{what}. There are: {there}.", ["covariates"])
    by_id = {task_id: i for i, task_id in enumerate(properties["task_id"].astype(str)) if task_id}
    by_name = {name: i for i, name in enumerate(properties["task"].astype(str)) if name}
    at = [by_id.get(i, by_name.get(key[0], -1)) for i, key in zip(scores.task_ids, scores.keys, strict=True)]
    of_tasks = properties[available].reset_index(drop=True).reindex(at).replace([np.inf, -np.inf], np.nan)
    chosen = list(columns) or [name for name in available if _is_usable(name, of_tasks[name])]
    if not chosen:
        raise UserError(f"No property of the tasks differs between them. There are: {', '.join(available)}.")
    return of_tasks[chosen]


def join_properties(
    scores: FoldScores, properties: Frame, columns: Sequence[str] = (), as_read: bool = False
) -> tuple[Comparisons, tuple[str, ...]]:
    """Return the folds with the properties of their tasks; tasks that lack one are left out, and said.

    `as_read`: folds in the order in which the table has them, which matters to R where properties are equal.
    """
    values = properties_by_task(scores, properties, columns)
    bad = set(np.flatnonzero(values.isna().any(axis=1).to_numpy()).tolist())
    notes: tuple[str, ...] = ()
    if bad:
        names = ", ".join(scores.tasks[t] for t in sorted(bad)[:5]) + (" …" if len(bad) > 5 else "")
        notes = (
            f"Left out, because a property is missing: {len(bad)} of {len(scores.tasks)} tasks ({names}).",
        )
    kept = scores.without_tasks(bad)
    values = values[~values.isna().any(axis=1).to_numpy()]
    order = np.argsort(kept.first) if as_read else np.arange(len(kept.task))
    task = kept.task[order]
    covariates = {str(name): _as_array(values[name])[task] for name in values.columns}
    return Comparisons(kept.frameworks, kept.scores[order], np.array(kept.tasks)[task], covariates), notes


def _is_usable(name: str, column: Series) -> bool:
    if name in NO_PROPERTIES or column.notna().mean() < KNOWN:
        return False
    is_number = column.dtype.kind in "iufb"
    return bool(column.nunique() > 1 and (is_number or column.nunique() <= MAX_LEVELS))


def _as_array(column: Series) -> Floats | Texts:
    is_number = column.dtype.kind in "iufb"
    return column.to_numpy(dtype=float) if is_number else column.astype(str).to_numpy(dtype=str)

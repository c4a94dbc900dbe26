"""Which rows of a scores table to look at, and what to call their frameworks where one name stands for several."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from assay.errors import UserError
from assay.results.roles import BASELINES
from assay.results.scores import base_constraint, folded
from assay.typing import Frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Filter", "labelled"]

# Which rows of a table are meant.
Flags: TypeAlias = "pd.Series[bool]"
_TYPES = {"classification": ("binary", "multiclass")}


@dataclass(frozen=True)
class Filter:
    """Which rows of a scores table to look at; empty means all.

    `metric` empty means the one that was optimised, or, with `any_metric`, all of them.
    """

    types: tuple[str, ...] = ()
    constraint: str = ""
    metric: str = ""
    frameworks: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    any_metric: bool = False

    def apply(self, table: Frame) -> Frame:
        """Return the rows that are asked for, of all frameworks; raises UserError where nothing is left."""
        metrics = table["metric"].unique().tolist()
        if self.metric:
            table = table[table["metric"] == self.metric]
        elif not self.any_metric:
            table = table[table["optimised"].astype(bool)]
        table = _kept(table, not table.empty, "metric", self.metric, metrics)
        types = [task_type for name in self.types for task_type in _TYPES.get(name, (name,))]
        table = _chosen(table, "type", types, "types")
        table = _chosen(table, "task", _spelled(self.tasks, table), "tasks", "task_id")
        return self._of_constraint(table)

    def choose(self, table: Frame) -> Frame:
        """Return the rows of the frameworks that are asked for, by name or label; others may serve to impute with."""
        for argument, names in (("frameworks", self.frameworks), ("exclude", self.exclude)):
            unknown = [name for name in names if not _is_of(table, [name]).any()]
            if unknown:
                listed = ", ".join(sorted(table["framework"].unique())[:20])
                raise UserError(
                    f"No row is of the framework {', '.join(unknown)}, which `{argument}` names. There are: {listed}.",
                    [argument],
                )
        if self.frameworks:
            table = table[_is_of(table, self.frameworks)]
        left = table[~_is_of(table, self.exclude)]
        return _kept(left, not left.empty, "exclude", list(self.exclude))

    def _of_constraint(self, table: Frame) -> Frame:
        """Keep rows of one budget: baselines are matched by time, because their constraint may have another name."""
        if not self.constraint:
            return table
        named = table[table["constraint"] == self.constraint]
        if named.empty:  # under another type of volume it is the same constraint
            base = base_constraint(self.constraint)
            named = table[[base_constraint(name) == base for name in table["constraint"]]]
        if named.empty:
            listed = ", ".join(sorted(table["constraint"].unique())[:10])
            raise UserError(f"No row has the constraint '{self.constraint}'. There are: {listed}.")
        budgets = named["budget_s"].dropna().unique()
        others = table[table["role"].isin(BASELINES) & table["budget_s"].isin(budgets)]
        missing = ~others["framework"].isin(named["framework"].unique())
        import pandas as pd

        return pd.concat([named, others[missing]])


def _is_of(table: Frame, names: Sequence[str]) -> Flags:
    hit = table["framework"].isin(list(names))
    return hit | table["label"].isin(list(names)) if "label" in table else hit


def _chosen(table: Frame, column: str, values: Sequence[str], argument: str, also: str = "") -> Frame:
    if not values:
        return table
    hit = table[column].isin(list(values))
    if also:
        hit |= table[also].isin(list(values))
    return _kept(table[hit], bool(hit.any()), argument, list(values), table[column].unique().tolist())


def _spelled(tasks: Sequence[str], table: Frame) -> list[str]:
    """Return the names of tasks as the table spells them, where it has them in one other spelling only."""
    taken = {*table["task"].unique(), *table["task_id"].unique()}
    spellings: dict[str, list[str]] = {}
    for name in table["task"].unique():
        spellings.setdefault(folded(name), []).append(name)
    others = {name: spellings.get(folded(name), []) for name in tasks if name not in taken}
    return [others[name][0] if len(others.get(name, [])) == 1 else name for name in tasks]


def _kept(
    table: Frame, some: bool, argument: str, value: str | list[str], available: Sequence[str] = ()
) -> Frame:
    if not some:
        there = f" There are: {', '.join(sorted(available)[:20])}." if len(available) else ""
        named = f"`{argument}={value!r}`" if value else f"`{argument}`"
        raise UserError(f"No row is left by {named}.{there}", [argument])
    return table


def labelled(table: Frame) -> Frame:
    """Return the table with a column `label`: the framework, with version, params and constraint where they differ.

    The constant predictor is matched by budget: a differing name of its constraint alone is no difference.
    """
    keys = ["framework", "version", "params", "constraint"]
    variants = table[[*keys, "budget_s", "cores", "role"]].drop_duplicates()
    is_constant = variants["role"] == "constant"
    others, several_constants = variants[~is_constant], variants.loc[is_constant, "budget_s"].nunique() > 1
    same = ["framework", "version", "params"]
    several = (
        len(others[["budget_s", "cores"]].drop_duplicates()) > 1
        or others.groupby(same)["constraint"].nunique().gt(1).any()
    )
    versions = variants.groupby("framework")["version"].nunique()
    params = variants.groupby(["framework", "version"])["params"].nunique()
    labels = {}
    columns = (variants[name] for name in (*keys, "role"))
    for framework, version, params_text, constraint, role in zip(*columns, strict=True):
        label = framework
        if versions[framework] > 1:
            label += f":{version}"
        if params[framework, version] > 1:
            label += f" {_shown_params(params_text)}"
        if constraint and (several_constants if role == "constant" else several):
            label += f" @{constraint}"
        labels[framework, version, params_text, constraint] = label.rstrip()
    groups = table.groupby(keys, sort=False, dropna=False)
    names = [labels[key] for key in groups.size().index]
    return table.assign(label=np.array(names, dtype=object)[groups.ngroup().to_numpy()])


def _shown_params(text: str) -> str:
    """Return `a=1,b=2` for params as JSON, and other texts as they are."""
    try:
        params = json.loads(text)
    except ValueError:
        return text
    return ",".join(f"{key}={value}" for key, value in params.items()) if isinstance(params, dict) else text

"""Who is ahead: average ranks over tasks, with failures imputed and counted. Pure: rows in, records out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

__all__ = ["Cell", "Leaderboard", "Standing", "make_leaderboard", "trust"]

# Not the framework's result: such rows are neither imputed nor ranked, only counted.
NOT_ITS_OWN = ("setup", "data", "lost")


@dataclass(frozen=True)
class Cell:
    """One framework on one task: the mean of the metric over its folds, imputed ones included."""

    mean: float | None
    folds: int
    failed: int
    imputed: int


@dataclass(frozen=True)
class Standing:
    """One framework over all tasks; `rank` is the average rank, 1 is best, ties share.

    `fit_share` is the longest fit as a share of its budget, jobs that were stopped included. `meta_learning` is
    the framework's own word on it (see its toml); `excluded` ones have no rank unless they were asked for.
    """

    framework: str
    rank: float | None
    wins: int
    tasks: int
    ok: int
    failed: int
    imputed: int
    fit_s: float | None
    constant_predictions: int
    fit_share: float | None = None
    meta_learning: str = ""


@dataclass(frozen=True)
class Leaderboard:
    """Standings from best to worst, the cells behind them, and what to know before believing them."""

    standings: tuple[Standing, ...]
    cells: Mapping[tuple[str, str], Cell]
    metrics: Mapping[str, str]
    higher_is_better: Mapping[str, bool]
    trust: str
    warnings: tuple[str, ...]


def make_leaderboard(rows: Sequence[Mapping[str, Any]], include_marked: bool = False) -> Leaderboard:
    """Rank the frameworks of results rows by the first metric of each task.

    A failed fold counts as the constant predictor's result on that fold, as in the AMLB paper; where the constant
    predictor was not run, as the worst result of that fold. A framework is ranked on the tasks it has results
    (or imputed ones) for; average ranks compare fairly only when all have all tasks, else a warning says so.
    Frameworks that cannot be evaluated cleanly, because what they learned beforehand may hold the very tasks, are
    shown without a rank, and do not push others down, unless `include_marked`.
    """
    names, tasks = _names(rows), _tasks(rows)
    by_task: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        by_task[tasks[row["task_digest"]]].append(row)
    cells: dict[tuple[str, str], Cell] = {}
    metrics: dict[str, str] = {}
    better: dict[str, bool] = {}
    for task, own in by_task.items():
        # A task that could not be read does not know its own type, hence not its metric.
        first = next((row for row in own if row["status"] not in NOT_ITS_OWN), own[0])
        metrics[task] = first["metric"]
        better[task] = bool(first["higher_is_better"][metrics[task]])
        for name, cell in _cells(own, names, better[task]).items():
            cells[task, name] = cell
    unranked = {
        names[_identity(row)] for row in rows if row.get("meta_learning") == "excluded" and not include_marked
    }
    ranks = _ranks({key: cell for key, cell in cells.items() if key[1] not in unranked}, better)
    standings = [_standing(name, rows, names, cells, ranks) for name in sorted(set(names.values()))]
    standings.sort(key=lambda s: (s.rank is None, s.rank or 0.0, s.framework))
    return Leaderboard(
        tuple(standings), cells, metrics, better, trust(rows), _warnings(rows, standings, cells)
    )


def _tasks(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return a display name per task digest: one name may stand for several metrics, splits or states of a file.

    Tasks with nothing but `data`, `setup` and `lost` rows have no results that could be mixed up.
    """
    named: dict[str, dict[str, str]] = defaultdict(dict)
    out = {}
    for row in rows:
        out[row["task_digest"]] = row["task"]
        if row["status"] not in NOT_ITS_OWN:
            named[row["task"]][row["task_digest"]] = row["metric"]
    for name, metrics in named.items():
        for digest, metric in metrics.items() if len(metrics) > 1 else ():
            twins = list(metrics.values()).count(metric) > 1
            out[digest] = f"{name}/{metric}" + (f"/{digest[:6]}" if twins else "")
    return out


def _names(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str, str], str]:
    """Return a display name per framework, version, parameters and constraint, as short as is unambiguous."""
    found: dict[tuple[str, str, str, str], None] = {}
    for row in rows:
        found[_identity(row)] = None
    names = {}
    for identity in found:
        name, version, params, constraint = identity
        same = [other for other in found if other[0] == name]
        label = name
        if len({other[1] for other in same}) > 1:
            label += f":{version}"
        if len({other[2] for other in same if other[1] == version}) > 1:
            label += f" {params}"
        if len({other[3] for other in found}) > 1:
            label += f" @{constraint}"
        names[identity] = label
    return names


def _identity(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    params = ",".join(f"{key}={value}" for key, value in sorted(row["params"].items()))
    return row["framework"], row["version"], params, row["constraint"]


def _cells(
    rows: Sequence[Mapping[str, Any]], names: Mapping[tuple[str, str, str, str], str], higher_is_better: bool
) -> dict[str, Cell]:
    # Another run seed is another look at the same fold.
    folds: dict[tuple[int, int, int], dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for row in rows:
        folds[row["repeat"], row["fold"], row["run_seed"]][names[_identity(row)]] = row
    gathered: dict[str, list[tuple[float | None, bool]]] = defaultdict(list)
    for own in folds.values():
        fill = _fill(own.values(), higher_is_better)
        for name, row in own.items():
            if row["status"] not in NOT_ITS_OWN:
                failed = row["status"] != "ok"
                gathered[name].append((fill if failed else row["score"], failed))
    out = {}
    for name, entries in gathered.items():
        values = [value for value, _ in entries if value is not None]
        out[name] = Cell(
            mean=sum(values) / len(values) if values else None,
            folds=len(entries),
            failed=sum(failed for _, failed in entries),
            imputed=sum(failed and value is not None for value, failed in entries),
        )
    return out


def _fill(rows: Iterable[Mapping[str, Any]], higher_is_better: bool) -> float | None:
    """Return what a failed fold counts as: the constant predictor, else the worst result there is."""
    found = [row for row in rows if row["status"] == "ok" and row["score"] is not None]
    constant = [row["score"] for row in found if row["role"] == "constant"]
    if constant:
        return float(constant[0])
    scores = [row["score"] for row in found]
    return (min(scores) if higher_is_better else max(scores)) if scores else None


def _ranks(cells: Mapping[tuple[str, str], Cell], better: Mapping[str, bool]) -> dict[tuple[str, str], float]:
    ranks = {}
    for task, higher in better.items():
        scored = [
            (name, cell.mean) for (own, name), cell in cells.items() if own == task and cell.mean is not None
        ]
        for name, mean in scored:
            ahead = sum((other > mean) if higher else (other < mean) for _, other in scored)
            level = sum(other == mean for _, other in scored)
            ranks[task, name] = ahead + (level + 1) / 2
    return ranks


def _standing(
    name: str,
    rows: Sequence[Mapping[str, Any]],
    names: Mapping[tuple[str, str, str, str], str],
    cells: Mapping[tuple[str, str], Cell],
    ranks: Mapping[tuple[str, str], float],
) -> Standing:
    own = [row for row in rows if names[_identity(row)] == name]
    mine = [rank for (_, other), rank in ranks.items() if other == name]
    times = [row["fit_s"] for row in own if row["status"] == "ok" and row["fit_s"] is not None]
    shares = [row["fit_s"] / row["budget_s"] for row in own if row["fit_s"] is not None and row["budget_s"]]
    return Standing(
        framework=name,
        rank=sum(mine) / len(mine) if mine else None,
        wins=sum(rank == 1.0 for rank in mine),
        tasks=len(mine),
        ok=sum(row["status"] == "ok" for row in own),
        failed=sum(row["status"] != "ok" for row in own),
        imputed=sum(cell.imputed for (_, other), cell in cells.items() if other == name),
        fit_s=median(times) if times else None,
        constant_predictions=sum(
            bool(row["constant_predictions"]) and row["role"] != "constant" for row in own
        ),
        fit_share=max(shares, default=None),
        meta_learning=str(own[0].get("meta_learning", "")),
    )


def trust(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the line that says under which conditions the rows were made."""
    if not rows:
        return "no rows"
    tiers = _counted(rows, "enforcement")
    blind = _counted([row for row in rows if row["blindness"]], "blindness")
    contended = sum(bool(row["contended"]) for row in rows)
    starts = _counted([row for row in rows if row["start"]], "start")
    busy = f"contended {contended} of {len(rows)}"
    return f"tier {tiers or '–'} · blindness {blind or '–'} · {busy} · start {starts or '–'}"


def _counted(rows: Sequence[Mapping[str, Any]], key: str) -> str:
    counts: dict[str, int] = defaultdict(int)
    for row in rows:
        counts[str(row[key])] += 1
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))


def _warnings(
    rows: Sequence[Mapping[str, Any]],
    standings: Sequence[Standing],
    cells: Mapping[tuple[str, str], Cell],
) -> tuple[str, ...]:
    out = []
    folds: dict[str, set[int]] = defaultdict(set)
    for (task, _), cell in cells.items():
        folds[task].add(cell.folds)
    uneven = [task for task, counts in folds.items() if len(counts) > 1]
    if uneven:
        out.append(
            f"Not all frameworks have the same folds of {', '.join(sorted(uneven)[:5])}: means differ in them."
        )
    if len({row["enforcement"] for row in rows}) > 1:
        out.append("Rows of different tiers are mixed: their limits were not enforced alike.")
    on = [
        {task for (task, name), cell in cells.items() if name == standing.framework and cell.mean is not None}
        for standing in standings
        if standing.rank is not None or standing.meta_learning != "excluded"
    ]
    if any(tasks != on[0] for tasks in on):
        out.append("Not all frameworks have results on the same tasks: average ranks are not comparable.")
    for standing in standings:
        if standing.meta_learning:
            out.append(_meta_learned(standing))
        if standing.constant_predictions:
            out.append(
                f"{standing.framework} gave constant predictions in {standing.constant_predictions} job(s)."
            )
    over = [s for s in standings if s.fit_share is not None and s.fit_share > 1.005]
    if over:
        said = ", ".join(f"{standing.framework} {standing.fit_share:.0%}" for standing in over)
        out.append(f"Longer than its budget took, at most: {said}.")
    if any(standing.imputed for standing in standings) and not any(row["role"] == "constant" for row in rows):
        out.append("Failed folds count as the worst result of the fold: the constant predictor was not run.")
    return tuple(out)


def _meta_learned(standing: Standing) -> str:
    said = f"{standing.framework} was meta-trained on public data sets, perhaps on these"
    if standing.meta_learning != "excluded":
        return f"{said}: read its results with care."
    ranked = "it is ranked because that was asked for" if standing.rank is not None else "it is not ranked"
    return f"{said}, and none can be kept out of it: {ranked}."

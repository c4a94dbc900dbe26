"""Compare forests on categories in their declared order with forests on the same categories sorted.

`python -m benchmarks.category_order` needs the reference data in ../shared. The sets are those whose files declare an
order of some feature's labels that is not the sorted one. Both forests see the same folds and seeds; codes are the
positions of the labels. Printed is the mean loss of each and the mean difference with its standard error over folds.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold

from assay.data.formats import read_table_file
from assay.data.infer import infer_table
from assay.data.raw import TypedColumn, with_sorted_labels
from assay.data.table import Table, missing_mask

SHARED = Path(__file__).resolve().parents[2] / "shared"
TREES, FOLDS, MOST_ROWS = 200, 10, 6000


def main() -> int:
    """Print the table of the docs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, default=SHARED)
    folder = parser.parse_args().shared / "data" / "datasets"
    print("| data set | columns | loss | declared order | sorted | difference (standard error) |")
    print("|---|---|---|---|---|---|")
    for path in sorted(folder.glob("*.parquet")):
        about = yaml.safe_load(path.with_suffix(".yaml").read_text(encoding="utf-8"))
        raw = read_table_file(path, path.name)
        names = raw.sorted_before - {about["target"]}
        if names:
            table = infer_table(raw, {}, about["target"])
            print(line(path.stem, table, about["target"], names), flush=True)
    return 0


def line(name: str, table: Table, target: str, names: frozenset[str]) -> str:
    """Return one row of the table."""
    is_number = table.column(target).kind == "numeric"
    rows = np.random.default_rng(0).permutation(table.n_rows)[:MOST_ROWS]
    y = table.arrays[target][rows]
    losses = np.array(
        [losses_of(matrix(table, target, kept)[rows], y, is_number) for kept in (frozenset(), names)]
    )
    difference = losses[0] - losses[1]
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return (
        f"| {name} | {len(names)} of {len(table.columns) - 1} | {'rmse' if is_number else 'logloss'} | "
        f"{losses[0].mean():.4g} | {losses[1].mean():.4g} | {difference.mean():+.4f} ({error:.4f}) |"
    )


def matrix(table: Table, target: str, sort: frozenset[str]) -> Any:
    """Return the features as numbers, with the labels of some columns sorted first."""
    out = []
    for column in table.columns:
        if column.name == target:
            continue
        part = TypedColumn(column, table.arrays[column.name])
        values = with_sorted_labels(part).values if column.name in sort else part.values
        if column.kind == "text":
            continue
        out.append(np.where(missing_mask(column, part.values), np.nan, values.astype(float)))
    return np.stack(out, axis=1)


def losses_of(x: Any, y: Any, is_number: bool) -> list[float]:
    """Return the loss of a forest on each fold."""
    splitter = KFold if is_number else StratifiedKFold
    losses = []
    for fold, (train, test) in enumerate(splitter(FOLDS, shuffle=True, random_state=0).split(x, y)):
        kind = RandomForestRegressor if is_number else RandomForestClassifier
        forest = kind(TREES, random_state=fold, n_jobs=1).fit(x[train], y[train])
        if is_number:
            losses.append(float(root_mean_squared_error(y[test], forest.predict(x[test]))))
        else:
            losses.append(float(log_loss(y[test], forest.predict_proba(x[test]), labels=forest.classes_)))
    return losses


if __name__ == "__main__":
    sys.exit(main())

"""Write the reference pages that follow from the code.

`python docs/generate.py` writes all, `python docs/generate.py metrics` one; with `--check` nothing is written
and the exit code is 1 when a page is out of date. A new reference is a function that returns {path: text},
with paths below `docs/`, and an entry in `GENERATORS`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isinf
from pathlib import Path

DOCS = Path(__file__).resolve().parent
# The pages describe the checkout they stand in, not a version that may be installed.
sys.path.insert(0, str(DOCS.parent))

METRICS = """\
# Metrics

{note}

A metric turns the truth and the prediction for a fold's test rows into one number. Scores keep their own
sign; `direction` says what is better. Names are used as they stand here, in suites, on the command line
and in results.

{table}

**Needs** says what is looked at: the predicted *labels*, the *probabilities* (float64, one column per class
of the task, also for classes that a fold's truth lacks) or the predicted *values*. **Kind** says how the
metric reacts to resampling: *additive* ones are means over rows (or the root of one), *ratio* ones functions
of a few such sums, *rank* ones follow from the order of the predictions, *generic* ones are computed anew.

In binary tasks the last class is the positive one. Where a metric has no value, as `auc` for rows of one
class or `r2` for a constant target, the score is missing and its row says why; it is never a made-up number.

## Quantiles

`pinball` takes the predicted values as the median. `pinball_0.9` takes them as the 0.9 quantile; any level
between 0 and 1 may stand there, without trailing zeros.

## Defaults

{defaults}

The first is the one that frameworks are asked to optimise.

## Your own

A function in a file is a metric when it says which direction is better; name it `path/to/file.py:function`:

```python
def cost(truth, prediction):
    \"\"\"Price of the mistakes.\"\"\"
    return 5.0 * (truth > prediction).mean()


cost.higher_is_better = False
```

It gets numpy arrays: class codes 0, 1, … in the order of the task's classes, or values. Optional attributes
are `needs` ("labels", which is the default, "probabilities" or "values"), `types` (default: those that
`needs` allows), `low` and `high`. Packages offer metrics through the entry-point group `assay.metrics`.

## Where we differ

Values are those of scikit-learn and of AMLB (the AutoML Benchmark), except:

- `auc_ovo` and `auc_ovr` of a binary task are its `auc`; AMLB has no value there.
- `mean_pce` and `max_pce` leave out classes that a fold's truth lacks; in AMLB these make them undefined.
- `r2` of a constant target, `pr_auc` without positives and `f1`, `f2`, `f05` of a binary fold with no
  positive in truth or prediction are undefined; scikit-learn returns 0 or 1.
- `logloss` divides each row by its sum before it clips; scikit-learn did that up to version 1.4 and only
  warns since.
- AMLB's results show metrics where lower is better as `neg_…`, with the sign turned; here the names have no
  prefix and values keep their sign. Imports and exports of its tables translate.
"""


def metrics() -> dict[str, str]:
    """Return the page of all built-in metrics."""
    from assay.metrics import BUILTIN, default_metrics

    rows = [
        (
            f"`{metric.name}`",
            "higher" if metric.higher_is_better else "lower",
            f"{_bound(metric.low)} to {_bound(metric.high)}",
            metric.needs,
            ", ".join(metric.types),
            metric.kind,
            metric.description,
        )
        for metric in BUILTIN.values()
    ]
    head = ("name", "direction", "range", "needs", "types", "kind", "description")
    types = ("binary", "multiclass", "regression")
    defaults = [(kind, ", ".join(f"`{name}`" for name in default_metrics(kind))) for kind in types]
    text = METRICS.format(
        note=_note("metrics"), table=_table(head, rows), defaults=_table(("type", "metrics"), defaults)
    )
    return {"reference/metrics.md": text}


GENERATORS: Mapping[str, Callable[[], dict[str, str]]] = {"metrics": metrics}


def outdated(pages: Mapping[str, str], docs: Path = DOCS) -> list[str]:
    """Return the paths whose file is missing or differs from its page."""
    return [
        path
        for path, text in pages.items()
        if not (docs / path).is_file() or (docs / path).read_text(encoding="utf-8") != text
    ]


def main(arguments: Sequence[str] | None = None, docs: Path = DOCS) -> int:
    """Write the pages asked for, or check them; return the exit code."""
    parser = argparse.ArgumentParser(description="Write the reference pages that follow from the code.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"one of {', '.join(GENERATORS)}; all if none"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page is out of date")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(GENERATORS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(GENERATORS)}")
    pages: dict[str, str] = {}
    for name in options.names or GENERATORS:
        pages |= GENERATORS[name]()
    old = outdated(pages, docs)
    for path in old:
        if not options.check:
            (docs / path).parent.mkdir(parents=True, exist_ok=True)
            (docs / path).write_text(pages[path], encoding="utf-8")
        print(f"{'out of date' if options.check else 'written'}: {path}")
    return 1 if options.check and old else 0


def _note(name: str) -> str:
    return f"<!-- Made by `python docs/generate.py {name}`; edit the code, not this page. -->"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _bound(value: float) -> str:
    return ("-∞" if value < 0 else "∞") if isinf(value) else f"{value:g}"


if __name__ == "__main__":
    sys.exit(main())

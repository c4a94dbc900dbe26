"""Write the reference pages that follow from the code.

`python docs/generate.py` writes all, `python docs/generate.py metrics` one; with `--check` nothing is written
and the exit code is 1 when a page is out of date. A new reference is a function that returns {path: text},
with paths below `docs/`, and an entry in `GENERATORS`.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isinf
from pathlib import Path
from typing import Any, get_args, get_type_hints

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
- `auc` of more than two classes is Hand and Till's plain mean over pairs of classes (scikit-learn's `roc_auc_ovo`), in
  `run`, `score`, `search` and `interval` alike; AMLB has no value there. `auc_ovo` weights the pairs by their rows.
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


CLI = """\
# Commands

{note}

The same text is behind `--help` (or `-h`) of each command. `assay --version` shows the version;
`assay --install-completion` teaches your shell to complete commands.

Exit codes: 0 all done, 1 some jobs failed (or a check did), 2 wrong usage or input, 3 a defect of Assay,
130 interrupted.

{index}

{commands}
"""

COMMAND = """\
## {name}

{text}

```
{usage}
```

{options}

{example}:

```
{examples}
```"""


def cli() -> dict[str, str]:
    """Return the page of all commands, from what the command line itself knows."""
    found = list(commands())
    sections = [_command(name, one) for name, one in found]
    links = [f"- [`{name}`](#{name.replace(' ', '-')}): {_summary(one)}" for name, one in found]
    text = CLI.format(note=_note("cli"), index="\n".join(links), commands="\n\n".join(sections))
    return {"reference/cli.md": text}


def commands() -> Iterator[tuple[str, Callable[..., None]]]:
    """Yield ("assay run", function) for every command; functions, because what typer makes of them changes."""
    from assay.cli import app

    def inside(name: str, group: Any) -> Iterator[tuple[str, Callable[..., None]]]:
        for one in group.registered_commands:
            yield f"{name} {one.name}", one.callback
        for one in group.registered_groups:
            yield from inside(f"{name} {one.name}", one.typer_instance)
        # The commands of analyses are made when they are asked for.
        lazy = getattr(group.info.cls, "callbacks", dict)
        yield from ((f"{name} {command}", function) for command, function in lazy().items())

    return inside("assay", app)


def _command(name: str, function: Callable[..., None]) -> str:
    text, _, examples = (inspect.getdoc(function) or "").partition("\b")
    title, _, lines = examples.strip().partition("\n")
    found = list(_parameters(function))
    arguments = [word for word, is_argument, _, _ in found if is_argument]
    rows = [(f"`{word.strip('[]')}`", what, default) for word, _, what, default in found]
    return COMMAND.format(
        name=name,
        text=text.strip(),
        usage=" ".join([name, *arguments, "[OPTIONS]"]),
        options=_table(("argument or option", "is", "default"), rows),
        example=title.strip().rstrip(":") or "Example",
        examples=inspect.cleandoc("\n" + lines),
    )


def _summary(function: Callable[..., None]) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0].partition(". ")[0].rstrip(".")


def _parameters(function: Callable[..., None]) -> Iterator[tuple[str, bool, str, str]]:
    """Yield (as it is written, whether it is an argument, its help, its default), arguments first."""
    hints = get_type_hints(function, include_extras=True)
    rows = [_parameter(one, hints[one.name]) for one in inspect.signature(function).parameters.values()]
    return iter(sorted(rows, key=lambda row: not row[1]))


def _parameter(parameter: inspect.Parameter, hint: Any) -> tuple[str, bool, str, str]:
    kind, info = get_args(hint)
    what = (info.help or "").rstrip(".")
    is_many = "list[" in str(kind)
    if type(info).__name__ == "ArgumentInfo":
        word = parameter.name.upper() + (" …" if is_many else "")
        return (word if parameter.default is parameter.empty else f"[{word}]"), True, what, ""
    is_switch = "bool" in str(kind)
    # The first spelling stands where a default would, because defaults are the function's own.
    said = [word for word in (info.default, *info.param_decls) if isinstance(word, str)]
    names = said or [f"--{parameter.name.replace('_', '-')}"]
    value = "" if is_switch else f" {info.metavar or _value(str(kind))}"
    what += ". May be given several times" if is_many else ""
    default = parameter.default
    shown = "" if is_switch or default in (None, parameter.empty) else f"`{default}`"
    return ", ".join(names) + value, False, what, shown


def _value(kind: str) -> str:
    return "N" if "int" in kind else "X" if "float" in kind else "FILE" if "Path" in kind else "TEXT"


FRAMEWORKS = """\
# Frameworks

{note}

Name them as they stand here; AMLB's spellings (`RandomForest`, `constantpredictor`) are understood.
[Add your own](../howto/add-a-framework.md). Some that are known elsewhere are
[not included](../howto/frameworks-not-included.md).

## On Assay's own interpreter

Nothing is to be installed.

{assay}

## In environments of their own

`assay run` installs them when they are first used, `assay framework install NAME` beforehand; each is built from its
lock, outside the source tree. `name:version` takes another lock, `name:latest` the newest. The sets
{sets} name one version of each of the paper's frameworks.

{own}

**†** learned from public data sets beforehand; leaderboards mark it, or (**††**) do not rank it, because no data set
can be kept out of what it learned ([why](../howto/add-a-framework.md#frameworks-that-learned-beforehand)).

## Programs on the machine

They are not installed by Assay; jobs end as `setup` where they are missing, and say what to install.

{none}

## What they need, and what the check says

Measured by `make test-frameworks` from an empty cache, downloads included; sizes are those on disk. The five columns
are the tasks of [`assay framework check`](../howto/add-a-framework.md#check-it), with the budget
beside: the seconds `fit` took, or how it failed. What was not run is not said to work.

{checks}

{notes}

**Version** is part of every job's key: a number of Assay's, or that of the package the framework is thin over.
**Role** `constant` is what failed folds count as. **Stops by** `count` promises the same predictions for the same
seed; what stops by `time` depends on the machine. **Start** `warm` means that jobs are forked from a process that has
imported the framework, in the strict tier and if Assay runs as root
([warm and cold starts](../trust.md#warm-and-cold-starts)). The others start cold:

{cold}

## Out-of-fold predictions

[`assay leaderboard --intervals`](../howto/winner.md#other-ways-to-the-same-question) says how good the best of a
framework's own models is on new rows. It needs what each model predicted for the training rows it had not seen. An
adapter hands over what the framework has of them; it never trains again for that. The last column is where the
source code of this version shows it. A job of a framework that can leave predictions but did not says why in its notes.

{oof}

The baselines and single models, such as `linear` or `xgboost`, fit one configuration: there is no winner to correct.

## Parameters

Set with `--set framework.key=value`. Names that begin with `_` steer the adapter; all others go to the library,
also those that are not listed.

{params}

## An estimator of your own

`file.py:Name` is a framework too, of role `model`: any class that follows scikit-learn, or a function that returns
one. Its name is `Name`, its version the digest of the file, its parameters what `Name` takes.
"""


def frameworks() -> dict[str, str]:
    """Return the page of all built-in frameworks."""
    from assay.frameworks import find
    from assay.frameworks.locks import set_names

    rows: dict[str, list[tuple[str, ...]]] = {"assay": [], "own": [], "none": []}
    params, cold = [], []
    for name in find.builtin_names():
        said = _toml(find.HERE / name)
        found = find.find_framework(name)
        own = said if not found.extends else {**_toml(find.HERE / found.extends), **said}
        version = f"that of {own['version_of']}" if "version_of" in own else own.get("version", "0")
        what = said.get("description", "")
        mark = {"marked": " †", "excluded": " ††"}.get(found.meta_learning, "")
        start = "cold" if found.cold or found.command else "warm"
        row = (f"`{name}`{mark}", version, found.role, found.stops_by, start, ", ".join(found.types), what)
        reason = found.cold or ("it is a program of its own, not a Python adapter" if found.command else "")
        cold += [(f"`{name}`", reason)] if reason else []
        rows[found.environment].append(row)
        for key, value in found.params.items():
            params.append((f"`{name}`", f"`{key}`", f"`{value}`"))
    head = ("name", "version", "role", "stops by", "start", "types", "description")
    text = FRAMEWORKS.format(
        note=_note("frameworks"),
        **{environment: _table(head, found) for environment, found in rows.items()},
        sets=", ".join(f"`{name}`" for name in set_names()),
        **_checks(),
        oof=_oof(),
        cold=_table(("framework", "why"), cold),
        params=_table(("framework", "parameter", "default"), params),
    )
    return {"reference/frameworks.md": text}


def _checks() -> dict[str, str]:
    """Return the tables of what `make test-frameworks` measured, and of what did not hold."""
    measured = json.loads((DOCS / "data" / "frameworks.json").read_text(encoding="utf-8"))
    tasks = ("single", "gaps", "names", "codes", "wide")
    rows, notes = [], []
    for name, one in measured.items():
        said = one.get("tasks", {})
        cells = [_cell(said[task]) if task in said else "–" for task in tasks]
        size = f"{one['size_mb']} MB" if "size_mb" in one else "–"
        install = f"{one['install_s']:.0f} s" if "install_s" in one else "–"
        licence = one.get("licence") or "–"
        budget = one.get("constraint", "–")
        rows.append(
            (f"`{name}`", one["version"], one["python"] or "–", licence, size, install, budget, *cells)
        )
        for claim in one.get("claims", []):
            notes.append((f"`{name}`", claim["claim"], claim["problem"].split("\n")[0][:200]))
        if "problem" in one:
            notes.append((f"`{name}`", "it starts here", one["problem"].split("\n")[0][:200]))
    head = ("name", "version", "Python", "licence", "size", "install", "budget", *tasks)
    return {
        "checks": _table(head, rows),
        "notes": "What did not hold:\n\n" + _table(("name", "claim", "what was seen"), notes) + LOOKED_INTO
        if notes
        else "",
    }


def _oof() -> str:
    """Return the table of who leaves out-of-fold predictions, and why others do not, as their source code says."""
    from assay.frameworks.find import find_framework

    looked_at = json.loads((DOCS / "data" / "oof.json").read_text(encoding="utf-8"))
    rows = []
    for name, entry in looked_at.items():
        reason = f"if {entry['unless']}" if entry["unless"] else find_framework(name).no_oof
        places = ", ".join(f"`{place}`" for place in entry["source"].split(", ") if place)
        rows.append(
            (f"`{name}`", entry["version"] or "–", entry["leaves"] or "–", reason or "–", places or "–")
        )
    return _table(("name", "version", "leaves predictions of", "leaves none", "seen in"), rows)


LOOKED_INTO = """
Those that break a claim that must hold were looked into; what was found is the frameworks' own:

- EvalML, SapientML and TPOT 0.12 do not take a class of two rows (`codes`); a script that SapientML wrote does not
  expect values that are missing in test only (`gaps`).
- LightAutoML's LightGBM and CatBoost make nothing of text categories where there are more than three classes; its
  linear models do, so the whole of it learns (`names`). Its own interface alone shows the same.
- FLAML's trials of CatBoost run on when the time is up while their loss still falls, as it does on tables that can be
  learned nearly perfectly: with small budgets that takes it past twice its time.
"""


def _cell(task: Mapping[str, Any]) -> str:
    if task["status"] == "ok":
        return f"{task['fit_s']:.0f} s"
    return "n/a" if task["status"] == "not applicable" else str(task["status"])


def _toml(folder: Path) -> dict[str, Any]:
    import tomllib

    return tomllib.loads((folder / "framework.toml").read_text(encoding="utf-8"))


ROW_PAGE = """{note}

# Columns

## A results row

A finished job is one row. `assay results --format json` prints a list of them, and `verdict.json` in a job's folder is
one. Times are in seconds and sizes in MiB, both at full precision; a number that is not known is null. The
[JSON Schema](row.schema.json) has the types. A row without `schema` was written before rows had one.

{row}

Everything else (the machine, samples of memory, the framework's own report) is in `outcome.json` of the attempt's
folder.

## The scores table

`assay score -o scores.parquet` writes it: one row per job and metric. Failed jobs stay in it, with an empty value.
Values keep their own sign: `rmse` is an error and positive. [All metrics](metrics.md).

{scores}
"""


def columns() -> dict[str, str]:
    """Return the columns of a results row and of the scores table, and the JSON Schema of a row."""
    from assay.jobs.row import row_columns, row_schema
    from assay.results.scores import COLUMNS, MADE

    texts = {name: column.text for name, column in row_columns()}
    head = ("column", "contents")
    page = ROW_PAGE.format(
        note=_note("columns"),
        row=_table(head, [(f"`{name}`", text) for name, text in texts.items()]),
        scores=_table(head, [(f"`{name}`", MADE.get(name) or texts[name]) for name in COLUMNS]),
    )
    schema = json.dumps(row_schema(), indent=1, ensure_ascii=False) + "\n"
    return {"reference/columns.md": page, "reference/row.schema.json": schema}


ANALYSES = """\
# Analyses

{note}

Every analysis is a command (`assay analyse NAME`, with `--json`, `--format csv` or `--format latex`), a method in
Python (`assay.analyse(store).NAME()`) and, where the table names a section, a part of `assay report`.

{table}

## Options

{options}

## Your own

A file with a record, a function and `ANALYSIS = AnalysisSpec(…)` is an analysis too:
[add an analysis](../howto/add-an-analysis.md).
"""


def analyses() -> dict[str, str]:
    """Return the page of all analyses, from what the registry knows."""
    from dataclasses import MISSING

    from assay.analysis.options import option_fields
    from assay.analysis.registry import all_analyses

    rows, options = [], []
    for spec in all_analyses():
        sections = ", ".join(section.title for section in spec.report_sections) or "–"
        figures = ", ".join(f"`--{flag}`" for flag in spec.figures) or "–"
        rows.append((f"`{spec.name}`", spec.help, ", ".join(spec.needs), sections, figures))
        for field in option_fields(spec.options):
            default = (
                "" if field.default is MISSING or field.default in ("", (), None) else f"`{field.default}`"
            )
            options.append((f"`{spec.name}`", f"`{field.name}`", field.option.help.rstrip("."), default))
    text = ANALYSES.format(
        note=_note("analyses"),
        table=_table(("name", "shows", "needs", "section of the report", "figures"), rows),
        options=_table(("analysis", "option", "is", "default"), options),
    )
    return {"reference/analyses.md": text}


GENERATORS: Mapping[str, Callable[[], dict[str, str]]] = {
    "metrics": metrics,
    "cli": cli,
    "columns": columns,
    "frameworks": frameworks,
    "analyses": analyses,
}


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

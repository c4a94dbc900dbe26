"""Find a suite by its name: a built-in, a plug-in, a YAML file, an OpenML number or a data file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from assay.data.task import TaskRequest
from assay.errors import ConfigError
from assay.plugins import entry_point_names, suggest
from assay.settings import Settings
from assay.suites.suite import Suite, name_in

__all__ = ["find_suite", "list_suites", "read_suite"]

_BUILT_IN = Path(__file__).parent / "builtin"
_SOURCES = ("bundled/", "openml/", "test.openml/")


def list_suites() -> tuple[str, ...]:
    """Return the names of the suites that need no file: built-in ones, then those of installed packages."""
    built_in = sorted(path.stem for path in _BUILT_IN.glob("*.yaml"))
    return (*built_in, *sorted(set(entry_point_names("suites")) - set(built_in)))


def find_suite(
    name: str, settings: Settings, target: str | None = None, csv: Mapping[str, object] | None = None
) -> Suite:
    """Return the suite that `name` means.

    A built-in name, a name from the entry points `assay.suites` (a path or a function that returns one), a
    YAML file, `openml/s/ID` or `openml/t/ID` (also `test.openml/…`), a reference such as `bundled/iris`, or a
    data file, folder or archive, for which `target` may name the target column and `csv` say how it is written.
    """
    path = Path(name)
    is_yaml = path.suffix.lower() in (".yaml", ".yml")
    if not is_yaml and os.path.exists(path) and name not in list_suites():
        return _data_suite(path, target, csv or {})
    if csv:
        raise ConfigError(
            f"CSV options are given with '{name}', which is not a data file. State them in the suite: csv: {{…}}."
        )
    if target:
        if path.suffix and not is_yaml:
            raise ConfigError(f"There is no file '{name}'. Give the path of a data file.")
        raise ConfigError(
            f"A target is given with '{name}', which is not a data file. State targets in the suite."
        )
    if os.path.exists(_BUILT_IN / f"{name}.yaml"):
        return read_suite(_BUILT_IN / f"{name}.yaml")
    if name in entry_point_names("suites"):
        value = entry_point_names("suites")[name].load()
        return read_suite(Path(value() if callable(value) else value))
    if is_yaml:
        return read_suite(path)
    if name.startswith(_SOURCES) or ("/" in name and name.partition("/")[0] in entry_point_names("sources")):
        return _referenced_suite(name, settings)
    from assay.data.formats import format_of, is_archive

    if format_of(path.name) or is_archive(path.name):
        raise ConfigError(f"There is no data file {name}. Check the path.")
    raise ConfigError(
        f"Unknown suite '{name}'. {suggest(name, list_suites())} A suite may also be a YAML file, a data "
        "file, "
        "openml/s/ID or openml/t/ID."
    )


def read_suite(path: Path) -> Suite:
    """Read a suite file: ours, or a benchmark file of AMLB."""
    from assay.suites.read import suite_from
    from assay.suites.yaml_file import load_yaml

    return suite_from(load_yaml(path), path)


def _data_suite(path: Path, target: str | None, csv: Mapping[str, object]) -> Suite:
    from assay.data.csv_options import parse_csv_options
    from assay.data.formats import stem_of

    parse_csv_options(csv, f"for {path.name}")
    name = stem_of(path.name)
    request = TaskRequest("file", name=name, path=str(path.absolute()), target=target or "", csv=csv)
    return Suite(name, (request,), origin=path.name)


def _referenced_suite(ref: str, settings: Settings) -> Suite:
    prefix, _, rest = ref.partition("/")
    if not rest.startswith("s/"):
        return Suite(ref, (TaskRequest(ref, name=name_in(ref)),), origin=ref)
    from assay.data.openml import load_openml_suite

    openml_suite = load_openml_suite(ref, settings)
    tasks = tuple(TaskRequest(f"{prefix}/t/{number}") for number in openml_suite.tasks)
    return Suite(ref, tasks, description=openml_suite.description or openml_suite.name, origin=ref)

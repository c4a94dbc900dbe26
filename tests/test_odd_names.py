"""Names and files that make the standard library raise odd exceptions are one sentence each.

Each was found by `make fuzz`: `pathlib` raises for a name that is too long, a home that does not exist and a null byte;
`zipfile` and `sqlite3` for names that are not text.
"""

from __future__ import annotations

import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from assay import api
from assay.data.archive import unpack
from assay.data.read_arff import read_arff
from assay.errors import ConfigError, DataError, StoreError, UserError
from assay.frameworks.find import find_framework
from assay.metrics import get_metric
from assay.results.formats.columns import folds
from assay.searches.spaces import find_space
from assay.settings import Settings
from assay.store.store import Store
from assay.suites.find import find_suite

ODD = {"long": "a" * 5000, "home": "~nobody_of_this_name/x", "null": "a\0b", "dots": "../" * 900 + "x"}
READERS: dict[str, Callable[[str], object]] = {
    "framework": find_framework,
    "framework folder": lambda name: find_framework(f"{name}/"),
    "estimator": lambda name: find_framework(f"{name}.py:Model"),
    "suite": lambda name: find_suite(name, Settings.from_environment()),
    "suite file": lambda name: find_suite(f"{name}.yaml", Settings.from_environment()),
    "data file": lambda name: find_suite(f"{name}.csv", Settings.from_environment()),
    "metric": lambda name: get_metric(f"{name}.py:cost"),
    "space": lambda name: find_space(f"{name}.toml"),
    "space function": lambda name: find_space(f"{name}.py:space"),
    "scores": lambda name: api.analyse(f"{name}.csv"),
    "predictions": lambda name: api.interval(f"{name}.csv"),
    "store": lambda name: Store(name, create=False),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("reader", READERS)
def test_an_odd_name_is_refused_in_one_sentence(reader: str, name: str) -> None:
    with pytest.raises(UserError) as caught:
        READERS[reader](ODD[name])
    assert "\n" not in str(caught.value)


def test_a_lock_of_a_version_with_a_long_name_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "adapter.py").write_text("")
    version = "1." + "0" * 500
    (folder / "framework.toml").write_text(f'name = "mine"\nversion = "{version}"\nenvironment = "own"\n')
    with pytest.raises(ConfigError, match="lock"):
        find_framework(f"{folder}/")


def test_a_path_of_a_suite_in_a_home_that_does_not_exist_is_a_broken_task(tmp_path: Path) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text("name: s\ntasks:\n  - path: ~nobody_of_this_name/x.csv\n    target: y\n")
    with pytest.raises(DataError, match=r"x\.csv"):
        api.load_tasks(api.load_suite(suite))


@pytest.mark.parametrize("metric", ["7", "{a: b}", "true"])
def test_a_metric_of_an_amlb_file_that_is_not_a_name_is_refused(tmp_path: Path, metric: str) -> None:
    file = tmp_path / "amlb.yaml"
    file.write_text(f"- name: iris\n  openml_task_id: 59\n  metric: {metric}\n")
    with pytest.raises(ConfigError, match=r"for .metric. in amlb\.yaml, task iris: give a name"):
        find_suite(str(file), Settings.from_environment())


def test_an_index_whose_schema_is_not_text_is_damaged(tmp_path: Path) -> None:
    Store(tmp_path / "store").close()
    index = tmp_path / "store" / "index.sqlite"
    with sqlite3.connect(index) as db:
        db.execute("PRAGMA writable_schema=ON")
        db.execute("UPDATE sqlite_master SET name = CAST(x'6a6fbf62' AS TEXT) WHERE name = 'jobs'")
    db.close()
    with pytest.raises(StoreError, match=r"damaged|rebuild"):
        Store(tmp_path / "store")


def test_a_member_of_a_zip_whose_name_is_not_text_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ä.csv", "x,y\n1,2\n")
    path.write_bytes(path.read_bytes().replace("ä".encode(), b"\xb8\xb8"))
    with pytest.raises(DataError, match=r"a\.zip is damaged"):
        unpack(path, tmp_path / "out")


def test_an_arff_file_in_another_encoding_than_its_mark_says_is_told_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_bytes(b"\xff\xfe@relation a")
    with pytest.raises(DataError, match=r"Save it as UTF-8\.$"):
        read_arff(path, "a.arff")


@pytest.mark.parametrize("fold", ["inf", "-inf", "1e300", "nan", "1.5"])
def test_a_fold_that_is_not_a_whole_number_is_refused(fold: str) -> None:
    with pytest.raises(DataError, match=f"Row 2 has the fold '{fold}'"):
        folds(pd.DataFrame({"fold": ["0", fold]}))


def test_classes_of_configurations_need_a_target(tmp_path: Path) -> None:
    path = tmp_path / "surv.csv"
    path.write_text("time,event,a|x,a|y\n1,1,0.5,0.5\n2,0,0.4,0.6\n")
    with pytest.raises(DataError, match="there is no y"):
        api.interval(path, metric="cindex")


def test_no_task_is_not_every_task() -> None:
    with pytest.raises(ConfigError, match="name at least one task"):
        api.plan("bundled", "constant", "10s1c", tasks=[])
    record = api.load_tasks(api.load_suite("bundled"))[0]
    mixed = api.plan("bundled", "constant", "10s1c", tasks=[record, "wine"], folds=[0])
    assert {job.task for job in mixed.jobs} == {record.name, "wine"}

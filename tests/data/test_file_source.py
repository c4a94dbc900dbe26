from __future__ import annotations

import gzip
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.data.resolve import fold_data, load, resolve
from assay.data.task import TaskRequest
from assay.errors import DataError
from assay.settings import Settings

Write = Callable[..., Path]


def part(start: int, n_rows: int, header: str = "x,y") -> str:
    return header + "\n" + "".join(f"{row},{'ab'[row % 2]}\n" for row in range(start, start + n_rows))


@pytest.fixture
def folds(write: Write) -> Path:
    for fold in range(2):
        write(f"folds/deep_train_{fold}.csv", part(0 if fold else 10, 20))
        write(f"folds/deep_test_{fold}.csv", part(20 if fold else 0, 10))
    return write("folds/readme.txt", "not data").parent


def test_table_reads_the_same_from_csv_gz_and_zip(write: Write, settings: Settings) -> None:
    plain = write("rows.csv", part(0, 30))
    write("rows2.csv.gz", gzip.compress(plain.read_bytes()))
    with zipfile.ZipFile(plain.with_name("rows3.zip"), "w") as archive:
        archive.write(plain, "inner/rows.csv")
    tasks = [
        resolve(TaskRequest("file", path=str(path)), settings) for path in sorted(plain.parent.iterdir())
    ]
    assert len({task.data_digest for task in tasks}) == 1
    assert [task.name for task in tasks] == ["rows", "rows2", "rows3"]
    assert all(task.id == f"file/{task.data_digest[:16]}" for task in tasks)


def test_folder_of_train_and_test_files_is_its_own_split(folds: Path, settings: Settings) -> None:
    task = resolve(TaskRequest("file", path=str(folds)), settings)
    assert [(fold.fold, fold.n_train, fold.n_test) for fold in task.folds] == [(0, 20, 10), (1, 20, 10)]
    assert task.facts["n_rows"] == 30
    second = fold_data(load(task, settings), task, 1)
    assert second.train.arrays["x"].tolist() == list(range(20))
    assert second.test.arrays["x"].tolist() == list(range(20, 30))


def test_archive_of_folds_equals_the_folder(folds: Path, settings: Settings) -> None:
    shutil.make_archive(str(folds.with_name("packed")), "gztar", folds)
    task = resolve(TaskRequest("file", path=str(folds.with_name("packed.tar.gz"))), settings)
    folder = resolve(TaskRequest("file", path=str(folds)), settings)
    assert (task.data_digest, task.split_digest) == (folder.data_digest, folder.split_digest)
    assert task.name == "packed"


def test_train_and_test_files_are_named_one_by_one(folds: Path, settings: Settings) -> None:
    request = TaskRequest(
        "file",
        train=(str(folds / "deep_train_0.csv"), str(folds / "deep_train_1.csv")),
        test=(str(folds / "deep_test_0.csv"), str(folds / "deep_test_1.csv")),
    )
    task = resolve(request, settings)
    assert task.name == "deep"
    assert task.split_digest == resolve(TaskRequest("file", path=str(folds)), settings).split_digest


def test_first_given_folds_can_be_kept(folds: Path, settings: Settings) -> None:
    request = TaskRequest("file", path=str(folds), split={"kind": "given", "folds": 1})
    assert len(resolve(request, settings).folds) == 1
    with pytest.raises(DataError, match="2 folds, not 3"):
        resolve(TaskRequest("file", path=str(folds), split={"kind": "given", "folds": 3}), settings)


def test_given_files_and_another_split_contradict(folds: Path, settings: Settings) -> None:
    with pytest.raises(DataError, match=r"a split as well.*Give one of the two"):
        resolve(TaskRequest("file", path=str(folds), split={"kind": "cv", "folds": 3}), settings)


def test_new_file_in_a_folder_is_noticed(folds: Path, settings: Settings) -> None:
    before = resolve(TaskRequest("file", path=str(folds)), settings)
    (folds / "deep_train_2.csv").write_text(part(0, 9))
    (folds / "deep_test_2.csv").write_text(part(9, 9))
    after = resolve(TaskRequest("file", path=str(folds)), settings)
    assert (len(before.folds), len(after.folds)) == (2, 3)


def test_columns_in_another_order_are_matched_by_name(write: Write, settings: Settings) -> None:
    train = write("a_train.csv", "x,y\n1,a\n2,b\n")
    test = write("a_test.csv", "y,x\nb,3\n")
    task = resolve(TaskRequest("file", train=(str(train),), test=(str(test),)), settings)
    assert fold_data(load(task, settings), task, 0).test.arrays["x"].tolist() == [3]


def test_kind_is_inferred_over_all_files(write: Write, settings: Settings) -> None:
    train = write("a_train.csv", "x,y\n1,a\n2,b\n")
    test = write("a_test.csv", "x,y\nn5,a\nn6,b\nn7,a\n")
    task = resolve(TaskRequest("file", train=(str(train),), test=(str(test),)), settings)
    assert task.features[0].kind == "categorical"


@pytest.mark.parametrize(
    ("test_text", "message"),
    [
        ("x\n1\n", r"a_test\.csv lacks the column 'y' of a_train\.csv"),
        ("x,y,z\n1,a,2\n", r"a_test\.csv has a column 'z' that a_train\.csv lacks"),
    ],
)
def test_files_with_different_columns_are_an_error(
    write: Write, settings: Settings, test_text: str, message: str
) -> None:
    train, test = write("a_train.csv", "x,y\n1,a\n2,b\n"), write("a_test.csv", test_text)
    with pytest.raises(DataError, match=message):
        resolve(TaskRequest("file", train=(str(train),), test=(str(test),)), settings)


def test_more_train_than_test_files_are_an_error(write: Write, settings: Settings) -> None:
    train = str(write("a_train.csv", part(0, 5)))
    with pytest.raises(DataError, match="2 training files but 1 test files"):
        resolve(TaskRequest("file", train=(train, train), test=(train,)), settings)


def test_types_that_differ_between_files_are_an_error(write: Write, settings: Settings) -> None:
    train = write("a_train.arff", "@relation r\n@attribute x real\n@attribute y {a,b}\n@data\n1,a\n2,b\n")
    test = write("a_test.arff", "@relation r\n@attribute x {u}\n@attribute y {a,b}\n@data\nu,a\n")
    with pytest.raises(DataError, match=r"Column 'x' has another type in a_test\.arff than in a_train\.arff"):
        resolve(TaskRequest("file", train=(str(train),), test=(str(test),)), settings)


def test_two_train_files_for_one_fold_are_an_error(write: Write, settings: Settings) -> None:
    for name in ("f/a_train.csv", "f/b_train.csv", "f/a_test.csv"):
        path = write(name, part(0, 5))
    with pytest.raises(DataError, match="two train files for one fold"):
        resolve(TaskRequest("file", path=str(path.parent)), settings)

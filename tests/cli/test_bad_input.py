"""Malformed files and arguments: exit code 2, one message that names file, place and remedy, no traceback."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Assay

GOOD = "a,b,y\n" + "".join(f"{i},{i % 3},{'no' if i % 2 else 'yes'}\n" for i in range(40))


def text(content: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(content, encoding="utf-8") and None


def data(content: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content) and None


def outward_tar(path: Path) -> None:
    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo("../../outside_train.csv")
        info.size = len(GOOD)
        archive.addfile(info, io.BytesIO(GOOD.encode()))


def outward_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../outside_train.csv", GOOD)


def bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.csv", "a,y\n" + "0,no\n" * 60_000_000)


def replaced(old: str, new: str) -> str:
    return GOOD.replace(old, new, 1)


# (name of the file, what writes it, words that the message must hold)
FILES = [
    ("empty.csv", text(""), ["empty.csv"]),
    ("header.csv", text("a,b,y\n"), ["header.csv"]),
    ("one_column.csv", text("y\nno\nyes\n"), ["one_column.csv"]),
    ("twice.csv", text(GOOD.replace("a,b,y", "a,a,y")), ["twice.csv", "'a'"]),
    ("constant.csv", text(GOOD.replace("yes", "no")), ["constant.csv", "y"]),
    ("lonely.csv", text(GOOD + "1,2,rare\n"), ["lonely.csv", "rare"]),
    ("mixed.csv", text(replaced("3,0,", "three,0,")), ["mixed.csv", "three"]),
    ("quotes.csv", text(replaced("3,0,", '"3,0,')), ["quotes.csv", "line"]),
    ("ragged.csv", text(replaced("3,0,no", "3,0,no,no")), ["ragged.csv", "line 5"]),
    ("open.csv", text(GOOD.replace("a,b,y", "a;b;y").replace(",", ";").replace("1;", "1,234;")), ["--csv decimal="]),
    ("nul.csv", data(GOOD.encode().replace(b"3,0", b"3,\x000", 1)), ["nul.csv"]),
    ("huge.csv", text(replaced("3,0,", "123456789012345678901,0,")), ["huge.csv", "123456789012345678901"]),
    ("infinite.csv", text(replaced("3,0,", "inf,0,")), ["infinite.csv", "inf"]),
    ("unlabelled.csv", text(replaced("3,0,no", "3,0,")), ["unlabelled.csv", "y"]),
    ("not.parquet", data(b"PAR1 this is no table PAR1"), ["not.parquet"]),
    ("not.arff", text("this is no arff\n"), ["not.arff"]),
    ("bad_nominal.arff", text("@relation r\n@attribute a {x,y}\n@attribute y {no,yes}\n@data\nz,no\nx,yes\n"), ["z"]),
    ("not.csv.gz", data(b"\x1f\x8b broken"), ["not.csv.gz"]),
    ("not.zip", data(b"PK broken"), ["not.zip"]),
    ("outward.tar.gz", outward_tar, ["outward.tar.gz", "outside"]),
    ("outward.zip", outward_zip, ["outward.zip", "outside"]),
    ("bomb.zip", bomb, ["bomb.zip"]),
    ("table.xlsx", data(b"PK\x03\x04"), ["table.xlsx"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "write", "words"), FILES, ids=[case[0] for case in FILES])
def test_a_malformed_data_file_is_named_with_the_place_and_the_remedy(
    assay: Assay, tmp_path: Path, name: str, write: Callable[[Path], None], words: list[str]
) -> None:
    write(tmp_path / name)
    said = assay("run", "constant", name, "10s1c", "--target", "y")
    assert said.code == 2, said
    assert said.err.startswith("assay: ") and "Traceback" not in said.err
    for word in words:
        assert word in said.err
    assert len(said.err.split()) > 8, "a message says what is wrong and what to do"
    assert not (tmp_path / "results").exists(), "nothing was started"


SUITES = [
    ("tasks: [bundled/iris]\ndefaults: {metrisc: [acc]}\n", ["metrisc", "metrics"]),
    ("tasks:\n- {name: a, ref: bundled/iris, splitt: {folds: 3}}\n", ["splitt", "split"]),
    ("tasks:\n- {ref: bundled/iris, split: {kind: cv, fold: 3}}\n", ["fold", "folds"]),
    ("tasks:\n- {ref: bundled/iris, split: {kind: kfold}}\n", ["kfold"]),
    ("tasks:\n- {ref: bundled/iris, metrics: [logloss2]}\n", ["logloss2", "logloss"]),
    ("tasks:\n- {ref: bundled/iris, metrics: [rmse]}\n", ["rmse"]),
    ("tasks: [bundled/irs]\n", ["irs", "iris"]),
    ("tasks: []\n", ["task"]),
    ("tasks: [bundled/iris, bundled/iris]\n", ["iris"]),
    ("tasks: [missing.csv]\n", ["missing.csv"]),
    ("tasks:\n- {ref: bundled/iris, columns: {petal: {kind: numeric}}}\n", ["petal"]),
    ("tasks:\n- {ref: bundled/iris, target: nothing}\n", ["nothing"]),
    ("tasks: [bundled/iris\n", ["suite.yaml"]),
    ("tasks: [bundled/iris]\ntasks: [bundled/wine]\n", ["tasks"]),
    ("tasks: !!python/object/apply:os.system ['true']\n", ["suite.yaml"]),
    ("tasks: [bundled/iris]\nconstraints: {quick: {time: 1m, coers: 1}}\nconstraint: quick\n", ["coers", "cores"]),
    ("just text\n", ["suite.yaml"]),
]  # fmt: skip


@pytest.mark.parametrize(("content", "words"), SUITES, ids=[case[0].strip() for case in SUITES])
def test_a_malformed_suite_is_named_with_the_key(
    assay: Assay, tmp_path: Path, content: str, words: list[str]
) -> None:
    (tmp_path / "suite.yaml").write_text(content)
    limit = [] if "constraint: quick" in content else ["10s1c"]
    said = assay("run", "constant", "suite.yaml", *limit)
    assert said.code == 2, said
    assert said.err.startswith("assay: ") and "Traceback" not in said.err
    for word in words:
        assert word in said.err


ARGUMENTS = [
    (["run", "constant", "bundled", "1x8c"], ["1x8c", "1h8c"]),
    (["run", "constant", "bundled", "0s1c"], ["0s1c", "more than zero"]),
    (["run", "constant", "bundled", "1h4096c"], ["4096", "--oversubscribe"]),
    (["run", "constant", "bundled", "1h1c99999g"], ["memory", "--oversubscribe"]),
    (["run", "constant", "bundeld", "10s1c"], ["bundeld", "bundled"]),
    (["run", "constnat", "bundled", "10s1c"], ["constnat", "constant"]),
    (["run", "constant,constant", "bundled", "10s1c"], ["twice"]),
    (["run", ",", "bundled", "10s1c"], ["framework"]),
    (["run", "nothing.py:Model", "bundled", "10s1c"], ["nothing.py"]),
    (["run", "./nowhere", "bundled", "10s1c"], ["nowhere", "framework.toml"]),
    (["run", "constant", "bundled", "10s1c", "--task", "irs"], ["irs", "iris"]),
    (["run", "constant", "bundled", "10s1c", "--fold", "99"], ["fold"]),
    (["run", "constant", "bundled", "10s1c", "--metric", "accuracy"], ["accuracy", "acc"]),
    (["run", "constant", "bundled", "10s1c", "--type", "ternary"], ["ternary", "binary"]),
    (["run", "constant", "bundled", "10s1c", "--tier", "iron"], ["iron", "strict"]),
    (["run", "constant", "bundled", "10s1c", "--set", "depth=3"], ["depth=3", "framework.key=value"]),
    (["run", "constant", "bundled", "10s1c", "--set", "forest.depth=3"], ["forest", "constant"]),
    (["run", "constant", "bundled", "10s1c", "-p", "0"], ["-p 0"]),
    (["run", "constant", "bundled", "10s1c", "--target", "y"], ["target", "bundled"]),
    (["run", "constant", "openml/t/31", "10s1c", "--offline"], ["openml/t/31"]),
    (["run", "constant", "openml/x/31", "10s1c"], ["openml/x/31"]),
    (["results", "--store", "nowhere"], ["nowhere"]),
    (["results", "--format", "xml"], ["results"]),
    (["leaderboard"], ["results"]),
    (["explain", "abc"], ["results"]),
    (["framework", "show", "constnat"], ["constnat", "constant"]),
    (["framework", "new", "not-a name"], ["not-a name"]),
    (["suite", "show", "nowhere.yaml"], ["nowhere.yaml"]),
    (["store", "rebuild", "--store", "nowhere"], ["nowhere"]),
]  # fmt: skip


@pytest.mark.parametrize(("words", "expected"), ARGUMENTS, ids=[" ".join(case[0]) for case in ARGUMENTS])
def test_a_wrong_argument_is_named_with_a_remedy(assay: Assay, words: list[str], expected: list[str]) -> None:
    said = assay(*words)
    assert said.code == 2, said
    assert "Traceback" not in said.err and said.err
    for word in expected:
        assert word in said.err

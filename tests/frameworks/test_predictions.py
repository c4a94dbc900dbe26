from __future__ import annotations

import io
import os
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.frameworks.predictions import Asked, BadPredictions, read_predictions

BINARY = Asked("binary", ("no", "yes"), 3)
MANY = Asked("multiclass", ("A", "a ", "b"), 3)
NUMBERS = Asked("regression", (), 3)
GOOD = {
    "row": np.arange(3),
    "prediction": np.array([0, 1, 1]),
    "probabilities": np.array([[0.9, 0.1], [0.2, 0.8], [0, 1]]),
}


def npz(out: Path, **arrays: Any) -> Path:
    with open(out / "predictions.npz", "wb") as file:
        np.savez(file, **arrays)
    return out


def csv(out: Path, text: str, **how: Any) -> Path:
    (out / "predictions.csv").write_text(text, encoding=how.get("encoding", "utf-8"), newline="")
    return out


def refused(out: Path, asked: Asked) -> str:
    with pytest.raises(BadPredictions) as caught:
        read_predictions(out, asked)
    return str(caught.value)


def test_nothing_written_is_none(tmp_path: Path) -> None:
    assert read_predictions(tmp_path, BINARY) is None


def test_good_predictions_are_read(tmp_path: Path) -> None:
    found = read_predictions(npz(tmp_path, **GOOD), BINARY)
    assert found is not None
    assert found.values.tolist() == [0, 1, 1]
    np.testing.assert_array_equal(found.probabilities, GOOD["probabilities"])
    assert (found.from_labels, found.is_constant) == (False, False)


@pytest.mark.parametrize("prediction", [[1, 0, 1], np.array(["yes", "no", "yes"])])
def test_labels_alone_become_certain_probabilities(tmp_path: Path, prediction: Any) -> None:
    found = read_predictions(npz(tmp_path, prediction=prediction), BINARY)
    assert found is not None
    assert found.from_labels
    assert found.probabilities.tolist() == [[0, 1], [1, 0], [0, 1]]


def test_labels_that_differ_by_case_or_blank_stay_two(tmp_path: Path) -> None:
    found = read_predictions(csv(tmp_path, "row,prediction\r\n0,A\r\n1,a \r\n2,b\r\n"), MANY)
    assert found is not None
    assert found.values.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"prediction": np.zeros(2, int)}, "there are 2 predictions for 3 test rows"),
        ({"prediction": np.zeros(0, int)}, "there are 0 predictions for 3 test rows"),
        ({"prediction": np.zeros((3, 1), int)}, "the predictions have shape (3, 1), not one per row"),
        ({"row": np.array([0, 2, 1])}, "the rows are in another order than asked: place 1 speaks of row 2"),
        ({"row": np.array([0, 0, 1])}, "place 1 speaks of row 0"),
        ({"row": np.array([0.0, 1.0, 2.0])}, "not one whole number per prediction"),
        ({"row": np.arange(4)}, "not one whole number per prediction"),
        ({"prediction": np.array([0, 1, 2])}, "row 2: 2 is no class code below 2"),
        ({"prediction": np.array([0, -1, 1])}, "row 1: -1 is no class code"),
        (
            {"prediction": np.array(["no", "Yes", "maybe"])},
            "row 1: Yes is none of the classes no, yes (and 1 more)",
        ),
        ({"prediction": np.array([0.0, 1.0, 1.0])}, "row 0: 0.0 is none of the classes"),
        ({"prediction": np.array(["no", "x" * 1000, "no"])}, "row 1: " + "x" * 100 + " is none"),
        (
            {"probabilities": np.array([[0.9, 0.1], [np.nan, 0.8], [0, 1]])},
            "row 1: nan is not a finite probability",
        ),
        (
            {"probabilities": np.array([[0.9, 0.1], [np.inf, 0.8], [0, 1]])},
            "row 1: inf is not a finite probability",
        ),
        (
            {"probabilities": np.array([[0.9, 0.1], [-0.2, 1.2], [0, 1]])},
            "row 1: -0.2 is a negative probability",
        ),
        (
            {"probabilities": np.array([[0.9, 0.1], [0.2, 1.2], [0, 1]])},
            "row 1: 1.2 is a probability above one",
        ),
        ({"probabilities": np.full((3, 2), 1e308)}, "is a probability above one (and 5 more)"),
        (
            {"probabilities": np.array([[0.9, 0.1], [0.2, 0.7], [0, 0]])},
            "is what the probabilities add up to, not one",
        ),
        ({"probabilities": np.zeros((3, 2))}, "row 0: 0.0 is what the probabilities add up to"),
        ({"probabilities": np.zeros((3, 3))}, "the probabilities have shape (3, 3), asked was (3, 2)"),
        ({"probabilities": np.zeros((2, 2))}, "the probabilities have shape (2, 2), asked was (3, 2)"),
        ({"probabilities": np.array([["a", "b"]] * 3)}, "the probabilities are not numbers"),
        ({"probabilities": np.full((3, 2), 0.5 + 0j)}, "the probabilities are not numbers"),
    ],
)
def test_invalid_classification_is_refused(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    assert message in refused(npz(tmp_path, **{**GOOD, **changed}), BINARY)


@pytest.mark.parametrize(
    ("prediction", "message"),
    [
        ([1.0, np.nan, 2.0], "row 1: nan is not a finite number"),
        ([1.0, -np.inf, np.inf], "row 1: -inf is not a finite number (and 1 more)"),
        (np.array(["1", "2", "x"]), "the predictions are not numbers but <U1"),
        (np.array([1j, 2, 3]), "the predictions are not numbers but complex128"),
        (np.array(["2020"] * 3, dtype="datetime64[s]"), "the predictions are not numbers but datetime64[s]"),
        (np.zeros(3, dtype=[("a", float)]), "not numbers or text (in the array 'prediction')"),
    ],
)
def test_invalid_regression_is_refused(tmp_path: Path, prediction: Any, message: str) -> None:
    assert message in refused(npz(tmp_path, prediction=prediction), NUMBERS)


def test_whole_numbers_are_values_of_a_regression(tmp_path: Path) -> None:
    found = read_predictions(npz(tmp_path, prediction=np.array([1, 2, 2**40])), NUMBERS)
    assert found is not None
    assert found.values.tolist() == [1.0, 2.0, float(2**40)]
    assert found.probabilities is None


def test_many_rows_are_not_called_too_large(tmp_path: Path) -> None:
    asked = Asked("regression", (), 300_000)
    found = read_predictions(npz(tmp_path, prediction=np.arange(300_000.0), row=np.arange(300_000)), asked)
    assert found is not None
    assert len(found.values) == 300_000


def test_float32_probabilities_of_many_classes_are_accepted(tmp_path: Path) -> None:
    k = 300
    asked = Asked("multiclass", tuple(map(str, range(k))), 50)
    logits = np.random.default_rng(0).normal(size=(50, k)).astype(np.float32)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    found = read_predictions(
        npz(tmp_path, prediction=p.argmax(axis=1), probabilities=p.astype(np.float32)), asked
    )
    assert found is not None
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0, atol=1e-6)


def test_coarse_sums_are_made_one_and_tiny_negatives_zero(tmp_path: Path) -> None:
    p = np.array([[0.5, 0.4995], [-1e-4, 1.0], [0.25, 0.75]])
    found = read_predictions(npz(tmp_path, **{**GOOD, "probabilities": p}), BINARY)
    assert found is not None
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0, rtol=1e-15)
    assert found.probabilities[1].tolist() == [0.0, 1.0]
    assert found.probabilities[2].tolist() == [0.25, 0.75]


def test_equal_probabilities_stay_equal(tmp_path: Path) -> None:
    """Dividing by a sum of 0.9999999999999999 would break ties, on which rank metrics depend."""
    p = np.array([[0.3, 0.1 + 0.2, 0.4], [0.3, 0.7, 0.0], [0.3, 0.6, 0.1]])
    assert len(set(p.sum(axis=1))) > 1
    found = read_predictions(npz(tmp_path, prediction=[2, 1, 1], probabilities=p), MANY)
    assert found is not None
    assert found.probabilities[:, 0].tolist() == [0.3, 0.3, 0.3]


@pytest.mark.parametrize(
    ("p", "expected"), [(np.full((3, 2), 0.5), True), (np.array([[0.5, 0.5], [0.5, 0.5], [0.4, 0.6]]), False)]
)
def test_constant_answers_are_noticed(tmp_path: Path, p: Any, expected: bool) -> None:
    found = read_predictions(npz(tmp_path, **{**GOOD, "probabilities": p}), BINARY)
    assert found is not None
    assert found.is_constant is expected


# --- files made to harm -------------------------------------------------------------------------------


def test_pickles_are_refused(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "harmed"),)

    np.savez(tmp_path / "predictions.npz", prediction=np.array([Evil()] * 3, dtype=object))
    assert "predictions.npz holds object" in refused(tmp_path, NUMBERS)
    assert not (tmp_path / "harmed").exists()


@pytest.mark.parametrize("name", ["predictions.npz", "predictions.csv"])
def test_links_are_not_followed(tmp_path: Path, name: str) -> None:
    real = tmp_path / "real"
    real.mkdir()
    npz(real, **GOOD)
    csv(real, "row,prediction\n0,no\n1,no\n2,no\n")
    out = tmp_path / "out"
    out.mkdir()
    (out / name).symlink_to(real / name)
    assert f"{name} cannot be opened" in refused(out, BINARY)


@pytest.mark.parametrize("name", ["predictions.npz", "predictions.csv"])
def test_folders_and_pipes_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert refused(tmp_path, BINARY) == f"{name} is not a regular file"
    (tmp_path / name).rmdir()
    os.mkfifo(tmp_path / name)
    assert refused(tmp_path, BINARY) == f"{name} is not a regular file"


def test_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (5 * 10**7,)}
    )
    with (
        zipfile.ZipFile(tmp_path / "predictions.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("prediction.npy", "w") as member,
    ):
        member.write(header.getvalue())
        for _ in range(100):
            member.write(b"\0" * 4 * 10**6)
    assert (tmp_path / "predictions.npz").stat().st_size < 10**6
    assert "predictions.npz declares an array of 400000000 bytes" in refused(tmp_path, NUMBERS)


def test_array_that_claims_to_be_huge_is_refused(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)})
    with zipfile.ZipFile(tmp_path / "predictions.npz", "w") as archive:
        archive.writestr("prediction.npy", header.getvalue() + b"\0" * 80)
    assert "predictions.npz declares an array of 8000000000000000 bytes" in refused(tmp_path, NUMBERS)


def test_encrypted_and_oddly_packed_archives_are_refused(tmp_path: Path) -> None:
    data = bytearray((npz(tmp_path, **GOOD) / "predictions.npz").read_bytes())
    central = data.index(b"PK\x01\x02")
    wrong = ((8, 1, "is encrypted"), (10, 99, "compression"))  # flags, method
    for offset, value, word in wrong:
        changed = bytearray(data)
        for start, shift in ((0, -2), (central, 0)):
            struct.pack_into("<H", changed, start + offset + shift, value)
        (tmp_path / "predictions.npz").write_bytes(changed)
        assert word in refused(tmp_path, BINARY)


def test_damaged_archive_is_refused(tmp_path: Path) -> None:
    with open(tmp_path / "predictions.npz", "wb") as file:
        np.savez_compressed(file, prediction=np.random.default_rng(0).normal(size=3))
    data = bytearray((tmp_path / "predictions.npz").read_bytes())
    data[60:120] = b"\xff" * 60
    (tmp_path / "predictions.npz").write_bytes(data)
    assert "predictions.npz cannot be read" in refused(tmp_path, NUMBERS)


@pytest.mark.parametrize("data", [b"", b"not a zip", b"\x80\x04N.", b"\x93NUMPY\x01\x00"])
def test_file_that_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "predictions.npz").write_bytes(data)
    assert "predictions.npz cannot be read" in refused(tmp_path, BINARY)


def test_archive_without_predictions_is_refused(tmp_path: Path) -> None:
    assert refused(npz(tmp_path, row=np.arange(3)), BINARY) == "predictions.npz has no array 'prediction'"


@pytest.mark.parametrize("name", ["predictions.npz", "predictions.csv"])
def test_huge_file_is_refused_before_it_is_read(tmp_path: Path, name: str) -> None:
    with open(tmp_path / name, "wb") as file:
        file.truncate(10**12)
    assert "more than" in refused(tmp_path, BINARY)


# --- csv ----------------------------------------------------------------------------------------------


def test_csv_with_probabilities_is_read(tmp_path: Path) -> None:
    text = "p1,row,prediction,p0\n0.1,0,no,0.9\n0.8,1,yes,0.2\n1,2,yes,0\n"
    found = read_predictions(csv(tmp_path, text), BINARY)
    assert found is not None
    np.testing.assert_array_equal(found.probabilities, GOOD["probabilities"])
    assert found.values.tolist() == [0, 1, 1]


def test_csv_of_a_regression_and_of_excel_are_read(tmp_path: Path) -> None:
    text = '"row","prediction"\r\n0,1.5\r\n1,-2e3\r\n2,0\r\n'
    found = read_predictions(csv(tmp_path, text, encoding="utf-8-sig"), NUMBERS)
    assert found is not None
    assert found.values.tolist() == [1.5, -2000.0, 0.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "predictions.csv has no column 'row'; it has none"),
        ("prediction\nno\n", "predictions.csv has no column 'row'; it has prediction"),
        ("row,label\n0,no\n", "predictions.csv has no column 'prediction'; it has row, label"),
        ("row,prediction\n0,no\n1\n2,no\n", "predictions.csv, line 3 has 1 fields, the header has 2"),
        ("row,prediction\n0,no,x\n", "predictions.csv, line 2 has 3 fields, the header has 2"),
        ("row,prediction\n", "there are 0 predictions for 3 test rows"),
        ("row,prediction\n0,no\n1,maybe\n2,no\n", "row 1: maybe is none of the classes no, yes"),
        ("row,prediction\n0,no\n1,\n2,no\n", "row 1:  is none of the classes"),
        ("row,prediction\nx,no\n1,no\n2,no\n", "predictions.csv cannot be read: invalid literal"),
        (
            "row,prediction,p0\n0,no,1\n1,no,1\n2,no,1\n",
            "predictions.csv has no column 'p1': one per class is needed",
        ),
        ("row,prediction,p0,p1\n0,no,a,0\n1,no,1,0\n2,no,1,0\n", "could not convert string to float"),
        ("row,prediction,p0,p0,p1\n0,no,1,1,0\n", "names a column twice: row, prediction, p0, p0, p1"),
        ("row,prediction\n0,no\n2,no\n1,no\n", "place 1 speaks of row 2"),
    ],
)
def test_bad_csv_is_refused(tmp_path: Path, text: str, message: str) -> None:
    assert message in refused(csv(tmp_path, text), BINARY)


@pytest.mark.parametrize("text", ["row,prediction\n0,1\n1,\n2,3\n", "row,prediction\n0,1\n1,NA\n2,3\n"])
def test_gap_in_a_csv_of_values_is_refused(tmp_path: Path, text: str) -> None:
    assert "could not convert string to float" in refused(csv(tmp_path, text), NUMBERS)


def test_text_in_another_encoding_is_refused(tmp_path: Path) -> None:
    assert "is not UTF-8" in refused(csv(tmp_path, "row,prediction\n0,grün\n", encoding="latin-1"), BINARY)

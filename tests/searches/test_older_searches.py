"""A search folder and a model that an earlier version wrote are read, and nothing in them is computed again."""

from __future__ import annotations

import json
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn

import assay
from assay.searches.configurations import full
from assay.searches.pipelines import Demand, make_pipeline

HERE = Path(__file__).parent
# As the earlier version printed it: assay search bundled/iris --configurations 6 --folds 3.
WINNER = "univariate(alpha=0.001, most=100) svm_poly(cost=0.01, gamma=1, degree=3)"
ESTIMATE = 0.2711249018073521


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with tarfile.open(HERE / "data" / "folder-1.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    about = tmp_path / "iris-search" / "search.json"
    # Kept work holds for one version of scikit-learn only, which is not what this test is about.
    about.write_text(
        json.dumps({**json.loads(about.read_text()), "the version of scikit-learn": sklearn.__version__})
    )
    return about.parent


def test_a_folder_of_the_version_before_is_read_and_nothing_is_computed(folder: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    found = assay.search("bundled/iris", configurations=6, folds=3, folder=folder)
    assert found.pieces == (18, 18)
    assert (found.winner, found.interval.estimate) == (WINNER, pytest.approx(ESTIMATE, rel=1e-9))
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_a_damaged_piece_is_computed_again(folder: Path) -> None:
    np.savez(folder / "r0-f0-s0.npz", values=np.zeros((2, 2, 2)), failed=np.frombuffer(b"{}", dtype=np.uint8))
    (folder / "r0-f0-s1.npz").write_bytes(b"not a zip file")
    whole = (folder / "r0-f0-s2.npz").read_bytes()
    (folder / "r0-f0-s2.npz").write_bytes(whole[: len(whole) // 2])
    (folder / "r0-f0-s3.npz").unlink()
    (folder / "r0-f0-s3.npz").symlink_to("/dev/zero")
    found = assay.search("bundled/iris", configurations=6, folds=3, folder=folder)
    assert found.pieces == (18, 14) and found.winner == WINNER


def test_a_model_of_the_version_before_can_be_loaded() -> None:
    """Saved models name the modules that their classes were in."""
    x = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0] * 5, "b": ["x", "y", "y", "x"] * 5})
    y = np.array([0, 1] * 10)
    chosen = {(one.selector.kind, one.learner.kind): one for one in full()}
    for one in chosen.values():
        if one.learner.kind.startswith("svm"):
            continue  # of scikit-learn's own classes
        model = make_pipeline(one, Demand()).fit(x, y)
        saved = pickle.dumps(model, protocol=0).replace(b"cassay.searches.", b"cassay.studies.")
        assert b"assay.studies.preparation" in saved
        loaded = pickle.loads(saved)
        assert (loaded.predict(x) == model.predict(x)).all()

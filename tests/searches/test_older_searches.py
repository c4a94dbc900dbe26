"""Models that an earlier version saved can be loaded: their classes are found where they were."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from assay.searches.configurations import full
from assay.searches.pipelines import Demand, pipeline_of


@pytest.mark.parametrize("earlier", ["assay.studies", "assay.searches"])
def test_a_model_of_the_version_before_can_be_loaded(earlier: str) -> None:
    """Saved models name the modules that their classes were in."""
    x = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0] * 5, "b": ["x", "y", "y", "x"] * 5})
    y = np.array([0, 1] * 10)
    chosen = {(one.selector.kind, one.learner.kind): one for one in full()}
    for one in chosen.values():
        if one.learner.kind.startswith("svm"):
            continue  # of scikit-learn's own classes
        model = pipeline_of(one, Demand()).fit(x, y)
        saved = pickle.dumps(model, protocol=0).replace(
            b"cassay.frameworks.pipeline.", f"c{earlier}.".encode()
        )
        assert f"{earlier}.preparation".encode() in saved
        loaded = pickle.loads(saved)
        assert (loaded.predict(x) == model.predict(x)).all()

"""Say what an estimator of a user's file is by its own tags: `tags.py JOB CODE`, in the sandbox of a job.

Writes `out/tags.json`: {"kind": "classifier", "multi_class": true}, and "space" where the class has `assay_space`, the
tables of a search space or a function that returns them. Nothing is written where the file or the class fails, because
that is for the job itself to report.
"""

import importlib.util
import json
import sys
from pathlib import Path


def main(job, code):
    """Make the estimator as the adapter does, and write down what it says of itself."""
    params = json.loads((Path(job) / "job.json").read_text())["params"]
    path = Path(code) / params["_file"]
    spec = importlib.util.spec_from_file_location("assay_estimator_" + path.stem, str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    given = {key: value for key, value in params.items() if not key.startswith("_")}
    make = getattr(module, params["_class"])
    kind, multi_class = kind_of(make(**given))
    tags = {"kind": kind, "multi_class": multi_class}
    space = getattr(make, "assay_space", None)
    if space is not None:
        tags["space"] = space() if callable(space) else space
    (Path(job) / "out" / "tags.json").write_text(json.dumps(tags))


def kind_of(model):
    """Return `classifier`, `regressor`, `clusterer` …, or None; and whether it takes more than two classes.

    From scikit-learn 1.6 on the tags are a record, before they were an attribute and a dict; pipelines and searches
    pass on what they wrap in either case.
    """
    try:
        from sklearn.utils import get_tags

        tags = get_tags(model)
        several = getattr(tags.classifier_tags, "multi_class", True)
        if tags.estimator_type:
            return tags.estimator_type, bool(several)
    except Exception:  # an older scikit-learn, none, or a class that does not know of tags
        pass
    kind = getattr(model, "_estimator_type", None)
    more = getattr(model, "_more_tags", dict)
    binary_only = callable(more) and dict(more() or {}).get("binary_only", False)
    return kind if isinstance(kind, str) else None, not binary_only


if __name__ == "__main__":
    main(*sys.argv[1:])

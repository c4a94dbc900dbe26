"""Named folders that lie elsewhere on another machine: a launch writes its paths relative to them.

`{store}/folds/ab/train.npz` is a file of the store wherever the store lies; a path below none of these folders is
taken to be the same everywhere. A place that has some of them elsewhere says so to the supervisors it starts, by the
variable `ASSAY_ROOTS`: a JSON object of names and folders.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import ConfigError

if TYPE_CHECKING:  # every supervisor imports this module, and needs no settings
    from assay.settings import Settings

__all__ = ["VARIABLE", "given_roots", "roots_here", "to_absolute", "to_relative"]

VARIABLE = "ASSAY_ROOTS"
FRAMEWORKS = Path(__file__).resolve().parent.parent / "frameworks"


def roots_here(store: Path, settings: Settings) -> dict[str, str]:
    """Return the folders of this machine by name.

    `store`, `cache`, `state` and `locks` are those of the settings, `environments` holds the frameworks' own
    environments, `frameworks` the folders of those that come with Assay; `interpreter` is the environment in which
    Assay itself runs and `base_interpreter` the installation that this environment was made from.
    """
    folders = {
        "store": store,
        "cache": settings.cache,
        "environments": settings.cache / "environments",
        "state": settings.state,
        "locks": settings.locks,
        "frameworks": FRAMEWORKS,
        "interpreter": sys.prefix,
        "base_interpreter": sys.base_prefix,
    }
    return {name: str(folder) for name, folder in folders.items()}


def given_roots(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the folders that lie elsewhere, as whoever started this process says."""
    text = environ.get(VARIABLE) or "{}"
    try:
        folders = json.loads(text)
        return {str(name): str(folder) for name, folder in folders.items()}
    except (ValueError, AttributeError):
        raise ConfigError(
            f"{VARIABLE} is '{text[:80]}'. Give a JSON object of names and folders, such as "
            '{"store": "/mnt/results"}.'
        ) from None


def to_relative(path: str, roots: Mapping[str, str]) -> str:
    """Return a path relative to the innermost of the roots that holds it, or as it is."""
    # As text: this is asked a hundred times for each job.
    holding = [
        name for name, root in roots.items() if path == root or path.startswith(root.rstrip("/") + "/")
    ]
    if not path or not holding:
        return path
    name = max(holding, key=lambda name: len(roots[name]))
    below = path[len(roots[name]) :].strip("/")
    return f"{{{name}}}/{below}" if below else f"{{{name}}}"


def to_absolute(path: str, roots: Mapping[str, str]) -> str:
    """Return a path with its root put in; a path without one of these roots stays as it is."""
    match = re.match(r"\{(\w+)\}/*", path)
    if match is None or match[1] not in roots:
        return path
    return str(Path(roots[match[1]], path[match.end() :]))

"""What a nursery does before it forks jobs: a made-up job, of which nothing is left."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from assay.runs.ready import BORDER

# A child in a process of its own, as a nursery has it: imports the adapter, rehearses, and says what it has imported.
REHEARSE = """\
import importlib.util, json, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("child", sys.argv[1])
child = importlib.util.module_from_spec(spec)
spec.loader.exec_module(child)
child.prepare(Path(sys.argv[2]))
jobs = []
def work(folder, adapter):
    child.rehearse_work(folder, adapter)
    jobs.append(sorted(path.name for path in (folder / "out").iterdir()))
child.load_border_module("rehearsal").rehearse(work)
print(json.dumps({"jobs": jobs, "modules": sorted(sys.modules)}))
"""


def rehearse(tmp_path: Path, imports: str) -> tuple[list[list[str]], set[str]]:
    """Rehearse for an adapter with these imports; return what each made-up job wrote, and all modules."""
    adapter, scratch = tmp_path / "adapter.py", tmp_path / "scratch"
    adapter.write_text(f"{imports}\n")
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", REHEARSE, str(BORDER / "child.py"), str(adapter)],
        env={"TMPDIR": str(scratch)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stderr, list(scratch.iterdir())) == ("", [])
    told = json.loads(done.stdout)
    return told["jobs"], set(told["modules"])


@pytest.mark.parametrize("imports", ["", "import sklearn", "import sklearn, pandas"])
def test_made_up_jobs_are_whole_and_nothing_is_left_of_them(tmp_path: Path, imports: str) -> None:
    jobs, _ = rehearse(tmp_path, imports)
    assert jobs == [["predictions.npz", "report.json"]] * 10


def test_a_rehearsal_imports_no_library_that_the_framework_has_not(tmp_path: Path) -> None:
    _, modules = rehearse(tmp_path, "")
    assert not modules & {"sklearn", "pandas", "scipy"}

"""The script that runs inside a framework's environment: load, fit, predict, write, time the inference.

Started by path with `python -s`, as `child.py JOB_FOLDER ADAPTER`; nothing of Assay is importable. Split into
`prepare` (imports only, so that a warm process can fork afterwards) and `run` (one job). The test targets are
not here: they never leave Assay.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import importlib.util
import json
import os
import platform
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Dict, Iterable, List, Tuple

HERE = Path(__file__).resolve().parent
# The files beside this one are imported under names of their own; a library may have an `encode` or `tables` too.
sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != HERE]
BORDER = ("contract", "tables", "encode")
TIMING_REPEATS = 10
TIMING_SECONDS_PER_SIZE = 1.0


def load_module(name: str, path: Path) -> ModuleType:
    """Import one file under a name of our choice, without its folder on the path."""
    spec = importlib.util.spec_from_file_location(name, str(path))
    if spec is None or spec.loader is None:
        raise ImportError("cannot import " + str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def prepare(adapter: Path) -> ModuleType:
    """Import the contract and the adapter, and with it the framework's libraries; computes nothing."""
    load_border()
    return load_module("assay_adapter", adapter)


def load_border() -> None:
    """Import the files beside this one as a package, and give adapters the names they import."""
    package = ModuleType("assay_border")
    package.__path__ = [str(HERE)]
    sys.modules["assay_border"] = package
    for name in BORDER:
        sys.modules["assay_" + name] = importlib.import_module("assay_border." + name)


def phases() -> Callable[[str], None]:
    """Return the function that tells the supervisor which phase begins (a line to $ASSAY_PHASES)."""
    path = os.environ.get("ASSAY_PHASES")
    if not path:
        return lambda name: None
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)

    def announce(name: str) -> None:
        os.write(descriptor, (name + "\n").encode())

    return announce


def run(folder: Path, adapter: ModuleType, announce: Callable[[str], None]) -> int:
    """Do one job and write `out/`; return the exit code."""
    contract = sys.modules["assay_contract"]
    report: Dict[str, Any] = {"schema": 1, "python": platform.python_version(), "phases": {}}
    try:
        _work(folder, adapter, announce, contract, report)
    except BaseException as error:  # the adapter is foreign code: whatever it raises becomes the report
        report["error"] = describe(error)
        report["invalid_predictions"] = isinstance(error, contract.InvalidPrediction)
        contract.write_report(folder, report)
        traceback.print_exc(file=sys.__stderr__)  # the framework may have left another stream in its place
        if isinstance(error, SystemExit):
            return error.code if isinstance(error.code, int) else 1
        return 1
    return 0


def describe(error: BaseException) -> Dict[str, str]:
    """Return an exception's name and message; of kin of MemoryError the name says so."""
    name = type(error).__name__
    if isinstance(error, MemoryError) and not name.endswith("MemoryError"):
        name = "MemoryError"
    return {"type": name, "message": str(error)[:4000]}


def _work(
    folder: Path,
    adapter: ModuleType,
    announce: Callable[[str], None],
    contract: ModuleType,
    report: Dict[str, Any],
) -> None:
    clock = time.monotonic
    began = clock()

    def done(phase: str) -> None:
        nonlocal began
        now = clock()
        report["phases"][phase] = now - began
        began = now

    job = contract.read_job(folder)
    if hasattr(adapter, "start"):  # a JVM and the like: its start is not the framework's time to learn
        try:
            adapter.start(contract.Budget(job.budget_s, job.cores, job.memory_mb), dict(job.params))
        except Exception:
            report["import_failed"] = True
            raise
    began = clock()
    announce("load")
    train, test = read_rows(job)
    done("load")
    announce("fit")
    budget = contract.Budget(job.budget_s, job.cores, job.memory_mb)
    model = adapter.fit(train, budget, dict(job.params))
    done("fit")
    report.update(train.reported)
    announce("predict")
    prediction = adapter.predict(model, test)
    done("predict")
    contract.write_predictions(prediction, job)
    report.update(train.reported)
    contract.write_report(folder, report)
    began = clock()
    announce("timing")
    report["timing"] = time_inference(
        lambda rows: adapter.predict(model, rows), test, job.batch_sizes, job.timing_s
    )
    done("timing")
    contract.write_report(folder, report)
    if hasattr(adapter, "export"):
        announce("export")
        export(adapter, model, train)
        done("export")
        report.update(train.reported)
        contract.write_report(folder, report)
    announce("end")
    close = getattr(adapter, "close", None)
    if close is not None:
        close(model)


def read_rows(job: Any) -> Tuple[Any, Any]:
    """Return the training rows with their target, and the test rows."""
    contract, tables = sys.modules["assay_contract"], sys.modules["assay_tables"]
    learn, ask = tables.read_table(job, "train"), tables.read_table(job, "test")
    rows = contract.Rows(job.columns, learn.arrays, learn.n_rows)
    return contract.Train(job, rows, learn.y), contract.Rows(job.columns, ask.arrays, ask.n_rows)


def export(adapter: ModuleType, model: object, train: Any) -> None:
    """Let the adapter write what it knows beside the predictions; what breaks here is noted, not raised."""
    try:
        adapter.export(model, train)
    except Exception as error:
        traceback.print_exc()
        train.report(export_problem="%s: %s" % (type(error).__name__, error))


def time_inference(
    predict: Callable[[Any], object], test: Any, sizes: Iterable[int], most_s: float
) -> Dict[str, Dict[str, object]]:
    """Time `predict` on batches of each size, after the predictions are safe, for `most_s` seconds in all.

    A batch cycles through the test rows. Up to 10 repeats a size, and no further one after 1 s was spent on it. A size
    that would not be done in time, going by how the sizes before it grew, is left out. A failure here is noted, not
    raised.
    """
    out: Dict[str, Dict[str, object]] = {}
    deadline = time.perf_counter() + most_s
    known: List[float] = []
    for size in sizes:
        left = deadline - time.perf_counter()
        if left < expected(known):
            out[str(size)] = {"skipped": "it would have taken longer than the time for this"}
            continue
        try:
            seconds = time_batches(predict, test, size, min(left, TIMING_SECONDS_PER_SIZE))
        except Exception as error:
            out[str(size)] = {"error": "%s: %s" % (type(error).__name__, error)}
            continue
        known.append(median(seconds))
        out[str(size)] = {"median_s": known[-1], "repeats": len(seconds)}
    return out


def expected(known: List[float]) -> float:
    """Return the seconds that the next size takes at least if it grows as the last one did."""
    if len(known) < 2:
        return known[-1] if known else 0.0
    return known[-1] * max(1.0, known[-1] / max(known[-2], 1e-9))


def median(seconds: List[float]) -> float:
    """Return the median of times."""
    ordered = sorted(seconds)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def time_batches(predict: Callable[[Any], object], test: Any, size: int, most_s: float) -> List[float]:
    """Return the seconds of each repeat; there is one at least."""
    import numpy as np

    seconds: List[float] = []
    gc.collect()
    while not seconds or (len(seconds) < TIMING_REPEATS and sum(seconds) < most_s):
        batch = test.take(np.arange(size) % test.n_rows)  # fresh: what it makes of the rows is timed too
        start = time.perf_counter()
        predict(batch)
        seconds.append(time.perf_counter() - start)
    return seconds


def main() -> int:
    """Run the job folder and adapter named on the command line."""
    folder, adapter_path = Path(sys.argv[1]), Path(sys.argv[2])
    faulthandler.enable()
    announce = phases()
    announce("start")  # before any foreign code: what is printed from now on is not the sandbox's
    try:
        adapter = prepare(adapter_path)
    except BaseException as error:  # a module may even call sys.exit when it is imported
        traceback.print_exc()
        said = {"schema": 1, "python": platform.python_version(), "phases": {}, "error": describe(error)}
        said["import_failed"] = True
        (folder / "out").mkdir(exist_ok=True)
        # The contract may be what cannot be imported (no numpy), so it is not used here.
        (folder / "out" / "report.json").write_text(json.dumps(said), encoding="utf-8")
        return 1
    return run(folder, adapter, announce)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(code)

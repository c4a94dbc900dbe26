"""The script that runs inside a framework's environment: load, fit, predict, write, time the inference.

Started by path with `python -s`, as `child.py JOB_FOLDER ADAPTER`, or as `child.py --nursery CONTROL STATUS ADAPTER` to
fork one job after another; nothing of Assay is importable. Split into `prepare` (imports only) and `run` (one job). The
test targets are not here: they never leave Assay.
"""

from __future__ import annotations

import atexit
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
from typing import Any, Callable, Dict, Tuple

HERE = Path(__file__).resolve().parent
# The files beside this one are imported under names of their own; a library may have an `encode` or `tables` too.
sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != HERE]
BORDER = ("contract", "tables", "encode")
JOB = Path("/job")  # where a sandbox shows the job to a process that was forked into it


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
    for name in BORDER:
        sys.modules["assay_" + name] = load_border_module(name)


def load_border_module(name: str) -> Any:
    """Import one of the files beside this one."""
    if getattr(sys.modules.get("assay_border"), "__path__", None) != [str(HERE)]:
        package = ModuleType("assay_border")
        package.__path__ = [str(HERE)]
        sys.modules["assay_border"] = package
    return importlib.import_module("assay_border." + name)


def phases() -> Callable[[str], None]:
    """Return the function that tells the supervisor which phase begins (a line to $ASSAY_PHASES)."""
    path = os.environ.get("ASSAY_PHASES")
    if not path:
        return lambda name: None
    return announcer(os.open(path, os.O_WRONLY | os.O_CLOEXEC))


def announcer(descriptor: int) -> Callable[[str], None]:
    """Return a function that writes names of phases as lines."""

    def announce(name: str) -> None:
        os.write(descriptor, (name + "\n").encode())

    return announce


def run(folder: Path, adapter: ModuleType, announce: Callable[[str], None]) -> int:
    """Do one job and write `out/`; return the exit code."""
    contract = sys.modules["assay_contract"]
    report: Dict[str, Any] = {"schema": 1, "python": platform.python_version(), "phases": {}}
    try:
        _work(folder, adapter, announce, report)
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
    report: Dict[str, Any],
) -> None:
    contract = sys.modules["assay_contract"]
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
    report["timing"] = {}
    contract.write_report(folder, report)
    began = clock()
    announce("timing")
    if job.batch_sizes:
        report["timing"] = load_border_module("timing").time_inference(
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


def rehearse_work(folder: Path, adapter: Any) -> None:
    """Do a job of which nobody hears; whatever goes wrong is raised."""
    _work(folder, adapter, lambda phase: None, {"schema": 1, "phases": {}})


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


def leave(code: int) -> None:
    """End without taking the interpreter apart, which can take longer than a small job."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (
            AttributeError,
            OSError,
            ValueError,
        ):  # the framework may have closed it or put another in its place
            pass
    os._exit(code)


def main_nursery() -> None:
    """Import the adapter named on the command line, then fork one job after another from this process."""
    import socket

    control_end, status, adapter_path = int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    nursery = load_border_module("nursery")
    nursery.keep_house(status)
    control = socket.socket(fileno=control_end)
    os.set_inheritable(control_end, False)
    try:
        adapter = prepare(adapter_path)
    except BaseException as error:
        control.send(json.dumps({"error": "its import fails: " + describe(error)["message"]}).encode())
        return
    try:
        load_border_module("rehearsal").rehearse(rehearse_work)
    except Exception as error:
        control.send(
            json.dumps({"error": "its rehearsal fails: %s: %s" % tuple(describe(error).values())}).encode()
        )
        return
    said = nursery.describe_self()

    def do_job(descriptor: int) -> None:
        faulthandler.enable()
        os.environ["ASSAY_PHASES"] = "/dev/fd/%d" % descriptor
        sys.argv[1:] = [str(JOB), str(adapter_path)]  # as in a process of its own
        announce = announcer(descriptor)
        announce("start")
        leave(run(JOB, adapter, announce))

    gc.collect()
    nursery.use_huge_pages()
    gc.freeze()  # what is here already is never looked at again, so that its pages stay shared
    control.send(json.dumps(said).encode())
    nursery.serve(control, do_job)


if __name__ == "__main__":
    if sys.argv[1] == "--nursery":
        main_nursery()
    else:
        leave(main())

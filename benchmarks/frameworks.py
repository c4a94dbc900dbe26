"""Install and check every framework that has an environment of its own: `make test-frameworks`.

Each is built in an empty cache (downloads included) and run through `assay framework check`. What was found goes to
docs/data/frameworks.json, from which the tables of docs/reference/frameworks.md are made. Exit code 1 when one that
was found working before no longer is. Takes about two hours on two cores; name some to measure only these.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.frameworks.envs import environment_folder, environment_of, read_ready
from assay.frameworks.find import builtin_names, find_framework
from assay.frameworks.spec import FrameworkSpec
from assay.settings import Settings

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "data" / "frameworks.json"
CONSTRAINT = "1m1c"
# On one core a minute is too short for these: nothing is trained, or not even twice the time is enough.
LONGER = {
    "autogluon": "4m1c",
    "autogluon_fast": "4m1c",
    "autosklearn2": "2m1c",
    "flaml": "3m1c",
    "mljar": "3m1c",
}
ASSAY = [sys.executable, "-m", "assay"]
LICENCE = """
import sys
from importlib.metadata import metadata
found = metadata(sys.argv[1])
texts = [line.split(" :: ")[-1] for line in found.get_all("Classifier", []) if line.startswith("License ::")]
said = found.get("License-Expression") or ", ".join(texts) or (found.get("License") or "").strip().split("\\n")[0]
print(said[:60])
"""


def clock() -> str:
    """Return the time of day, for the log."""
    return datetime.now(UTC).strftime("%H:%M:%S")


def everything() -> list[str]:
    """Return what is to be checked: all but the baselines, and each lock that is not its framework's default."""
    out = []
    for name in builtin_names():
        spec = find_framework(name)
        if spec.environment == "assay":
            continue
        others = (
            sorted(path.stem for path in (spec.folder / "locks").glob("*.txt")) if not spec.extends else []
        )
        out += [name, *(f"{name}:{version}" for version in others if version != spec.version)]
    return out


def licence(spec: FrameworkSpec, settings: Settings) -> str:
    """Return the licence the framework's own package states."""
    if not spec.recipe.requires:
        return ""
    package = spec.recipe.requires[0].split("=")[0].split("[")[0]
    python = environment_of(spec, settings).python
    done = subprocess.run([str(python), "-I", "-c", LICENCE, package], capture_output=True, text=True)
    return done.stdout.strip()


def surroundings(cache: Path) -> dict[str, str]:
    """Return the environment of a process that knows no other cache than this one."""
    return {**os.environ, "ASSAY_CACHE": str(cache), "UV_CACHE_DIR": str(cache / "uv")}


def install(name: str, cache: Path) -> dict[str, Any]:
    """Install one framework; return what it took, or the problem."""
    spec, settings = find_framework(name), Settings(cache=cache, state=cache / "state")
    today = datetime.now(UTC).date().isoformat()
    found: dict[str, Any] = {"version": spec.version, "python": spec.python, "date": today}
    command = [*ASSAY, "framework", "install", name]
    done = subprocess.run(command, env=surroundings(cache), capture_output=True, text=True)
    if done.returncode != 0:
        return {**found, "problem": done.stderr.strip()[-500:]}
    if spec.environment != "own":
        return found
    ready = read_ready(environment_folder(spec, settings))
    found |= {"install_s": ready["seconds"], "size_mb": ready["size_mb"], "packages": len(ready["packages"])}
    return {**found, "licence": licence(spec, settings)}


def first_line(text: str) -> str:
    """Return what is enough of a message for the docs: tracebacks name folders of this run."""
    return text.split("\n")[0][:300]


def check(name: str, cache: Path, constraint: str) -> dict[str, Any]:
    """Run the check of an installed framework; return what held."""
    command = [*ASSAY, "framework", "check", name, "--constraint", constraint, "--json"]
    done = subprocess.run(command, env=surroundings(cache), capture_output=True, text=True)
    try:
        said = json.loads(done.stdout)[0]
    except ValueError:
        return {"problem": done.stderr.strip()[-500:]}
    keys = ("status", "metric", "score", "fit_s")
    tasks = {
        task["task"]: {**{key: task[key] for key in keys}, "message": first_line(task["message"])}
        for task in said["tasks"]
    }
    claims = [
        {**claim, "problem": first_line(claim["problem"])} for claim in said["claims"] if claim["problem"]
    ]
    return {"constraint": constraint, "ok": said["ok"], "tasks": tasks, "claims": claims}


def main() -> int:
    """Install one after the other, then check two at a time: an install beside a check would eat its budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--constraint", help=f"instead of {CONSTRAINT}, or what a framework needs")
    parser.add_argument("-p", type=int, default=2)
    chosen = parser.parse_args()
    known: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    names = chosen.names or everything()
    worse = []
    with (
        tempfile.TemporaryDirectory(prefix="assay-frameworks-") as folder,
        ThreadPoolExecutor(chosen.p) as pool,
    ):
        cache = Path(folder)
        installed = {}
        for name in names:
            installed[name] = install(name, cache)
            print(name, installed[name].get("problem", f"installed, {clock()}"), flush=True)

        def finish(name: str) -> dict[str, Any]:
            one, constraint = installed[name], chosen.constraint or LONGER.get(name, CONSTRAINT)
            return one if "problem" in one else one | check(name, cache, constraint)

        for name, one in zip(names, pool.map(finish, names), strict=True):
            if known.get(name, {}).get("ok") and not one.get("ok"):
                worse.append(name)
            known[name] = one
            said = "ok" if one.get("ok") else one.get("problem", "breaks claims")
            print(name, one["version"], f"{said}, {clock()}", flush=True)
            RESULTS.parent.mkdir(exist_ok=True)
            text = json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False)
            RESULTS.write_text(text + "\n", encoding="utf-8")
    if worse:
        print(f"Worked before and no longer: {', '.join(worse)}.", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())

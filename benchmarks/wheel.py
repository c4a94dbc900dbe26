"""Test what users install: the wheel, on the oldest and the newest Python, and with the lowest allowed packages.

`python -m benchmarks.wheel` (or `make test-wheel`) builds the wheel, installs it into new environments, copies the
tests away from the checkout, and runs them there. Tests that are about the checkout itself are left out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from assay.frameworks.pythons import interpreters

ROOT = Path(__file__).resolve().parents[1]
# Python, and how its packages are chosen. The lowest versions have no wheels for the newest Python.
ENVIRONMENTS = (("3.11", "highest"), ("3.13", "highest"), ("3.11", "lowest-direct"))
COPIED = ("tests", "docs", "benchmarks", "README.md", "CHANGELOG.md", "Makefile", "pyproject.toml")
ABOUT_THE_CHECKOUT = "not slow and not network and not cluster and not checkout"


def main() -> int:
    """Test every environment; return 1 if the tests fail in one of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="such as 3.13-highest")
    parser.add_argument("tests", nargs="*", default=[], help="passed on to pytest")
    options = parser.parse_args()
    failed = []
    with tempfile.TemporaryDirectory(prefix="assay-wheel-") as folder:
        wheel = build_wheel(Path(folder))
        for python, resolution in ENVIRONMENTS:
            name = f"{python}-{resolution}"
            if options.only and name not in options.only:
                continue
            code = test(wheel, Path(folder, name), python, resolution, options.tests)
            print(f"{name}: {'passed' if code == 0 else f'failed ({code})'}", flush=True)
            failed += [name] if code else []
    return 1 if failed else 0


def uv(*words: str) -> None:
    """Run uv, the one beside this interpreter if there is one."""
    beside = Path(sys.executable).with_name("uv")
    subprocess.run([str(beside) if beside.exists() else "uv", *words], check=True)


def build_wheel(folder: Path) -> Path:
    """Return the wheel of this checkout."""
    uv("build", "--quiet", "--wheel", "--out-dir", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    return wheel


def test(wheel: Path, folder: Path, python: str, resolution: str, words: list[str]) -> int:
    """Install the wheel and run the tests beside it, where no checkout can be imported by accident."""
    venv = folder / "venv"
    uv("venv", "--quiet", "--python", str(interpreters().get(python, python)), str(venv))
    install = ("pip", "install", "--quiet", "--compile-bytecode", "--python", str(venv / "bin/python"))
    # The tests' own tools are free to be new; the lowest versions are those of the package.
    lowest = ("--resolution", resolution)
    uv(*install, *lowest, f"{wheel}[openml]")
    held = folder / "held.txt"
    freeze = [str(venv / "bin/python"), "-m", "pip", "freeze"] if (venv / "bin/pip").exists() else None
    names = subprocess.run(
        freeze
        or [str(Path(sys.executable).with_name("uv")), "pip", "freeze", "--python", str(venv / "bin/python")],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    held.write_text("".join(line + "\n" for line in names.splitlines() if "==" in line))
    uv(*install, "--constraints", str(held), "--group", f"{ROOT / 'pyproject.toml'}:dev")
    copy = folder / "copy"
    copy.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, copy / name)
    shared = ROOT.parent / "shared"
    if shared.exists():
        (folder / "shared").symlink_to(shared)
    environ = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environ["PATH"] = f"{venv / 'bin'}:{environ['PATH']}"
    workers = ["-n", "2", "--dist", "worksteal"]
    command = [str(venv / "bin/python"), "-m", "pytest", "-m", ABOUT_THE_CHECKOUT, *workers, *words]
    return subprocess.run(command, cwd=copy, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

"""What the base install weighs: megabytes and packages in a fresh environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Figure, clean_environ

HERE = Path(__file__).resolve().parent.parent


def measure() -> list[Figure]:
    """Install into a throw-away environment and look."""
    uv = Path(sys.executable).parent / "uv"
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as scratch:
        folder = Path(scratch) / "venv"
        # A wheel of the committed tree, so that nothing of the working folder slips in.
        source = Path(scratch) / "source"
        shutil.copytree(
            HERE, source, ignore=shutil.ignore_patterns(".venv", ".git", "results*", "demo-results")
        )
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder], check=True)
        install = [
            uv,
            "pip",
            "install",
            "--quiet",
            "--compile-bytecode",
            "--python",
            folder / "bin/python",
            source,
        ]
        subprocess.run(install, check=True, env=clean_environ())
        listed = subprocess.run(
            [uv, "pip", "list", "--quiet", "--python", folder / "bin/python"],
            check=True,
            capture_output=True,
            text=True,
        )
        packages = len(listed.stdout.strip().splitlines()) - 2
        size = sum(
            path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()
        )
    return [
        Figure("base install", size / 1e6, "MB", 680.0, "bytecode included"),
        Figure("base install", packages, "packages", 35.0),
    ]

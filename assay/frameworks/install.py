"""Build a framework's own environment from its lock file: with uv, or with pip where its recipe says so."""

from __future__ import annotations

import configparser
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from assay.errors import NotInstalled
from assay.frameworks.envs import (
    CACHE,
    READY,
    Environment,
    broken,
    environment_folder,
    environment_of,
    installed,
    requirements,
)
from assay.frameworks.pythons import find_python
from assay.frameworks.spec import FrameworkSpec
from assay.settings import Settings

__all__ = [
    "build_environment",
    "find_uv",
    "hold_environment",
    "install_environ",
    "run_tool",
    "write_build_constraints",
]

Tell = Callable[[str], None]
TORCH = "torch=="
# pip's settings that uv does not read by itself, and uv's names for them.
PIP_TO_UV = {
    "find-links": "UV_FIND_LINKS",
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_EXTRA_INDEX_URL",
}


def build_environment(
    spec: FrameworkSpec, settings: Settings, tell: Tell = lambda line: None, rebuild: bool = False
) -> Environment:
    """Build the framework's environment from its lock, or return the one that is there.

    Safe to call from several processes at once: the second waits for the first. One that was interrupted or has
    lost files is built anew, and so is every one with `rebuild`. `tell` gets a line for every step.
    """
    if spec.environment != "own":
        return environment_of(spec, settings)
    folder = environment_folder(spec, settings)
    if not rebuild and not broken(folder):  # who only wants to use it does not wait for those who do
        return environment_of(spec, settings)
    with _locked(_lock_file(folder), lambda: tell("waiting: somebody is building it, or runs jobs in it")):
        if rebuild or broken(folder):
            try:
                _Build(spec, settings, folder, tell).everything()
            except NotInstalled as error:
                remedy = f"When that is fixed, run: assay framework install {spec.address}"
                raise NotInstalled(f"{error}\n{remedy}") from None
    return environment_of(spec, settings)


@contextmanager
def hold_environment(spec: FrameworkSpec, settings: Settings) -> Iterator[None]:
    """Keep a framework's environment from being rebuilt for the length of a block: jobs import from it all the time."""
    path = _lock_file(environment_folder(spec, settings)) if spec.environment == "own" else None
    if path is None or not os.access(
        path.parent, os.W_OK
    ):  # a cache that we cannot write is another's to mind
        yield
        return
    with open(path, "a", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def _lock_file(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.lock")


class _Build:
    def __init__(self, spec: FrameworkSpec, settings: Settings, folder: Path, tell: Tell) -> None:
        self.spec, self.settings, self.folder, self.tell = spec, settings, folder, tell
        self.python = folder / "bin" / "python"
        self.environ = install_environ()
        self.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{self.environ.get('PATH', '')}"
        self.uses_pip = spec.recipe.installer == "pip"

    def everything(self) -> None:
        """Make, fill and prepare the environment; only the last line makes it count."""
        began = time.monotonic()
        base = find_python(self.spec.python)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.tell(f"making an environment with {base}")
        try:
            self._make(base)
            scratch = self.folder / "scratch"  # uv leaves locks in it; here they go with a killed install too
            scratch.mkdir()
            self.environ["TMPDIR"] = str(scratch)
            write_build_constraints(self.spec, self.folder, self.environ)
            if self.spec.recipe.tools:
                self._install([*self.spec.recipe.tools])
            self._install_lock()
            if self.spec.recipe.prepare is not None:
                self._prepare()
            shutil.rmtree(scratch)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)  # gigabytes that nobody could use
            raise
        self._note(time.monotonic() - began)

    def _make(self, base: Path) -> None:
        command = [str(base), "-m", "venv", str(self.folder)]
        if not self.uses_pip:
            command = [find_uv(), "venv", "--quiet", "--no-project", "--python", str(base), str(self.folder)]
        self._run(command)

    def _install_lock(self) -> None:
        lock = self.spec.lock
        if lock is None:
            return
        lines = requirements(self.spec)
        self.tell(f"installing {len(lines)} packages")
        words = ["--no-deps", "--requirement", str(lock)]
        try:
            self._install(words)
        except NotInstalled as error:
            if self.uses_pip or self.settings.offline or not any(line.startswith(TORCH) for line in lines):
                raise
            # Nobody told where the CPU build of torch lies; uv knows the index of its makers.
            try:
                self._install([*words, "--torch-backend", "cpu"])
            except NotInstalled:
                raise NotInstalled(
                    f"{error}\nIf it is torch that was not found: give the folder with its CPU build as UV_FIND_LINKS."
                ) from None

    def _install(self, words: Sequence[str]) -> None:
        if self.uses_pip:
            command = [str(self.python), "-m", "pip", "install", "--disable-pip-version-check"]
            command += ["--no-index"] if self.settings.offline else []
        else:
            command = [find_uv(), "pip", "install", "--compile-bytecode", "--python", str(self.python)]
            command += ["--offline"] if self.settings.offline else []
        self._run([*command, *words])

    def _prepare(self) -> None:
        """Run the framework's own script once; what it writes to its folder is there for every job, read-only."""
        self.tell("building its caches")
        cache = self.folder / CACHE
        cache.mkdir()
        self._run([str(self.python), "-I", str(self.spec.recipe.prepare), str(cache)])

    def _note(self, seconds: float) -> None:
        prefix = subprocess.run(
            [str(self.python), "-I", "-c", "import sys; print(sys.base_prefix)"],
            capture_output=True,
            text=True,
            check=True,
        )
        size = sum(path.lstat().st_size for path in self.folder.rglob("*") if path.is_file())
        ready = {
            "base": prefix.stdout.strip(),
            "packages": installed(self.folder),
            "seconds": round(seconds, 1),
            "size_mb": round(size / 2**20),
        }
        partial = self.folder / f"{READY}.partial"
        partial.write_text(json.dumps(ready, indent=1), encoding="utf-8")
        os.replace(partial, self.folder / READY)

    def _run(self, command: list[str]) -> None:
        what = f"The environment of {self.spec.name} {self.spec.version} could not be built"
        run_tool(command, self.environ, what, self.tell)


def run_tool(command: Sequence[str], environ: dict[str, str], failure: str, tell: Tell) -> None:
    """Run a program, pass its lines on, and raise NotInstalled with the last of them when it fails."""
    lines: list[str] = []
    with subprocess.Popen(
        list(command), env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace",
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line.rstrip())
                tell(lines[-1])
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        last = "\n".join(line for line in lines[-15:] if line)
        raise NotInstalled(f"{failure}:\n{last or f'exit code {process.returncode}'}")


def find_uv() -> str:
    """Return the uv that came with Assay, or the one on the PATH."""
    beside = Path(sys.executable).parent / "uv"
    path = str(beside) if beside.exists() else shutil.which("uv")
    if path is None:
        raise NotInstalled("Environments are built with uv, which is not installed. Run `pip install uv`.")
    return path


def install_environ() -> dict[str, str]:
    """Return the variables for uv and pip: the user's, with pip's settings passed on to uv."""
    left_out = ("PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")
    environ = {key: value for key, value in os.environ.items() if key not in left_out}
    environ["UV_PYTHON_DOWNLOADS"] = "never"
    for setting, name in PIP_TO_UV.items():
        value = _pip_setting(setting)
        if value and name not in environ:
            environ[name] = ",".join(value.split()) if setting == "find-links" else value
            if setting == "extra-index-url":  # pip looks at all indexes alike
                environ.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")
    return environ


def write_build_constraints(spec: FrameworkSpec, folder: Path, environ: dict[str, str]) -> None:
    """Tell uv and pip, by a file in `folder`, what packages must be built with."""
    if spec.recipe.build:
        path = folder / "build-constraints.txt"
        path.write_text("\n".join(spec.recipe.build) + "\n", encoding="utf-8")
        environ["UV_BUILD_CONSTRAINT"] = environ["PIP_CONSTRAINT"] = str(path)


def _pip_setting(name: str) -> str:
    """Return one of pip's settings as pip would find it: variable, then the user's file, then the machine's."""
    value = os.environ.get("PIP_" + name.upper().replace("-", "_"))
    if value is not None:
        return value
    config = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    files = [Path("/etc/pip.conf"), Path("~/.pip/pip.conf").expanduser(), config / "pip" / "pip.conf"]
    if "PIP_CONFIG_FILE" in os.environ:
        files = [*files, Path(os.environ["PIP_CONFIG_FILE"])]
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read(files, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return ""  # pip itself would complain; uv has its own configuration
    return parser.get("install", name, fallback="") or parser.get("global", name, fallback="")


@contextmanager
def _locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield

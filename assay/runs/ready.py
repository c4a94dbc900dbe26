"""Frameworks made ready for a run: their scripts kept in the store, their environments found or built."""

from __future__ import annotations

import compileall
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay.errors import NotInstalled
from assay.files import remove_tree, write_replace
from assay.frameworks.envs import Environment, environment_of
from assay.frameworks.install import build_environment
from assay.frameworks.spec import FrameworkSpec
from assay.jobs.folder import StoreFolder
from assay.settings import Settings

__all__ = ["Ready", "keep_code", "keep_lock", "make_ready"]

BORDER = Path(__file__).resolve().parent.parent / "frameworks" / "border"


@dataclass(frozen=True)
class Ready:
    """A framework as one run uses it: looked at once, so that an edit half way changes nothing.

    `problem` says why it cannot run here; its jobs then end as `setup` rows.
    """

    spec: FrameworkSpec
    digest: str
    code: Path
    environment: Environment | None
    problem: str = ""


def make_ready(
    spec: FrameworkSpec,
    store: StoreFolder,
    settings: Settings,
    install: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> Ready:
    """Copy the framework's scripts into the store and find its environment, which is built first with `install`."""
    code = keep_code(spec, store)
    try:
        environment = build_environment(spec, settings, tell) if install else environment_of(spec, settings)
        keep_lock(environment, store)
        return Ready(spec, spec.digest(), code, environment)
    except NotInstalled as error:
        return Ready(spec, spec.digest(), code, None, str(error))


def keep_lock(environment: Environment, store: StoreFolder) -> None:
    """Keep the list of packages in the store, by its digest, which every row names."""
    path = store.root / "locks" / f"{environment.digest}.txt"
    if environment.lock and not path.exists():
        path.parent.mkdir(exist_ok=True)
        write_replace(path, lambda file: file.write(environment.lock.encode()))


def keep_code(spec: FrameworkSpec, store: StoreFolder) -> Path:
    """Return a folder of the store with exactly the scripts the child runs, kept by their digest as evidence."""
    files = {f"border/{file.name}": file for file in sorted(BORDER.glob("*.py"))}
    files.update({file.name: file for file in spec.files})
    if spec.adapter is not None:
        files["adapter.py"] = spec.adapter
    texts = {name: path.read_bytes() for name, path in files.items()}
    digest = hashlib.sha256(
        b"".join(name.encode() + b"\0" + text + b"\0" for name, text in sorted(texts.items()))
    )
    folder = store.root / "code" / f"{spec.name}-{digest.hexdigest()[:16]}"
    if folder.exists():
        return folder
    partial = folder.with_name(f".{folder.name}.{os.getpid()}")
    (partial / "border").mkdir(parents=True)
    for name, text in texts.items():
        (partial / name).write_bytes(text)
    # For children on our own interpreter; others do not take notice. The name is the one inside the sandbox.
    compileall.compile_dir(partial, ddir="/assay", quiet=2)
    try:
        os.rename(partial, folder)
    except OSError:  # somebody else was faster
        remove_tree(partial)
    return folder

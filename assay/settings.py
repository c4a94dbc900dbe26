"""One frozen record of where Assay keeps things and what it may do; passed in, never global."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from assay.errors import ConfigError

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """Folders and switches of one run of Assay.

    `cache` holds what can be made again (tables, splits, environments); `state` holds what cannot:
    the secret from which test rows are permuted. `locks` holds a lock for each core, so that two runs on a machine do
    not share one: all runs on a machine must agree on it. `offline` forbids every network call.
    """

    cache: Path
    state: Path
    offline: bool = False
    network_timeout_s: float = 20.0
    locks: Path = field(default_factory=lambda: _locks(os.environ))

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read `ASSAY_CACHE`, `ASSAY_STATE`, `ASSAY_LOCKS`, `ASSAY_OFFLINE` and `ASSAY_NETWORK_TIMEOUT`.

        Folders are XDG's by default, that of the locks one in the machine's folder for temporary files.
        """
        env = os.environ if environ is None else environ
        home = Path(env.get("HOME") or Path.home())
        cache = env.get("ASSAY_CACHE") or Path(env.get("XDG_CACHE_HOME") or home / ".cache") / "assay"
        state = env.get("ASSAY_STATE") or Path(env.get("XDG_STATE_HOME") or home / ".local/state") / "assay"
        return cls(
            cache=Path(cache).expanduser().absolute(),
            state=Path(state).expanduser().absolute(),
            offline=env.get("ASSAY_OFFLINE", "").lower() in {"1", "true", "yes", "on"},
            network_timeout_s=_seconds(env.get("ASSAY_NETWORK_TIMEOUT") or "20"),
            locks=_locks(env),
        )


def _locks(environ: Mapping[str, str]) -> Path:
    folder = environ.get("ASSAY_LOCKS") or Path(tempfile.gettempdir(), "assay-cores")
    return Path(folder).expanduser().absolute()


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < inf:
        raise ConfigError(f"ASSAY_NETWORK_TIMEOUT is '{text}'. Give seconds, for example 20.")
    return value

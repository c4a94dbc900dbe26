"""One frozen record of where Assay keeps things and what it may do; passed in, never global."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path

from assay.errors import ConfigError

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """Folders and switches of one run of Assay.

    `cache` holds what can be made again (tables, splits, environments); `state` holds what cannot:
    the secret from which test rows are permuted. `offline` forbids every network call.
    """

    cache: Path
    state: Path
    offline: bool = False
    network_timeout_s: float = 20.0

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read `ASSAY_CACHE`, `ASSAY_STATE`, `ASSAY_OFFLINE`, `ASSAY_NETWORK_TIMEOUT`; XDG folders by default."""
        env = os.environ if environ is None else environ
        home = Path(env.get("HOME") or Path.home())
        cache = env.get("ASSAY_CACHE") or Path(env.get("XDG_CACHE_HOME") or home / ".cache") / "assay"
        state = env.get("ASSAY_STATE") or Path(env.get("XDG_STATE_HOME") or home / ".local/state") / "assay"
        return cls(
            cache=Path(cache).expanduser().absolute(),
            state=Path(state).expanduser().absolute(),
            offline=env.get("ASSAY_OFFLINE", "").lower() in {"1", "true", "yes", "on"},
            network_timeout_s=_seconds(env.get("ASSAY_NETWORK_TIMEOUT") or "20"),
        )


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < inf:
        raise ConfigError(f"ASSAY_NETWORK_TIMEOUT is '{text}'. Give seconds, for example 20.")
    return value

"""Fetch single files from an OpenML server through the `openml` client: the only network code for data.

The client's own `get_task` is not used: it has no time-outs, deletes what is cached when a call fails, and
keeps pickles. Its transport is (addresses, keys, error codes, checksums), with a time-out on every request,
one attempt each, and its cache layout below `settings.cache / "openml"`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from uuid import uuid4

from assay.errors import DataError, NotInstalled, UserError
from assay.settings import Settings

__all__ = ["SERVERS", "OpenMLCache"]

SERVERS: Mapping[str, str] = {
    "openml": "https://www.openml.org/api/v1/xml",
    "test.openml": "https://test.openml.org/api/v1/xml",
}

_lock = threading.Lock()  # the client's settings are global


@dataclass(frozen=True)
class OpenMLCache:
    """The files of one server that are cached, and the way to get those that are not."""

    server: str
    settings: Settings

    @property
    def folder(self) -> Path:
        """Return the folder of this server, laid out as the client does: `org/openml/www` and so on."""
        host = urlparse(self.server).netloc
        return self.settings.cache / "openml" / Path(*reversed(host.split(".")))

    def call(self, path: str, endpoint: str, what: str) -> Path:
        """Return the file `path`, which is what the server answers to an API call such as `task/31`."""
        return self._cached(path, what, lambda api: api._perform_api_call(endpoint, "get"))

    def download(self, path: str, url: str, what: str, md5: str = "") -> Path:
        """Return the file `path`, downloaded from `url`; its checksum is verified if there is one."""
        if not url.startswith(("http://", "https://")):
            raise DataError(
                f"The server gives no address for {what} (but '{url[:60]}'). Choose another task."
            )
        return self._cached(
            path, what, lambda api: api._download_text_file(source=url, md5_checksum=md5 or None)
        )

    def _cached(self, path: str, what: str, fetch: Callable[[Any], str]) -> Path:
        file = self.folder / path
        if file.exists():
            return file
        if self.settings.offline:
            raise DataError(
                f"Offline, and {what} is not cached ({file}). Run once with a network and without "
                "ASSAY_OFFLINE, "
                "or copy the cache of a machine that has it."
            )
        with _client(self.server, self.settings) as api, _plain_errors(self, what):
            text = fetch(api)
        file.parent.mkdir(parents=True, exist_ok=True)
        scratch = file.with_name(f".{file.name}.{os.getpid()}.{uuid4().hex[:8]}.tmp")
        scratch.write_text(text, encoding="utf-8", newline="")
        scratch.replace(file)
        return file


def _import_client(root: Path) -> tuple[Any, Any, Any]:
    """Import the client so that the cache folder it makes on import is ours."""
    before = os.environ.get("OPENML_CACHE_DIR")
    os.environ["OPENML_CACHE_DIR"] = str(root)
    try:
        import openml
        import requests
        from openml import _api_calls

        return openml, requests, _api_calls
    except ImportError as error:
        raise NotInstalled('OpenML needs its client: pip install "assay-bench[openml]"') from error
    finally:
        if before is None:
            del os.environ["OPENML_CACHE_DIR"]
        else:
            os.environ["OPENML_CACHE_DIR"] = before


@contextmanager
def _client(server: str, settings: Settings) -> Iterator[Any]:
    """Yield the client's transport, aimed at a server, with time-outs and one attempt; restore it after."""
    root = settings.cache / "openml"
    root.mkdir(parents=True, exist_ok=True)
    openml, requests, api = _import_client(root)

    session: Any = requests.Session

    class TimedSession(session):  # type: ignore[misc]
        def request(self, *args: object, **kwargs: object) -> object:
            kwargs["timeout"] = settings.network_timeout_s
            return super().request(*args, **kwargs)

    class TimedRequests:
        Session = TimedSession

        def __getattr__(self, name: str) -> object:
            return getattr(requests, name)

    config = openml.config
    with _lock:
        before = (config.server, config.retry_policy, config.connection_n_retries, api.requests)
        config.server, api.requests = server, TimedRequests()
        config.set_retry_policy("human", 1)
        try:
            yield api
        finally:
            config.server, api.requests = before[0], before[3]
            config.set_retry_policy(before[1], before[2])


@contextmanager
def _plain_errors(cache: OpenMLCache, what: str) -> Iterator[None]:
    import requests
    from openml.exceptions import OpenMLHashException, OpenMLServerException

    host = urlparse(cache.server).netloc
    try:
        yield
    except requests.exceptions.Timeout as error:
        raise DataError(
            f"{host} did not answer within {cache.settings.network_timeout_s:g} s when asked for {what}. "
            "Try again "
            "later, raise ASSAY_NETWORK_TIMEOUT, or work offline with what is cached (ASSAY_OFFLINE=1)."
        ) from error
    except requests.exceptions.RequestException as error:
        raise DataError(
            f"{host} cannot be reached for {what} ({type(error).__name__}). Check the network, or work "
            "offline with "
            "what is cached (ASSAY_OFFLINE=1)."
        ) from error
    except OpenMLServerException as error:
        raise DataError(
            f"{host} has no {what}: {error.message} (code {error.code}). Check the number."
        ) from error
    except OpenMLHashException as error:
        raise DataError(f"{what} of {host} does not match its checksum. Try again later.") from error
    except UserError:
        raise
    except Exception as error:  # the client's own code: whatever it raises is a failed download
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise DataError(f"{host} gave no usable answer for {what}: {reason}. Try again later.") from error

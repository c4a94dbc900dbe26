"""Write a file under another name and rename it: a reader sees the old file or the new one, never a part."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from assay.errors import ConfigError

__all__ = ["replace_file", "write_json", "write_replace"]


def write_replace(path: Path, write: Callable[[BinaryIO], Any], durable: bool = True) -> None:
    """Let `write` fill a file under another name, then rename it; `durable` waits until the disk has it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as file:
            write(file)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Mapping[str, Any], durable: bool = True) -> None:
    """Write JSON by rename; NaN is refused, because other languages cannot read it."""
    text = json.dumps(value, allow_nan=False, indent=1, ensure_ascii=False)
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        part = text[max(0, error.start - 20) : error.end + 20].encode("utf-8", "backslashreplace").decode()
        raise ConfigError(f"{path} cannot hold the text '{part}', which is not UTF-8. Rename it.") from None
    write_replace(path, lambda file: file.write(data), durable)


def replace_file(source: Path, target: Path) -> None:
    """Rename a file or folder, over the target if that is there."""
    os.replace(source, target)

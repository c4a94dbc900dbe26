"""Write a file under another name and rename it: a reader sees the old file or the new one, never a part."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from assay.errors import ConfigError

__all__ = ["make_folder", "replace_file", "write_json", "write_once", "write_replace"]


def write_replace(path: Path, write: Callable[[BinaryIO], object], durable: bool = True) -> None:
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


def write_json(path: Path, value: Mapping[str, object], durable: bool = True) -> None:
    """Write JSON by rename, one key a line; NaN is refused, because other languages cannot read it."""
    # Indenting everything would take Python's own encoder, which is eight times slower than the compiled one.
    lines = [f" {_to_json(str(key))}: {_to_json(item)}" for key, item in value.items()]
    text = "{\n" + ",\n".join(lines) + "\n}" if lines else "{}"
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        part = text[max(0, error.start - 20) : error.end + 20].encode("utf-8", "backslashreplace").decode()
        raise ConfigError(f"{path} cannot hold the text '{part}', which is not UTF-8. Rename it.") from None
    write_replace(path, lambda file: file.write(data), durable)


def _to_json(value: object) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def replace_file(source: Path, target: Path) -> None:
    """Rename a file or folder, over the target if that is there."""
    os.replace(source, target)


def write_once(path: Path, data: bytes) -> None:
    """Write a file unless it is there already, also if another process writes it at the same moment."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(data)
        try:
            os.link(partial, path)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make sure that there is a folder to keep work in; raises ConfigError where there cannot be one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ConfigError(f"{folder} is a file: name a folder.") from None
    except OSError as error:
        raise ConfigError(f"{folder} cannot be made: {error.strerror}. Name another folder.") from None

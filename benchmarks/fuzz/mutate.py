"""Mutations: of bytes, of JSON, of text that people write, of zip files with arrays, and of the file itself."""

from __future__ import annotations

import io
import json
import os
import random
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

Mutation = Callable[[bytes, random.Random], bytes]

STRANGE_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**31, 2**63, 10**30, 1e308, -0.0, "", "text", "\x1b[31m", "\ud800", "../../etc", "a\0b",
    "x" * 5000, [], {}, [[]], [1, "a", None], {"a": {"b": []}}, {"": 0}, "٣", "1e999",
)  # fmt: skip
STRANGE_TEXTS = (
    "", "\0", "\x1b]0;x\x07", "\ufeff", "\u202e", "nan", "-inf", "1e999", "9" * 400, "٣", '"\\ud800"', "'", '"',
    "[" * 3000, "{" * 3000, "a: " * 200, "\n", "\t", ",", ":", "- ", "!!python/object:os.system", "&a *a", "%YAML 9",
    "../../../x", "~", "/dev/zero", "/proc/self/mem", "-1", "null", "true",
)  # fmt: skip
SHAPES = ("(9999999999999,)", "()", "(-1,)", "(0, 99999999999)", "(2, 2, 2, 2, 2)", "(3,)", "(True,)")
TYPES = (
    "'|O'", "'<U1'", "'<U0'", "'>f8'", "'<M8[s]'", "'|V8'", "[('a', '<f8')]", "'<c16'", "'|S3'", "'<f2'",
    "'<U999999999'",
)  # fmt: skip
HEADERS = (
    (rb"'shape': \([^)]*\)", [f"'shape': {shape}".encode() for shape in SHAPES]),
    (rb"'descr': '[^']*'", [f"'descr': {kind}".encode() for kind in TYPES]),
    (
        rb"'fortran_order': False",
        [b"'fortran_order': True", b"'fortran_order': 3", b"'fortran_order': (((((("],
    ),
)


def change_bytes(data: bytes, rng: random.Random) -> bytes:
    """Truncate, flip, insert, delete, repeat or overwrite."""
    at = rng.randrange(len(data) + 1)
    end = min(len(data), at + rng.choice((1, 2, 4, 16, 200)))
    noise = rng.randbytes(rng.choice((1, 2, 4, 8, 64)))
    kind = rng.randrange(7)
    if kind == 0:
        return data[:at]
    if kind == 1 and at < len(data):
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if kind == 2:
        return data[:at] + noise + data[at:]
    if kind == 3:
        return data[:at] + data[end:]
    if kind == 4:
        return data[:end] + data[at:end] * rng.choice((1, 50)) + data[end:]
    if kind == 5:
        number = rng.choice((0, 0x7FFFFFFF, 0xFFFFFFFF, 0xD800, 0x110000, 2**16))
        return data[:at] + struct.pack("<I", number) + data[at + 4 :]
    return data[:at] + noise + data[at + len(noise) :]


def change_json(data: bytes, rng: random.Random) -> bytes:
    """Put a value of another type, or nothing, at a random place."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return change_bytes(data, rng)
    if rng.random() < 0.1:
        return rng.choice((b"[1]", b"3", b'"a"', b"null", b"{}", b'{"a":' * 20_000, b"[" * 100_000, b"NaN"))
    places = list(_places(value))
    if not places:
        return b"{}"
    holder, key = rng.choice(places)
    kind = rng.randrange(5)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[rng.choice(("", "x", "\ud800", "key"))] = holder.pop(key)
    elif kind == 2:
        deep: Any = 1
        for _ in range(rng.choice((30, 150, 400))):
            deep = [deep]
        holder[key] = deep
    else:
        holder[key] = rng.choice(STRANGE_VALUES)
    return json.dumps(value).encode()


def _places(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        yield from _places(item)


def change_text(data: bytes, rng: random.Random) -> bytes:
    """Replace, insert or repeat a word of a text that a person writes."""
    text = data.decode("utf-8", "replace")
    words = list(re.finditer(r"[\w.]+|[^\w\s]", text))
    if not words or rng.random() < 0.2:
        return change_bytes(data, rng)
    start, end = rng.choice(words).span()
    strange = rng.choice(STRANGE_TEXTS)
    kind = rng.randrange(3)
    if kind == 0:
        text = text[:start] + strange + text[end:]
    elif kind == 1:
        text = text[:start] + strange + text[start:]
    else:
        other = rng.choice(words).span()
        text = text[:start] + text[other[0] : other[1]] + text[end:]
    return text.encode("utf-8", "surrogatepass")


def change_npz(data: bytes, rng: random.Random) -> bytes:
    """Change the header or the bytes of an array, or the archive around it."""
    if rng.random() < 0.3:
        return change_zip(data, rng)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {info.filename: archive.read(info) for info in archive.infolist()}
    except Exception:  # what was damaged before may be damaged in any way
        return change_bytes(data, rng)
    if not members:
        return change_bytes(data, rng)
    name = rng.choice(list(members))
    kind = rng.randrange(5)
    if kind == 0:
        del members[name]
    elif kind == 1:
        members[rng.choice(("y.npy", "a.npy", "../x.npy", "names.npy", "\u202e.npy"))] = members.pop(name)
    elif kind == 2:
        members[name] = change_bytes(members[name], rng)
    elif kind == 3:
        members[name] = members[rng.choice(list(members))]
    else:
        pattern, values = rng.choice(HEADERS)
        members[name] = re.sub(pattern, lambda _: rng.choice(values), members[name], count=1)
    out = io.BytesIO()
    compression = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(out, "w", compression) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return out.getvalue()


def change_zip(data: bytes, rng: random.Random) -> bytes:
    """Change flags, methods, sizes or offsets in the directory of a zip file."""
    changed = bytearray(data)
    central = data.find(b"PK\x01\x02")
    if central < 0 or central + 46 > len(data):
        return change_bytes(data, rng)
    offset, form = rng.choice(
        ((8, "<H"), (10, "<H"), (16, "<I"), (20, "<I"), (24, "<I"), (28, "<H"), (42, "<I"))
    )
    struct.pack_into(form, changed, central + offset, rng.choice((0, 1, 8, 12, 14, 99, 0x7FFF)))
    return bytes(changed)


def _sparse(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(10**12)


def _device(path: Path) -> None:
    try:
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        path.symlink_to("/dev/zero")


SPECIAL: tuple[Callable[[Path], Any], ...] = (
    lambda path: None,
    lambda path: path.symlink_to("/dev/zero"),
    lambda path: path.symlink_to("nowhere"),
    lambda path: path.symlink_to(path.name),
    lambda path: path.symlink_to("/proc/self/environ"),
    os.mkfifo,
    lambda path: path.mkdir(),
    lambda path: path.write_bytes(b""),
    _sparse,
    _device,
)
BY_SUFFIX: dict[str, tuple[Mutation, ...]] = {
    ".json": (change_json, change_json, change_bytes),
    ".npz": (change_npz, change_npz, change_bytes),
    ".zip": (change_zip, change_bytes),
    **dict.fromkeys((".yaml", ".toml", ".csv", ".arff", ".txt"), (change_text,)),
}  # fmt: skip


def damage(path: Path, rng: random.Random, only_regular: bool = False) -> None:
    """Replace a file by a damaged one: in one case of eight by something that is no regular file, or a terabyte."""
    data = path.read_bytes()
    if rng.random() < 0.125 and not only_regular:
        path.unlink()
        rng.choice(SPECIAL)(path)
        return
    for _ in range(rng.choice((1, 1, 2, 3))):
        data = rng.choice(BY_SUFFIX.get(path.suffix, (change_bytes,)))(data, rng)
    path.write_bytes(data)

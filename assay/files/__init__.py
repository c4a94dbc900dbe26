"""Files: written whole or not at all, and read with distrust. Nobody else opens what a child or another store wrote."""

from __future__ import annotations

from assay.files.arrays import ArrayLimits, read_npy, read_npz
from assay.files.names import is_number, visible, visible_json
from assay.files.read import (
    Read,
    check_plain,
    digest_file,
    follow,
    is_regular,
    open_regular,
    read_bytes,
    read_json,
    read_tail,
    read_text,
    read_toml,
)
from assay.files.records import make_record, to_plain
from assay.files.tree import Found, Measure, Walk, copy_tree, has_link, remove_tree
from assay.files.write import make_folder, replace_file, write_json, write_once, write_replace

__all__ = [
    "ArrayLimits",
    "Found",
    "Measure",
    "Read",
    "Walk",
    "check_plain",
    "copy_tree",
    "digest_file",
    "follow",
    "has_link",
    "is_number",
    "is_regular",
    "make_folder",
    "make_record",
    "open_regular",
    "read_bytes",
    "read_json",
    "read_npy",
    "read_npz",
    "read_tail",
    "read_text",
    "read_toml",
    "remove_tree",
    "replace_file",
    "to_plain",
    "visible",
    "visible_json",
    "write_json",
    "write_once",
    "write_replace",
]

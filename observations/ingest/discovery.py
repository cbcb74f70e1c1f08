"""From what a person names to sources: files, folders, archives, standard input.

Folders are walked, archives are looked into without unpacking, both in the order of their names, so the same
input is always read in the same order. What a person *named* must be readable, or it is an error; what was only
*found* in a folder or archive is left out with a note.
"""

from __future__ import annotations

import gzip
import os
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

from observations.errors import SourceError
from observations.ingest.archives import add_archive
from observations.ingest.folder_rules import Found, is_passed_over, reason_of
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import Source

STANDARD_INPUT = "-"


def find_sources(names: Iterable[str | Path]) -> Found:
    """The sources that these names stand for, each file once.

    Raises:
        SourceError: a name leads to nothing that can be read: it is missing, unreadable or empty.

    """
    found = Found()
    seen: set[Path] = set()
    for name in names:
        if str(name) == STANDARD_INPUT:
            found.sources.append(_standard_input())
            continue
        if str(name) == "":
            raise SourceError("''", "the name is empty; use . for the current folder")
        path = Path(name)
        _check_readable(path)
        known = len(found.sources) + len(seen)
        for file in _files_under(path, found.notes):
            real = file.resolve()
            if real not in seen:
                seen.add(real)
                _add_file(file, found, None if file == path else str(path))
        if path.is_dir() and not known and not found.sources:
            raise SourceError(str(path), "the folder contains nothing to read")
    return found


def _check_readable(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise SourceError(str(path), "no such file or folder") from None
    except (OSError, ValueError) as error:
        raise SourceError(str(path), f"cannot be read ({reason_of(error)})") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISFIFO(mode)):
        raise SourceError(str(path), "is neither a file nor a folder")


def _files_under(path: Path, notes: list[Note]) -> Iterator[Path]:
    """The file itself, or the files in a folder and its folders, without hidden ones and links to folders."""
    if not path.is_dir():
        yield path
        return
    for folder, folders, files in os.walk(path, onerror=partial(_note_unreadable, notes)):
        is_maildir = "cur" in folders and "new" in folders
        folders[:] = sorted(f for f in folders if _is_walked(Path(folder, f), in_maildir=is_maildir))
        yield from (Path(folder, file) for file in sorted(files) if not is_passed_over(file))


def _is_walked(folder: Path, *, in_maildir: bool) -> bool:
    """True if a folder is to be read: a maildir's ``.Sent`` is one of its folders, its ``tmp`` is not mail yet."""
    if in_maildir:
        return folder.name != "tmp" and (not folder.name.startswith(".") or (folder / "cur").is_dir())
    return not is_passed_over(folder.name)


def _note_unreadable(notes: list[Note], error: OSError) -> None:
    message = f"the folder cannot be read ({reason_of(error)})"
    notes.append(Note("reject", str(error.filename), "unreadable", message))


def _add_file(path: Path, found: Found, found_in: str | None) -> None:
    """Add the file, or the members of the archive that it is."""
    try:
        if path.is_fifo():
            with _open(path) as stream:
                found.sources.append(_kept(stream, str(path)))
        else:
            _add_regular_file(path, found, found_in)
    except OSError as error:
        found.cannot_read(str(path), f"cannot be read ({reason_of(error)})", found_in, error)


def _add_regular_file(path: Path, found: Found, found_in: str | None) -> None:
    with path.open("rb") as stream:
        head = stream.read(512)
    if not head:
        found.is_empty(str(path), found_in)
    elif add_archive(path, head, found, found_in):
        return
    elif head.startswith(b"\x1f\x8b"):
        # The name without .gz tells what is inside, as for any other file.
        label = str(path).removesuffix(".gz")
        found.sources.append(Source(label, partial(_open_gzip, path), found_in=found_in))
    else:
        found.sources.append(Source(str(path), partial(_open, path), path, found_in))


def _open(path: Path) -> BinaryIO:
    return path.open("rb")


def _open_gzip(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path))


def _standard_input() -> Source:
    return _kept(sys.stdin.buffer, "standard input")


def _kept(stream: BinaryIO, label: str) -> Source:
    """What comes out of a pipe as a source that can be opened as often as wanted."""
    kept = _Kept(stream)
    if kept.path.stat().st_size == 0:
        raise SourceError(label, "is empty")
    return Source(label, kept.open)


class _Kept:
    """A copy of a stream in a temporary file, which is removed with the last reference to this."""

    def __init__(self, stream: BinaryIO) -> None:
        number, name = tempfile.mkstemp(prefix="habitus-")
        self.path = Path(name)
        weakref.finalize(self, self.path.unlink, missing_ok=True)
        with os.fdopen(number, "wb") as copy:
            shutil.copyfileobj(stream, copy)

    def open(self) -> BinaryIO:
        return self.path.open("rb")

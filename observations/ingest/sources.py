"""From what a person names to sources: files, folders, archives, standard input.

Folders are walked, archives are looked into without unpacking, both in the order of their names, so the same
input is always read in the same order. What a person *named* must be readable, or it is an error; what was only
*found* in a folder or archive is left out with a note.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from observations.errors import SourceError
from observations.ingest.base import Note, Source

STANDARD_INPUT = "-"

IN_MEMORY_BYTES = 64 * 2**20
"""Standard input larger than this is kept in a temporary file (readers may look at a source twice)."""

FOLDERS_OF_PROGRAMS = frozenset(("__pycache__", "node_modules", "__MACOSX"))
SUFFIXES_OF_SQLITE = ("-wal", "-shm", "-journal")


@dataclass
class Found:
    """What there is to read, and notes on what was passed over."""

    sources: list[Source] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def find_sources(names: Iterable[str | Path]) -> Found:
    """The sources that these names stand for, each once.

    Raises:
        SourceError: a name leads to nothing that can be read: it is missing, unreadable or empty.

    """
    found = Found()
    seen: set[Path] = set()
    for name in names:
        if str(name) == STANDARD_INPUT:
            found.sources.append(_standard_input())
            continue
        path = Path(name)
        _check_readable(path)
        before = len(found.sources)
        for file in _files_under(path, found.notes):
            real = file.resolve()
            if real not in seen:
                seen.add(real)
                _add_file(file, found, named=file == path)
        if path.is_dir() and len(found.sources) == before:
            raise SourceError(str(path), "the folder has nothing to read in it")
    return found


def _check_readable(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise SourceError(str(path), "there is no such file or folder") from None
    except (OSError, ValueError) as error:
        raise SourceError(str(path), f"cannot be read ({_reason(error)})") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISFIFO(mode)):
        raise SourceError(str(path), "is neither a file nor a folder")
    if not os.access(path, os.R_OK):
        raise SourceError(str(path), "cannot be read (permission denied)")


def _files_under(path: Path, notes: list[Note]) -> Iterator[Path]:
    """The file itself, or the files in a folder and its folders; hidden ones and links to folders are passed over."""
    if not path.is_dir():
        yield path
        return
    for folder, folders, files in os.walk(path, onerror=partial(_unreadable_folder, notes)):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in FOLDERS_OF_PROGRAMS)
        for file in sorted(files):
            if not file.startswith(".") and not file.endswith(SUFFIXES_OF_SQLITE):
                yield Path(folder, file)


def _unreadable_folder(notes: list[Note], error: OSError) -> None:
    notes.append(
        Note("reject", str(error.filename), "unreadable", f"the folder cannot be read ({_reason(error)})")
    )


def _add_file(path: Path, found: Found, *, named: bool) -> None:
    """Add the file, or the members of the archive that it is."""
    try:
        _look_inside(path, found, named=named)
    except OSError as error:
        if named:
            raise SourceError(str(path), f"cannot be read ({_reason(error)})") from error
        found.notes.append(Note("reject", str(path), "unreadable", f"cannot be read ({_reason(error)})"))


def _look_inside(path: Path, found: Found, *, named: bool) -> None:
    if path.is_fifo():
        found.sources.append(Source.of_bytes(path.read_bytes(), str(path)))
        return
    with path.open("rb") as stream:
        head = stream.read(512)
    before = len(found.sources)
    if not head:
        if named:
            raise SourceError(str(path), "is empty")
        found.notes.append(Note("left_out", str(path), "empty", "is empty"))
    elif head.startswith(b"PK\x03\x04") or (head.startswith(b"PK") and zipfile.is_zipfile(path)):
        _add_zip(path, found, named=named)
    elif _is_tar(path, head):
        _add_tar(path, found, named=named)
    else:
        found.sources.append(replace(Source.of_path(path), named=named))
        return
    if named and len(found.sources) == before:
        raise SourceError(str(path), "the archive has nothing to read in it")


def _add_zip(path: Path, found: Found, *, named: bool) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            members = sorted(archive.infolist(), key=lambda member: member.filename)
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        _damaged(path, error, found, named=named)
        return
    for member in members:
        label = f"{path}!{member.filename}"
        if member.is_dir() or _passed_over(member.filename):
            continue
        if not _is_inside(member.filename) or stat.S_ISLNK(member.external_attr >> 16):
            found.notes.append(_unsafe(label))
        elif member.flag_bits & 1:
            found.notes.append(Note("reject", label, "encrypted", "is encrypted"))
        elif member.file_size == 0:
            found.notes.append(Note("left_out", label, "empty", "is empty"))
        else:
            found.sources.append(Source(label, partial(_open_zip_member, path, member), named=False))


def _open_zip_member(path: Path, member: zipfile.ZipInfo) -> BinaryIO:
    archive = zipfile.ZipFile(path)
    stream = archive.open(member)
    archive.close()  # the member's stream holds the file open until it is closed itself
    return cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", stream)))


def _is_tar(path: Path, head: bytes) -> bool:
    if head[257:262] == b"ustar":
        return True
    squeezed = head.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ"))
    return squeezed and tarfile.is_tarfile(path)


def _add_tar(path: Path, found: Found, *, named: bool) -> None:
    try:
        with tarfile.open(path) as archive:
            members = sorted(archive.getmembers(), key=lambda member: member.name)
    except (tarfile.TarError, EOFError, ValueError) as error:
        _damaged(path, error, found, named=named)
        return
    for member in members:
        label = f"{path}!{member.name}"
        if member.isdir() or _passed_over(member.name):
            continue
        if not member.isfile() or not _is_inside(member.name):
            found.notes.append(_unsafe(label))
        elif member.size == 0:
            found.notes.append(Note("left_out", label, "empty", "is empty"))
        else:
            found.sources.append(Source(label, partial(_open_tar_member, path, member), named=False))


def _open_tar_member(path: Path, member: tarfile.TarInfo) -> BinaryIO:
    stream = tarfile.open(path).extractfile(member)  # noqa: SIM115  the member's stream keeps the archive
    assert stream is not None, "only files are listed"
    return cast("BinaryIO", stream)


def _damaged(path: Path, error: Exception, found: Found, *, named: bool) -> None:
    problem = f"the archive is damaged ({_reason(error)})"
    if named:
        raise SourceError(str(path), problem) from error
    found.notes.append(Note("reject", str(path), "unreadable", problem))


def _is_inside(name: str) -> bool:
    """Whether a member's name stays in the archive: relative, without a way up, on any system."""
    path = PurePosixPath(name.replace("\\", "/"))
    return not (path.is_absolute() or ".." in path.parts or (path.parts[:1] and path.parts[0].endswith(":")))


def _unsafe(label: str) -> Note:
    message = "points outside the archive; it is not read"
    return Note("warning", label, "unsafe_member", message)


def _passed_over(name: str) -> bool:
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return any((part.startswith(".") and part != "..") or part in FOLDERS_OF_PROGRAMS for part in parts)


def _standard_input() -> Source:
    """Standard input as a source that can be opened as often as wanted."""
    kept = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)  # noqa: SIM115  lives as long as the source
    shutil.copyfileobj(sys.stdin.buffer, kept)
    if kept.tell() == 0:
        raise SourceError(STANDARD_INPUT, "standard input is empty")
    return Source("standard input", partial(_again, kept), named=True)


def _again(kept: tempfile.SpooledTemporaryFile[bytes]) -> BinaryIO:
    kept.seek(0)
    return io.BytesIO(kept.read())


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) and error.strerror else str(error)).lower()

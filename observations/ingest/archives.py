"""Zip and tar archives, read in place: each member is a source that is opened within the archive.

A member whose name or kind points outside the archive (``../``, an absolute path, a link) is refused: no export has
such a thing for a good reason.
"""

from __future__ import annotations

import io
import lzma
import stat
import tarfile
import weakref
import zipfile
import zlib
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from observations.errors import SourceError
from observations.ingest.folder_rules import Found, is_passed_over, reason_of
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import Source

BEGINNING_BYTES = 8_192
"""Kept of each member of a compressed tar, which can only be opened by reading all that is before it."""

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
"""How a zip begins: with a member, or with the end of an empty one."""

DAMAGE = (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, NotImplementedError)
"""What the libraries raise where an archive or a compressed file is damaged, or of a kind they do not read."""


def add_archive(path: Path, head: bytes, found: Found, found_in: str | None) -> bool:
    """Add the members of the archive; whether the file is one at all.

    Raises:
        SourceError: the person named it, and it is damaged or has nothing to read in it.

    """
    if not head.startswith(ZIP) and not _is_tar(path, head):
        return False
    before = len(found.sources)
    try:
        if head.startswith(ZIP):
            _add_zip(path, found)
        else:
            _add_tar(path, found)
    except (*DAMAGE, ValueError) as error:
        found.cannot_read(str(path), f"cannot be read as an archive ({reason_of(error)})", found_in, error)
    else:
        if found_in is None and len(found.sources) == before:
            raise SourceError(str(path), "the archive contains nothing to read")
    return True


def _add_zip(path: Path, found: Found) -> None:
    shared = _Zip(path)
    if "[Content_Types].xml" in shared.archive.NameToInfo:
        raise NotImplementedError("it is an Office document; save its table as CSV")
    for member in sorted(shared.archive.infolist(), key=lambda member: member.filename):
        is_link = stat.S_ISLNK(member.external_attr >> 16)
        label = f"{path}!{member.filename}"
        if member.is_dir() or not _is_wanted(
            path, member.filename, member.file_size, found, is_plain=not is_link
        ):
            continue
        if member.flag_bits & 1:
            found.notes.append(Note("reject", label, "encrypted", "is encrypted"))
        else:
            found.sources.append(Source(label, partial(shared.open, member), found_in=str(path)))


class _Zip:
    """A zip that stays open for all its members, for to open it is to read the list of them; closed with the last."""

    def __init__(self, path: Path) -> None:
        self.archive = zipfile.ZipFile(path)
        weakref.finalize(self, self.archive.close)

    def open(self, member: zipfile.ZipInfo) -> BinaryIO:
        return io.BufferedReader(cast("io.RawIOBase", self.archive.open(member)))


def _is_tar(path: Path, head: bytes) -> bool:
    if head[257:262] == b"ustar":
        return True
    squeezed = head.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ"))
    try:
        return squeezed and tarfile.is_tarfile(path)
    except DAMAGE:
        return False  # a compressed file of some kind, and a damaged one: its reader will say so


def _add_tar(path: Path, found: Found) -> None:
    with tarfile.open(path) as archive:
        beginnings = {member: _beginning(archive, member) for member in archive}
    for member in sorted(beginnings, key=lambda member: member.name):
        label = f"{path}!{member.name}"
        if member.isdir() or not _is_wanted(path, member.name, member.size, found, is_plain=member.isfile()):
            continue
        opener = partial(_TarMember, path, member)
        found.sources.append(Source(label, opener, found_in=str(path), beginning=beginnings[member]))


def _beginning(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes | None:
    stream = archive.extractfile(member) if member.isfile() else None
    return stream.read(BEGINNING_BYTES) if stream is not None else None


class _TarMember(io.BufferedReader):
    """A member of a tar, which closes the archive with itself."""

    def __init__(self, path: Path, member: tarfile.TarInfo) -> None:
        self._archive = tarfile.open(path)  # noqa: SIM115  closed in close()
        stream = self._archive.extractfile(member)
        assert stream is not None, "only files are listed"
        super().__init__(cast("io.RawIOBase", stream))

    def close(self) -> None:
        super().close()
        self._archive.close()


def _is_wanted(path: Path, name: str, size: int, found: Found, *, is_plain: bool) -> bool:
    """True if a member is to be read; a note gives the reason if not."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if not is_plain or not _is_inside(parts):
        message = "points outside the archive; skipped"
        found.notes.append(Note("warning", f"{path}!{name}", "unsafe_member", message))
        return False
    if any(is_passed_over(part) for part in _without_maildir_folder(parts)):
        return False
    if size == 0:
        found.is_empty(f"{path}!{name}", str(path))
    return size > 0


def _without_maildir_folder(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The parts of a path but the name of a maildir's folder, which may begin with a dot: ``.Sent/cur/1``."""
    return (*parts[:-3], *parts[-2:]) if len(parts) > 2 and parts[-2] in ("cur", "new") else parts


def _is_inside(parts: tuple[str, ...]) -> bool:
    """True if a path is relative and has no ``..``, on any system."""
    return bool(parts) and parts[0] != "/" and not parts[0].endswith(":") and ".." not in parts

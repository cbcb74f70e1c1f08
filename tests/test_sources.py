"""Where observations come from: files, folders, archives, pipes."""

from __future__ import annotations

import gzip
import io
import os
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.errors import SourceError
from observations.ingest.discovery import find_sources
from observations.ingest.toolkit.reader import Source
from tests.log_strategies import damaged


def names(sources: list[Source], folder: Path) -> list[str]:
    return [source.label.replace(f"{folder}/", "") for source in sources]


def contents(sources: list[Source]) -> list[bytes]:
    read = []
    for source in sources:
        with source.open() as stream:
            read.append(stream.read())
    return read


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def test_a_folder_is_walked_in_the_order_of_its_names(tmp_path: Path) -> None:
    """Whatever order the file system has; hidden files and programs' folders are passed over."""
    for name in (
        "b/2.txt",
        "b/10.txt",
        "a/x.txt",
        "z.txt",
        ".hidden",
        ".git/y.txt",
        "a/__pycache__/c.txt",
        "h.db-wal",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(name)
    found = find_sources([tmp_path])
    assert names(found.sources, tmp_path) == ["z.txt", "a/x.txt", "b/10.txt", "b/2.txt"]
    assert {source.found_in for source in found.sources} == {str(tmp_path)}
    assert found.notes == []


def test_a_file_is_read_once_however_often_it_is_named(tmp_path: Path) -> None:
    """By itself, through its folder, through a link."""
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").symlink_to(tmp_path / "a.txt")
    found = find_sources([tmp_path / "a.txt", tmp_path, str(tmp_path / "a.txt")])
    assert names(found.sources, tmp_path) == ["a.txt"]
    assert found.sources[0].found_in is None


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "tar.xz"])
def test_an_archive_is_read_in_place(tmp_path: Path, kind: str) -> None:
    """Its members are sources, in order, as often as wanted; nothing is written anywhere."""
    members = {
        "Takeout/b.ics": b"B" * 9_000,
        "Takeout/a.mbox": b"A",
        "Takeout/.DS_Store": b"x",
        "Takeout/none": b"",
    }
    mode = {"zip": "", "tar": "w", "tar.gz": "w:gz", "tar.xz": "w:xz"}[kind]
    path = tmp_path / f"takeout.{kind}"
    path.write_bytes(zipped(members) if kind == "zip" else tarred(members, mode))
    found = find_sources([path])
    assert names(found.sources, tmp_path) == [
        f"takeout.{kind}!Takeout/a.mbox",
        f"takeout.{kind}!Takeout/b.ics",
    ]
    assert contents(found.sources) == [b"A", b"B" * 9_000] == contents(found.sources)
    assert [source.head(5) for source in found.sources] == [b"A", b"BBBBB"]
    assert [source.name for source in found.sources] == ["a.mbox", "b.ics"]
    assert [(note.reason, note.item) for note in found.notes] == [("empty", f"{path}!Takeout/none")]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "name", ["../evil.ics", "/etc/evil.ics", "a/../../evil.ics", "..\\evil.ics", "C:\\evil.ics"]
)
@pytest.mark.parametrize("pack", [zipped, tarred])
def test_a_member_that_points_outside_is_refused(tmp_path: Path, name: str, pack: object) -> None:
    """With a warning that names it; the others are read."""
    path = tmp_path / "archive"
    path.write_bytes(pack({name: b"x", "good.ics": b"y"}))  # type: ignore[operator]
    found = find_sources([path])
    assert contents(found.sources) == [b"y"]
    assert [(note.level, note.reason, note.source) for note in found.notes] == [
        ("warning", "unsafe_member", f"{path}!{name}")
    ]


def test_a_link_in_an_archive_is_refused(tmp_path: Path) -> None:
    """In a tar, and in a zip made on Unix."""
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("link.ics")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive_of_zip:
        member = zipfile.ZipInfo("link.ics")
        member.external_attr = 0o120777 << 16
        archive_of_zip.writestr(member, "/etc/passwd")
    for name in ("a.tar", "b.zip"):
        with pytest.raises(SourceError, match="the archive contains nothing to read"):
            find_sources([tmp_path / name])
        (tmp_path / "note.txt").write_text("x")
        found = find_sources([tmp_path])
        assert {note.reason for note in found.notes} == {"unsafe_member"}


def test_an_office_document_is_told_from_an_archive(tmp_path: Path) -> None:
    """It is a zip, and what is in it is no export."""
    path = tmp_path / "times.xlsx"
    path.write_bytes(zipped({"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b"<x/>"}))
    with pytest.raises(SourceError, match=r"it is an Office document; save its table as CSV\)$"):
        find_sources([path])


def test_an_archive_within_a_folder_is_looked_into(tmp_path: Path) -> None:
    """And a damaged one is a note, not an error."""
    (tmp_path / "good.zip").write_bytes(zipped({"a.txt": b"A"}))
    (tmp_path / "bad.zip").write_bytes(zipped({"a.txt": b"A"})[:40])
    found = find_sources([tmp_path])
    assert contents(found.sources) == [b"A"]
    assert [(note.level, note.reason, note.source) for note in found.notes] == [
        ("reject", "unreadable", str(tmp_path / "bad.zip"))
    ]


def test_a_gzipped_file_is_read_as_what_is_inside(tmp_path: Path) -> None:
    """Its name without .gz tells the kind."""
    path = tmp_path / "log.ndjson.gz"
    path.write_bytes(gzip.compress(b"content"))
    (source,) = find_sources([path]).sources
    assert (source.name, contents([source])) == ("log.ndjson", [b"content"])


def test_a_maildir_s_folders_are_walked(tmp_path: Path) -> None:
    """Those whose names begin with a dot too; what is still being delivered is not."""
    for name in ("cur/1:2,S", "new/2", "tmp/3", ".Sent/cur/4:2,S", ".Sent/new/.keep", ".cache/5"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = find_sources([tmp_path])
    assert names(found.sources, tmp_path) == [".Sent/cur/4:2,S", "cur/1:2,S", "new/2"]


def test_a_maildir_s_folders_are_walked_in_an_archive_too(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "mail.zip", "w") as archive:
        for name in ("m/cur/1:2,S", "m/.Sent/cur/4:2,S", "m/.Sent/new/.keep", "m/.cache/5", ".m/x/cur/6"):
            archive.writestr(name, "x")
    labels = [source.label.partition("!")[2] for source in find_sources([tmp_path / "mail.zip"]).sources]
    assert labels == ["m/.Sent/cur/4:2,S", "m/cur/1:2,S"]


def test_standard_input_can_be_looked_at_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers that need two passes get them."""

    class Pipe:
        buffer = io.BytesIO(b"from a pipe")

    monkeypatch.setattr(sys, "stdin", Pipe)
    found = find_sources(["-"])
    assert contents(found.sources) == [b"from a pipe"] == contents(found.sources)
    with pytest.raises(SourceError, match="standard input: is empty"):
        find_sources(["-"])


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: None, "no such file or folder"),
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.mkdir(), "the folder contains nothing to read"),
        (lambda path: path.write_bytes(b"PK\x03\x04 no zip"), r"cannot be read as an archive \(.+\)"),
        (lambda path: path.write_bytes(zipped({})), "the archive contains nothing to read"),
    ],
)
def test_what_is_named_must_be_readable(tmp_path: Path, make: object, problem: str) -> None:
    """One line says which it is and what is wrong."""
    path = tmp_path / "named.zip"
    make(path)  # type: ignore[operator]
    with pytest.raises(SourceError, match=f"^{path}: ({problem})$"):
        find_sources([path])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    """An error if it was named, a note if it was found."""
    path = tmp_path / "secret.txt"
    path.write_text("x")
    path.chmod(0)
    with pytest.raises(SourceError, match=r"cannot be read \(permission denied\)"):
        find_sources([path])


@given(st.sampled_from([zipped, tarred, lambda m: tarred(m, "w:gz")]), st.data())
@settings(deadline=None, max_examples=120)
def test_a_damaged_archive_is_read_or_refused_in_words(pack: object, data: st.DataObject) -> None:
    """Opening its members included."""
    import tempfile

    from observations.ingest.archives import DAMAGE

    content = data.draw(damaged(pack({"a.txt": b"A" * 300, "b.txt": b"B"})))  # type: ignore[operator]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "archive"
        path.write_bytes(content)
        try:
            sources = find_sources([path]).sources
        except SourceError as error:
            message = str(error)
            assert "\n" not in message
            return
        for source in sources:
            try:
                with source.open() as stream:
                    stream.read()
            except (OSError, *DAMAGE):
                continue

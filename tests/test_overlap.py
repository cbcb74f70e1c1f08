"""Reading the same export twice, or two overlapping exports of one source, adds nothing: in every format."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from observations.ingest.discovery import find_sources
from observations.ingest.read import ReadingReport, read_sources
from observations.ingest.registry import READERS
from observations.ingest.toolkit.reader import ReadOptions
from tests.export_samples import WRITERS, Writer, eml, mbox

OPTIONS = ReadOptions(until=datetime(2027, 1, 1, tzinfo=UTC), tz="Europe/Berlin", me=("maya@example.com",))


def read(*paths: Path) -> tuple[list[pl.DataFrame], ReadingReport]:
    """The batches of each, and what became of it."""
    report = ReadingReport()
    found = find_sources(paths)
    return [batch.observations for batch in read_sources(found.sources, OPTIONS, report)], report


def ids(frames: Sequence[pl.DataFrame]) -> list[str]:
    return sorted(id for frame in frames for id in frame.get_column("id"))


def written(folder: Path, name: str, content: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(("name", "write"), WRITERS, ids=[name for name, _ in WRITERS])
def test_exports_that_overlap_are_one(name: str, write: Writer, tmp_path: Path) -> None:
    """Read together in either order they give what one export of everything gives, each thing once."""
    early = written(tmp_path / "early", name, write(range(6)))
    late = written(tmp_path / "late", name, write(range(3, 9)))
    whole, report = read(written(tmp_path / "whole", name, write(range(9))))
    assert report.observations >= 9
    assert len(set(ids(whole))) == report.observations
    for paths in ((early, late), (late, early)):
        frames, _ = read(*paths)
        assert ids(frames) == ids(whole)


@pytest.mark.parametrize(("name", "write"), WRITERS, ids=[name for name, _ in WRITERS])
def test_an_export_again_adds_nothing(name: str, write: Writer, tmp_path: Path) -> None:
    """Its records are counted as read before, all of them."""
    first = written(tmp_path / "first", name, write(range(6)))
    again = written(tmp_path / "again", name, write(range(6)))
    once, _ = read(first)
    both, report = read(first, again)
    assert ids(both) == ids(once)
    assert report.sources[str(again)].observations == 0
    assert report.sources[str(again)].counts["left_out", "repeated"] == len(ids(once))


def test_a_message_in_an_mbox_and_in_a_maildir_is_one(tmp_path: Path) -> None:
    """What identifies it is in it, whatever holds it."""
    box = written(tmp_path, "mail.mbox", mbox([1, 2, 4]))
    one = written(tmp_path, "1.eml", eml(1).encode())
    assert ids(read(box, one)[0]) == ids(read(box)[0])


def test_every_format_is_here(tmp_path: Path) -> None:
    """All but PowerShell's history, which has no times, and single messages, which the test above has."""
    paths = [written(tmp_path, name, write(range(2))) for name, write in WRITERS]
    recognised = {source.recognised for source in read(*paths)[1].sources.values()}
    assert recognised == {reader.name for reader in READERS} - {"PowerShell history", "mail message"}

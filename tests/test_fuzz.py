"""Any bytes, through the front door: each format recognised by its first bytes, read, completed, and counted.

What damage may cost at most is tested with each reader; here no format is forgotten, and nothing is let through.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.errors import SourceError
from observations.ingest.read import ReadingReport, read_sources
from observations.ingest.toolkit.reader import ReadOptions, Source
from observations.schema import check_observations
from tests.export_samples import WRITERS, Writer, eml
from tests.log_strategies import damaged

OPTIONS = ReadOptions(until=datetime(2027, 1, 1, tzinfo=UTC), tz="Europe/Berlin", allow_future=True)

FORMATS: tuple[tuple[str, Writer], ...] = (
    *WRITERS,
    ("1.eml", lambda numbers: eml(numbers[0]).encode()),
    ("ConsoleHost_history.txt", lambda numbers: "".join(f"Get-Item {n}\r\n" for n in numbers).encode()),
)


def survives(content: bytes, name: str) -> None:
    """It is read, or refused in one line; what is read is in order, and every note is counted."""
    report = ReadingReport()
    try:
        batches = list(read_sources([Source.of_bytes(content, name)], OPTIONS, report))
    except SourceError as error:
        message = str(error)
        assert message.startswith(name)
        assert "\n" not in message
        return
    for batch in batches:
        check_observations(batch.observations)
        assert batch.observations.get_column("at").null_count() == 0
    noted = sum(note.count for batch in batches for note in batch.notes)
    assert sum(report.sources[name].counts.values()) == noted
    assert report.observations == sum(batch.observations.height for batch in batches)


@pytest.mark.parametrize(("name", "write"), FORMATS, ids=[name for name, _ in FORMATS])
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_valid_files_flipped_cut_and_doubled(name: str, write: Writer, data: st.DataObject) -> None:
    survives(data.draw(damaged(write(range(4)))), name)


@pytest.mark.parametrize(("name", "write"), FORMATS, ids=[name for name, _ in FORMATS])
@settings(deadline=None, max_examples=40)
@given(tail=st.binary(max_size=200), kept=st.floats(0, 1))
def test_arbitrary_bytes_behind_a_beginning_of_each_format(
    name: str, write: Writer, tail: bytes, kept: float
) -> None:
    content = write(range(4))
    survives(content[: int(kept * len(content))] + tail, name)


@pytest.mark.parametrize(("name", "write"), FORMATS, ids=[name for name, _ in FORMATS])
def test_a_file_doubled_as_a_whole(name: str, write: Writer) -> None:
    survives(write(range(4)) * 2, name)

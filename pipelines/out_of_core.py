"""Out-of-core buffer: holds observations in memory up to a limit, and on disk above it.

On disk they are partitioned by a hash of the user, so that each partition holds whole people and fits into memory: ten
million observations take no more memory than one million. The temporary folder is deleted when the buffer is closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

import polars as pl

from observations.errors import SettingError
from observations.schema import concat_observations, unique_observations

IN_MEMORY = 1_500_000
"""Maximum number of observations held in memory."""

_AT_ONCE = 500_000
"""Observations written at a time, once the buffer is on disk."""

BUCKETS = 64
"""Number of partitions."""

_BUCKET = "bucket"


class ObservationBuffer:
    """A buffer of observations, added frame by frame and returned by person; a context manager.

    Attributes:
        observations: number of observations added, including repeats.
        first: the earliest instant; None while the buffer is empty.
    """

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self.first: datetime | None = None
        self.observations = 0
        self._names: set[str] = set()
        self._in_memory = in_memory
        self._held: list[pl.DataFrame] = []
        self._holds = 0
        self._folder: TemporaryDirectory[str] | None = None
        self._files = 0

    def __enter__(self) -> ObservationBuffer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    @property
    def people(self) -> int:
        """The number of people with observations."""
        return len(self._names)

    def add(self, frame: pl.DataFrame) -> None:
        """Add an observation frame; duplicates across frames are removed by `frames`.

        Raises:
            SettingError: the memory limit is exceeded and the temporary folder is full.
        """
        if frame.is_empty():
            return
        first = frame.get_column("at").min()
        assert isinstance(first, datetime)
        self.first = first if self.first is None else min(first, self.first)
        self._names.update(frame.get_column("user_id").unique())
        self._held.append(frame)
        self._holds += frame.height
        self.observations += frame.height
        if self._holds > (self._in_memory if self._folder is None else min(_AT_ONCE, self._in_memory)):
            self._write_to_disk()

    def frames(self) -> Iterator[pl.DataFrame]:
        """Each observation once, all those of a person in one frame. Empties the buffer, so call it only once."""
        if self._folder is None:
            yield unique_observations(self._joined())
            return
        self._write_to_disk()
        for bucket in range(BUCKETS):
            files = sorted(Path(self._folder.name).glob(f"{bucket}-*.arrow"))
            if files:
                parts = (pl.read_ipc(file) for file in files)
                yield unique_observations(concat_observations(parts))

    def _joined(self) -> pl.DataFrame:
        frames, self._held, self._holds = self._held, [], 0
        return concat_observations(frames)

    def _write_to_disk(self) -> None:
        if not self._held:
            return
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="habitus-")
        frames, self._held, self._holds = self._held[::-1], [], 0
        while frames:
            some = [frames.pop()]
            while frames and sum(frame.height for frame in some) < _AT_ONCE:
                some.append(frames.pop())
            bucket = (pl.col("user_id").hash() % BUCKETS).alias(_BUCKET)
            parts = concat_observations(some).with_columns(bucket).partition_by(_BUCKET, include_key=True)
            for part in parts:
                file = Path(self._folder.name) / f"{part.item(0, _BUCKET)}-{self._files:06}.arrow"
                try:
                    part.drop(_BUCKET).write_ipc(file)
                except OSError as error:
                    raise SettingError(
                        f"{file.parent}: cannot write observations that exceed the memory limit ({error}); "
                        "set TMPDIR to a folder with more room"
                    ) from error
            self._files += 1

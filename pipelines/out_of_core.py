"""Crowd: the observations of any number of people, in memory while they are few and on disk when they are many.

On disk they lie in a temporary folder, in so many files that each holds whole people and fits into memory: people are
told apart by a hash of their names. So ten million observations take no more memory than one million. The folder goes
when the crowd is closed.
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
"""Observations that are held in memory."""

_AT_ONCE = 500_000
"""Observations that are set down in one go, once it is known that they are many."""

BUCKETS = 64
"""Files that people are shared out over."""

_BUCKET = "bucket"


class Crowd:
    """Observations, gathered frame by frame, and given back by people; a context manager.

    Attributes:
        observations: how many were added, repeats among them.
        first: the earliest instant of any, null while there is none.
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

    def __enter__(self) -> Crowd:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    @property
    def people(self) -> int:
        """Of how many people there are observations."""
        return len(self._names)

    def add(self, frame: pl.DataFrame) -> None:
        """Take up an observation frame; records that are in several frames are one in the end.

        Raises:
            SettingError: they are too many for memory, and the temporary folder has no room for them.
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
            self._set_down()

    def frames(self) -> Iterator[pl.DataFrame]:
        """Every observation once, nobody in two frames. What was held in memory is given away, so only once."""
        if self._folder is None:
            yield unique_observations(self._joined())
            return
        self._set_down()
        for bucket in range(BUCKETS):
            files = sorted(Path(self._folder.name).glob(f"{bucket}-*.arrow"))
            if files:
                parts = (pl.read_ipc(file) for file in files)
                yield unique_observations(concat_observations(parts))

    def _joined(self) -> pl.DataFrame:
        frames, self._held, self._holds = self._held, [], 0
        return concat_observations(frames)

    def _set_down(self) -> None:
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
                        f"{file.parent}: what is too much for memory cannot be set down there ({error}); "
                        "set TMPDIR to a folder with more room"
                    ) from error
            self._files += 1

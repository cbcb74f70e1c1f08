"""Batch: exports in, patterns out, in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import polars as pl

from observations.errors import SettingError
from observations.ingest.discovery import find_sources
from observations.ingest.read import ReadingReport, read_observations
from observations.ingest.toolkit.complete import complete
from observations.ingest.toolkit.reader import ReadOptions
from observations.model import Observation
from observations.schema import BASE, check_observations
from patterns.explain import Explanation, explain
from patterns.model import Pattern, read_patterns, write_patterns
from patterns.pattern_frame import PATTERNS
from patterns.settings import Settings
from pipelines.input_checks import check_anything_read, check_reading
from pipelines.input_tables import DataFrameLike, frame_of_python, paths_or_records, read_records, read_table
from pipelines.out_of_core import ObservationBuffer
from pipelines.parallel import evaluate_parts, workers_for
from pipelines.pattern_detail import Explained
from pipelines.wall_clock import wall_clock

OBSERVATIONS_WITH_WEEKS = 100_000
"""Up to so many observations a notebook shows the weeks of each pattern, which takes as long as detecting it did."""

Sources = (
    str
    | Path
    | Iterable[str | Path]
    | Iterable[Mapping[str, object] | Observation]
    | pl.DataFrame
    | pl.LazyFrame
    | DataFrameLike
)
"""What `detect` takes."""


@dataclass(frozen=True, eq=False)
class Basis:
    """What a detection rests on, so that it can be asked about later.

    Attributes:
        read: gives the observations; called when they are asked for.
        as_of: the evaluation time; each person's newest observation if None.
        settings: by which patterns were judged.
    """

    read: Callable[[], pl.DataFrame]
    as_of: datetime | None
    settings: Settings


@dataclass(frozen=True, eq=False)
class Detection:
    """What was detected. In a notebook it shows itself.

    Attributes:
        frame: all patterns, one a row (`patterns.pattern_frame.PATTERNS`).
        observations: how many observations they rest on.
        people: how many people those are of.
        report: what became of each source, where sources were read.
        basis: the observations themselves, and how they were judged, while they are available.
    """

    frame: pl.DataFrame
    observations: int
    people: int
    report: ReadingReport = field(default_factory=ReadingReport)
    basis: Basis | None = None

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """All patterns."""
        return tuple(read_patterns(self.frame))

    @property
    def confirmed(self) -> tuple[Pattern, ...]:
        """The confirmed patterns."""
        return self._of("confirmed")

    @property
    def tracking(self) -> tuple[Pattern, ...]:
        """The patterns that are not confirmed yet, each with what it still lacks."""
        return self._of("tracking")

    @property
    def expired(self) -> tuple[Pattern, ...]:
        """The patterns that were confirmed once and ended."""
        return self._of("expired")

    @cached_property
    def observed(self) -> pl.DataFrame:
        """The observations that it rests on (`observations.schema`).

        Raises:
            SettingError: they are no longer available.
        """
        return self._basis.read()

    @property
    def settings(self) -> Settings:
        """By which the patterns were judged."""
        return Settings() if self.basis is None else self.basis.settings

    @cached_property
    def explanation(self) -> Explanation:
        """Everything behind its patterns; takes as long as detecting them did, the first time.

        Raises:
            SettingError: the observations are no longer available.
        """
        return explain(self.observed, self._basis.as_of, self.settings, self.frame.get_column("id").to_list())

    def explain(self, pattern: Pattern | str) -> Explained:
        """One pattern and everything behind it. In a notebook it shows itself.

        Args:
            pattern: the pattern, its id, or the beginning of its id.

        Raises:
            SettingError: there is no such pattern, or there are several; or the observations are no longer available.
        """
        id = self._id_of(pattern if isinstance(pattern, str) else pattern.id)
        found, mine = self.explanation, pl.col("pattern_id") == id
        alone = Explanation(
            found.patterns.filter(pl.col("id") == id),
            found.opportunities.filter(mine),
            found.journal.filter(mine),
            found.outlook.filter(mine),
        )
        if alone.patterns.is_empty():
            raise SettingError(f"pattern {id} was added by the person; no observations are behind it")
        own = self.observed.filter(pl.col("user_id") == alone.patterns.item(0, "user_id"))
        return Explained(alone, own, self.settings, wall_clock(own, self._basis.as_of))

    def _id_of(self, prefix: str) -> str:
        ids = self.frame.filter(pl.col("id").str.starts_with(prefix)).get_column("id").to_list()
        if len(ids) != 1:
            number = "no pattern" if not ids else f"{len(ids)} patterns"
            raise SettingError(
                f"there is {number} here whose id begins with {prefix!r}; .to_polars() lists them"
            )
        return str(ids[0])

    @property
    def _basis(self) -> Basis:
        if self.basis is None:
            raise SettingError("the observations are no longer available; run detect() again")
        return self.basis

    def _of(self, status: str) -> tuple[Pattern, ...]:
        return tuple(read_patterns(self.frame.filter(pl.col("status") == status)))

    def to_polars(self) -> pl.DataFrame:
        """The frame of all patterns."""
        return self.frame

    def to_ndjson(self) -> str:
        """All patterns as JSON, one a line."""
        return "".join(f"{line.decode()}\n" for line in write_patterns(self.frame))

    def to_json(self) -> str:
        """All patterns as one JSON array."""
        return "[" + ",\n ".join(line.decode() for line in write_patterns(self.frame)) + "]"

    def _repr_html_(self) -> str:
        from pipelines.notebook_repr import Weeks, detection_html

        has_weeks = self.basis is not None and self.observations <= OBSERVATIONS_WITH_WEEKS
        weeks = Weeks(self.explanation.opportunities, self.observed) if has_weeks else None
        return detection_html(self.frame, self.observations, self.people, self.settings, weeks)

    def _repr_markdown_(self) -> str:
        from pipelines.text.markdown import to_markdown

        return (
            to_markdown(self.patterns)
            or "No pattern repeats often enough yet to be distinguished from chance.\n"
        )


def detect(
    sources: Sources,
    *,
    as_of: datetime | None = None,
    settings: Settings | None = None,
    tz: str = "UTC",
    me: Iterable[str] = (),
    user: str = "me",
    user_field: str | None = None,
    mapping: Mapping[str, str] | None = None,
) -> Detection:
    """What the people in these exports, records or frames habitually do.

    Args:
        sources: a file, folder or archive, or a list of them; a list of dicts or of `Observation`; an observation frame
            (`observations.schema`), or another polars or pandas frame, whose columns `mapping` names.
        as_of: the evaluation time, aware; each person's newest observation if None.
        settings: the numbers that patterns are judged by.
        tz: zone of times that come without one.
        me: the person's addresses: they tell sent mail from received.
        user: the user of records that name none.
        user_field: the feature that names the user, such as ``from`` for a list archive.
        mapping: foreign column names, contract field → column.

    Raises:
        SourceError: a source cannot be read.
        SettingError: `sources` is none of these, `as_of` has no zone, the zone is unknown, no record has the
            `user_field`, or there is no observation up to `as_of`.
    """
    if as_of is not None and as_of.tzinfo is None:
        message = f"`as_of` {as_of:%Y-%m-%d %H:%M} has no time zone; pass an aware datetime"
        raise SettingError(message, argument="as_of", value=as_of)
    table = frame_of_python(sources)
    options = ReadOptions(
        until=(as_of or datetime.now(UTC)).astimezone(UTC),
        user=user,
        tz=tz,
        me=tuple(address.lower() for address in me),
        user_field=user_field,
        mapping=dict(mapping or {}),
    )
    if table is not None and BASE.keys() <= set(table.columns):
        frame = complete(check_observations(table), options)  # redacts, as every other way in does
        return detect_in_frame(frame, as_of=as_of, settings=settings)
    frame, report = _read(sources if table is None else table, options)
    check_reading(report, options)
    check_anything_read(report, as_of)
    return detect_in_frame(frame, as_of=as_of, settings=settings, report=report)


def _read(sources: Sources, options: ReadOptions) -> tuple[pl.DataFrame, ReadingReport]:
    """The observations in what `detect` takes, and what became of each source."""
    if isinstance(sources, pl.DataFrame):
        return read_table(sources, options)
    items = paths_or_records(sources)
    if items and not isinstance(items[0], (str, Path)):
        return read_records(items, options)
    found = find_sources([item if str(item) == "-" else Path(item).expanduser() for item in items])
    return read_observations(found.sources, options, found.notes)


def detect_in_frame(
    observations: pl.DataFrame,
    *,
    as_of: datetime | None = None,
    settings: Settings | None = None,
    report: ReadingReport | None = None,
    progress: Callable[[float], None] | None = None,
    workers: int = 1,
) -> Detection:
    """What the people in an observation frame habitually do.

    Args:
        observations: an observation frame, in any order.
        as_of, settings, report: as for `detect`.
        progress: told the share of observations that are done with, now and then.
        workers: processes to use, where there are very many observations of several people; see
            `pipelines.parallel`.

    Raises:
        SettingError: there are observations, and `as_of` is before the first of them.
    """
    people = observations.get_column("user_id").n_unique() if observations.height else 0
    if observations.height:
        _check_in_time(as_of, observations.get_column("at").min())
    processes = workers_for(observations.height, people, workers)
    patterns, _ = _patterns([observations], observations.height, as_of, settings, progress, processes)
    basis = Basis(lambda: observations, as_of, settings or Settings())
    return Detection(patterns, observations.height, people, report or ReadingReport(), basis)


def detect_in_buffer(
    buffer: ObservationBuffer,
    *,
    as_of: datetime | None = None,
    settings: Settings | None = None,
    report: ReadingReport | None = None,
    progress: Callable[[float], None] | None = None,
    workers: int = 1,
) -> Detection:
    """What the people in an `ObservationBuffer` habitually do; the observations are not available afterwards.

    Args:
        buffer: the observations.
        as_of, settings, report, progress, workers: as for `detect_in_frame`.

    Raises:
        SettingError: there are observations, and `as_of` is before the first of them.
    """
    if buffer.first is not None:
        _check_in_time(as_of, buffer.first)
    processes = workers_for(buffer.observations, buffer.people, workers)
    patterns, once = _patterns(buffer.frames(), buffer.observations, as_of, settings, progress, processes)
    # Partitions on disk are not in the order of names.
    patterns = patterns.sort("user_id", maintain_order=True)
    return Detection(patterns, once, buffer.people, report or ReadingReport())


def _patterns(
    frames: Iterable[pl.DataFrame],
    observations: int,
    as_of: datetime | None,
    settings: Settings | None,
    progress: Callable[[float], None] | None,
    workers: int,
) -> tuple[pl.DataFrame, int]:
    """The patterns of all people in these frames, of about so many observations in all; and how many there were."""
    found, done = [], 0
    for part, height in evaluate_parts(frames, as_of, settings, workers):
        found.append(part)
        done += height
        if progress is not None:
            progress(done / observations)
    return pl.concat(found) if found else pl.DataFrame(schema=dict(PATTERNS)), done


def _check_in_time(as_of: datetime | None, first: object) -> None:
    assert isinstance(first, datetime)
    if as_of is not None and as_of < first:
        raise SettingError(
            f"`as_of` {as_of:%Y-%m-%d %H:%M} is before the first observation ({first:%Y-%m-%d %H:%M} UTC); "
            "choose a later time",
            argument="as_of",
            value=as_of,
        )

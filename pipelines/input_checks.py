"""Checks of what was read, before anything is detected in it."""

from __future__ import annotations

from datetime import datetime

from observations.errors import SettingError, SourceError, did_you_mean
from observations.ingest.read_report import ReadingReport
from observations.ingest.toolkit.reader import ReadOptions


def check_anything_read(report: ReadingReport, as_of: datetime | None) -> None:
    """Check that there is an observation up to `as_of`.

    Raises:
        SettingError: there is no observation up to `as_of`.
    """
    if as_of is not None and report.observations == 0:
        raise SettingError(
            f"there is no observation up to `as_of` {as_of:%Y-%m-%d %H:%M %Z}; choose a later time",
            argument="as_of",
            value=as_of,
        )


def check_reading(report: ReadingReport, options: ReadOptions) -> None:
    """Check that the sources that were named gave something, and that the `user_field` exists.

    Raises:
        SourceError: a source that they named has records, and not one of them can be read.
        SettingError: no record has the feature that is to name the user.
    """
    for source in report.sources.values():
        rejects = source.count("reject")
        if source.named and rejects and not source.observations and not source.count("left_out"):
            first = next(note for note in source.notes if note.level == "reject")
            place = source.label if first.line is None else f"{source.label}:{first.line}"
            which = "its one record" if rejects == 1 else f"none of its {rejects:,} records"
            can = "cannot" if rejects == 1 else "can"
            raise SourceError(place, f"{which} {can} be read: {first.message}")
    field = options.user_field
    if field is not None and report.observations and field not in report.features:
        there_are = ", ".join(sorted(report.features)) or "none"
        hint = did_you_mean(field, report.features) or f"; the features are {there_are}"
        message = f"`user_field` {field}: no record has this feature{hint}"
        raise SettingError(message, argument="user_field", value=field)

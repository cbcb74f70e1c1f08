"""Instants as the store keeps them: whole microseconds since 1970 UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def as_number(moment: datetime) -> int:
    """Microseconds since 1970 UTC of an aware datetime.

    >>> as_number(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    return (moment - _EPOCH) // _MICROSECOND


def as_moment(number: int) -> datetime:
    """The datetime, in UTC, of this many microseconds since 1970."""
    return _EPOCH + number * _MICROSECOND

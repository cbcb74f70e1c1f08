"""Moments as the store keeps them: whole microseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def as_number(moment: datetime) -> int:
    """An aware moment as the store keeps it.

    >>> as_number(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    return (moment - _EPOCH) // _MICROSECOND


def as_moment(number: int) -> datetime:
    """The moment that the store keeps as this, in UTC."""
    return _EPOCH + number * _MICROSECOND

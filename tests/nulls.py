"""People without habits: many shapes of life, drawn by numpy for everybody in a shape at once.

Nobody here does anything on purpose: within a shape each event falls on a day and an hour by that shape's own weights,
and what it is about, where, how long and with whom is drawn anew each time. All sources of a person have the same
shape, for somebody who never mails on weekends but types on them would have a habit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

import numpy as np
import numpy.typing as npt
import polars as pl

from observations.civil_columns import with_instant
from observations.schema import BASE, concat_observations

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MONDAY = date(2026, 1, 5)
WAKING = np.where((np.arange(24) >= 8) & (np.arange(24) < 20), 1.0, 0.0)
MORNINGS = WAKING * np.where(np.arange(24) < 12, 5.0, 1.0)
TWO_HUMPS = WAKING * np.array([1, 1, 1, 1, 1, 1, 1, 1, 2, 5, 5, 2, 1, 1, 4, 4, 2, 1, 1, 1, 1, 1, 1, 1.0])
"""Busy before and after lunch."""
NIGHTS = np.where((np.arange(24) >= 19) | (np.arange(24) < 3), 1.0, 0.0)

MIDDAY = np.exp(-(((np.arange(24) - 13.5) / 2.5) ** 2) / 2)
"""Most about one o'clock, and ever less before and after."""

EVEN = np.ones(7)
QUIET_WEEKENDS = np.array([1, 1, 1, 1, 1, 0.15, 0.15])
BUSY_TUESDAYS = np.array([1, 3, 1, 1, 1, 0.5, 0.5])

SOURCES = ("calendar", "email", "command")


@dataclass(frozen=True)
class Shape:
    """One way in which a life without habits can look.

    Attributes:
        name: for messages, and the beginning of its people's names.
        hours: (24,) weights of the hours of the day. The small hours count to the evening before.
        week: (7,) how much happens on each weekday, as factors.
        a_day: (3,) mean events of each of `SOURCES` on a usual day.
        weeks: how long it is watched.
        at_home: share of days on which there is anything.
        growth: how many times more happens at the end than at the beginning.
        burst: mean number of events that come together, within minutes.
        busy_day: events of one single day on top of it all.
        zipf: how unequal the kinds of thing are: the n-th comes n^-zipf times as often as the first.
        most: at most so many observations of each person, picked at random; 0 for all.
    """

    name: str
    hours: Floats
    week: Floats
    a_day: tuple[float, float, float] = (2.5, 3.0, 2.5)
    weeks: int = 12
    at_home: float = 0.95
    growth: float = 1.0
    burst: float = 1.0
    busy_day: int = 0
    zipf: float = 0.0
    most: int = 0


FLAT = Shape("flat", WAKING, EVEN)

SHAPES = (
    FLAT,
    replace(FLAT, name="half a year", weeks=26),
    replace(FLAT, name="busy mornings", hours=MORNINGS),
    replace(FLAT, name="two humps", hours=TWO_HUMPS, week=QUIET_WEEKENDS),
    replace(FLAT, name="quiet weekends", week=QUIET_WEEKENDS, at_home=1.0),
    replace(FLAT, name="busy tuesdays", week=BUSY_TUESDAYS, hours=MORNINGS),
    replace(FLAT, name="one busy day", busy_day=200),
    replace(FLAT, name="one source", a_day=(6, 0, 0)),
    replace(FLAT, name="only commands", a_day=(0, 0, 8)),
    replace(FLAT, name="one source of mornings", a_day=(6, 0, 0), hours=MORNINGS),
    replace(FLAT, name="one source of humps", a_day=(0, 5, 0), hours=TWO_HUMPS, week=QUIET_WEEKENDS),
    replace(FLAT, name="one source about midday", a_day=(0, 0, 3), hours=MIDDAY, weeks=26),
    replace(FLAT, name="twenty in all", most=20),
    replace(FLAT, name="a week", weeks=1, a_day=(6, 8, 6)),
    replace(FLAT, name="night owls", hours=NIGHTS),
    replace(FLAT, name="ever more", growth=6.0),
    replace(FLAT, name="ever less", growth=1 / 6),
    replace(FLAT, name="rarely there", at_home=0.3, weeks=26),
    replace(FLAT, name="few kinds", zipf=1.2, hours=TWO_HUMPS, week=QUIET_WEEKENDS),
    replace(FLAT, name="a year", weeks=52, a_day=(1, 1.5, 1), hours=TWO_HUMPS, week=QUIET_WEEKENDS),
)

BURSTY = (
    replace(FLAT, name="bursts", burst=4.0),
    replace(FLAT, name="sessions", a_day=(0, 0, 12), burst=6.0),
)
"""What comes together came by one decision: neither does each of it follow the other, nor is the rest of the day avoided."""

ZONES = ("UTC", "Europe/Lisbon", "America/New_York", "Asia/Kolkata", "Australia/Sydney")

_KINDS = {
    "calendar": ("budget", "hiring", "design", "garden", "school", "choir", "repair", "tax"),
    "email": ("parcel", "travel", "legal", "photos", "party", "survey"),
    "command": ("make", "vim", "git", "top", "find", "ssh", "tar", "df", "curl", "htop"),
}
_PLACES = ("Attic", "Cellar", "Loft", "Garage")
_MINUTES = (15.0, 30.0, 45.0, 60.0, 90.0)
_PEOPLE = tuple(
    f"{name}@example.org"
    for name in ["ines", "jon", "omar", "ruth", "tove", "uli", "vera", "wim", "xenia", "yann"]
)


def crowd(people: int, seed: int, shapes: tuple[Shape, ...] = SHAPES) -> pl.DataFrame:
    """The observations of so many people of each shape; users are called ``shape/number``."""
    return concat_observations(
        [_of_shape(shape, people, np.random.default_rng([seed, n])) for n, shape in enumerate(shapes)]
    )


def _of_shape(shape: Shape, people: int, rng: np.random.Generator) -> pl.DataFrame:
    days = shape.weeks * 7
    weekday = np.arange(days) % 7
    rate = shape.week[weekday] * shape.growth ** (np.arange(days) / days) / np.sqrt(shape.growth)
    there = rng.random((people, days, 1)) < shape.at_home
    mean = rate[None, :, None] * np.array(shape.a_day)[None, None, :] / shape.burst
    count = rng.poisson(mean * there).ravel()
    person, day, source = (
        np.repeat(place.ravel(), count) for place in np.indices((people, days, len(SOURCES)))
    )
    hour = rng.choice(24, len(person), p=shape.hours / shape.hours.sum())
    minute = (hour + 24.0 * (hour < 4) + rng.random(len(hour))) * 60
    if shape.burst > 1:
        size = rng.geometric(1 / shape.burst, len(person))
        person, day, source = (np.repeat(values, size) for values in (person, day, source))
        minute = np.repeat(minute, size) + rng.exponential(4.0, int(size.sum()))
    if shape.busy_day:
        extra = people * shape.busy_day
        person = np.concatenate([person, np.repeat(np.arange(people), shape.busy_day)])
        day = np.concatenate([day, np.repeat(rng.integers(0, days, people), shape.busy_day)])
        source = np.concatenate([source, rng.integers(0, 3, extra)])
        minute = np.concatenate([minute, rng.uniform(480, 1200, extra)])
    frame = _written(shape, person, day, source, minute, rng)
    if shape.most:
        picked = pl.int_range(pl.len()).shuffle(seed=int(rng.integers(2**32))).over("user_id") < shape.most
        frame = frame.filter(picked)
    return frame


def _written(
    shape: Shape, person: Ints, day: Ints, source: Ints, minute: Floats, rng: np.random.Generator
) -> pl.DataFrame:
    """These events as observations, with everything about them drawn at random."""
    size = len(person)
    local = np.datetime64(MONDAY, "us") + ((day * 1440 + minute) * 60_000_000).astype("timedelta64[us]")
    kind = np.empty(size, dtype=object)
    for number, name in enumerate(SOURCES):
        mine = source == number
        weights = (np.arange(len(_KINDS[name])) + 1.0) ** -shape.zipf
        kind[mine] = rng.choice(np.array(_KINDS[name]), int(mine.sum()), p=weights / weights.sum())
    sent = rng.random(size) < 0.5
    ids = rng.permutation(size)
    is_meeting, is_mail, is_command = (pl.lit(pl.Series(source == n)) for n in range(len(SOURCES)))
    frame = pl.DataFrame(
        {
            "id": [f"{n:07d}" for n in ids],
            "user_id": [f"{shape.name}/{p:03d}" for p in person],
            "local": local,
            "tz": np.array(ZONES)[person % len(ZONES)],
            "kind": kind.astype(str),
            "place": rng.choice(_PLACES, size),
            "minutes": rng.choice(_MINUTES, size),
            "people": _people(rng, size),
            "others": _people(rng, size),
            "sent": sent,
        }
    )
    written = frame.select(
        "id",
        "user_id",
        pl.Series("type", np.array(SOURCES)[source]),
        pl.when(is_meeting)
        .then(pl.lit("created"))
        .when(is_command)
        .then(pl.lit("ran"))
        .otherwise(pl.when("sent").then(pl.lit("sent")).otherwise(pl.lit("received")))
        .alias("action"),
        pl.lit(None, pl.Datetime("us", "UTC")).alias("at"),
        pl.col("local").cast(pl.Datetime("us")),
        "tz",
        pl.lit("user").alias("actor"),
        pl.when(~is_command).then("kind").alias("category:text"),
        pl.when(is_meeting).then(pl.format("{} talk", "kind")).alias("title:text"),
        pl.when(is_command).then("kind").alias("program:text"),
        pl.when(is_command).then("kind").alias("command:text"),
        pl.when(is_meeting).then("place").alias("location:text"),
        pl.when(is_meeting).then("minutes").alias("duration_minutes:number"),
        pl.when(is_meeting).then("people").alias("participants:list"),
        pl.when(is_mail & pl.col("sent")).then("people").alias("to:list"),
        pl.when(is_mail & pl.col("sent")).then("others").alias("cc:list"),
        pl.when(is_mail & ~pl.col("sent")).then(pl.col("people").list.first()).alias("from:text"),
    )
    return with_instant(written).select(*BASE, *[c for c in written.columns if c not in BASE])


def _people(rng: np.random.Generator, size: int) -> pl.Series:
    """One or two different people for each of so many events."""
    first = rng.integers(0, len(_PEOPLE), size)
    second = (first + rng.integers(0, len(_PEOPLE), size)) % len(_PEOPLE)
    names = np.array(_PEOPLE)
    return (
        pl.DataFrame({"a": names[first], "b": names[second]})
        .select(pl.concat_list("a", "b").list.unique(maintain_order=True).alias("people"))
        .to_series()
    )

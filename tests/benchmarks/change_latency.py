"""How soon a change is noticed: from the stop of a habit to leaving *confirmed*, from its start to being confirmed.

    python -m tests.benchmarks.change_latency --seeds 1 2 3

The people are the exam's (`../shared/exam/world.py`), of each only the habits that stopped, moved or began. Each such
habit is looked at on every evening from the day before its change until the end of the world; the people of one look
are evaluated together, each with what was known on that evening.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from statistics import median
from typing import Any

import orjson
import polars as pl

from observations.schema import concat_observations
from patterns.evaluate import evaluate
from patterns.registry import kind_of
from tests.benchmarks.exam import build, observations_of

LONGEST = 44
"""Evenings after the change that are looked at: the exam's changes are at least six weeks old at its end."""

_QUIET = 7
"""After so many evenings without the old habit it is taken to be gone."""


@dataclass(frozen=True)
class Change:
    """A habit that ended, began, or moved, on `day`; times are minutes of the day.

    Attributes:
        key: its own copy of the person, so that one call can look at each habit on its own evening.
        observations: everything that the person did, at any time.
        title, category: what the habit's events are called.
        days: on which weekdays, Monday 0.
        old, new: its times before and after; null where there is no before or no after.
        reach: minutes that it may be off.
        starts: days after the change on which the new habit was kept.
    """

    key: str
    day: date
    observations: pl.DataFrame
    title: str
    category: str
    days: tuple[int, ...]
    old: int | None
    new: int | None
    reach: int
    starts: tuple[int, ...]

    @property
    def sort(self) -> str:
        """Daily, weekdays, weekends, or so many days a week."""
        names = {7: "daily", 5: "weekdays"}
        return names.get(len(self.days), f"{len(self.days)} days a week")


@dataclass(frozen=True)
class Latency:
    """What became of a change; days are counted from it, null where it did not happen within the weeks looked at.

    Attributes:
        was_confirmed: whether the old habit was confirmed on the evening before.
        left: first evening from which on no confirmed pattern says the old habit.
        confirmed: first evening on which a confirmed pattern says the new one, and how often it had been kept.
        superseded: whether the old pattern names the new one in the end; null where there is not both.
    """

    change: Change
    was_confirmed: bool
    left: int | None
    confirmed: int | None
    occasions: int | None
    superseded: bool | None

    @property
    def after_the_fifth(self) -> int | None:
        """Days from the fifth occasion, which the contract asks for, to being confirmed."""
        if self.confirmed is None or len(self.change.starts) < 5:
            return None
        return self.confirmed - self.change.starts[4]


def changes(seed: int, people: int = 12, days: int = 180) -> list[Change]:
    """The changed habits of the exam's people."""
    return [change for person in build(seed, people, 0, days) for change in _changes_of(person)]


def _changes_of(person: Any) -> Iterator[Change]:
    frame = observations_of(person)
    names = {event["id"]: event for event in person.events}
    routines = [t for t in person.truths if t.type == "temporal" and "INTERVAL" not in t.rule["rrule"]]
    routines = [t for t in routines if "MONTHLY" not in t.rule["rrule"] and t.event_ids]
    for truth in routines:
        before = next(
            (t for t in routines if t.until == truth.since and t.rule["where"] == truth.rule["where"]), None
        )
        after = next(
            (t for t in routines if t.since == truth.until and t.rule["where"] == truth.rule["where"]), None
        )
        began = before is None and truth.since > person.start
        stopped = truth.status == "stopped"
        if not stopped and not began:
            continue  # what came by moving is told with what it was before
        new = truth if began else after
        day = truth.since if began else truth.until
        kept = [] if new is None else [_day(names[id]) for id in new.event_ids]
        yield Change(
            key=truth.id,
            day=day,
            observations=frame.with_columns(user_id=pl.lit(truth.id)),
            title=names[min(truth.event_ids)]["features"]["title"],
            category=truth.rule["where"]["category"],
            days=tuple(
                ["MO", "TU", "WE", "TH", "FR", "SA", "SU"].index(d)
                for d in truth.rule["rrule"].split("BYDAY=")[1].split(",")
            ),
            old=_minute(truth.rule["time"]) if stopped else None,
            new=None if new is None else _minute(new.rule["time"]),
            reach=truth.rule["tolerance_minutes"],
            starts=tuple(sorted((on - day).days for on in kept)),
        )


def _day(event: dict[str, Any]) -> date:
    return datetime.fromisoformat(event["timestamp"]).date()


def _minute(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:])


def latencies(found: Sequence[Change], longest: int = LONGEST) -> list[Latency]:
    """What became of each change, looked at on every evening until nothing has changed for a week."""
    old: dict[str, list[int]] = {change.key: [] for change in found}
    new: dict[str, list[int]] = {change.key: [] for change in found}
    by_key = {change.key: change for change in found}
    for evening in range(-1, longest + 1):
        open_ = [c for c in found if not _is_settled(c, old[c.key], new[c.key], evening)]
        for row in _patterns(open_, evening):
            change = by_key[row["user_id"]]
            if row["status"] == "confirmed":
                for minute, evenings in ((change.old, old), (change.new, new)):
                    if minute is not None and _says(row, change, minute):
                        evenings[change.key].append(evening)
    last = _patterns(
        [change for change in found if change.old is not None and change.new is not None], longest
    )
    return [_latency(change, old[change.key], new[change.key], last, longest) for change in found]


def _is_settled(change: Change, old: list[int], new: list[int], evening: int) -> bool:
    """Whether the old habit was not confirmed on any of the last seven evenings, and the new one is."""
    left = change.old is None or max(old, default=-1) < evening - _QUIET
    return left and (change.new is None or (len(new) > 0 and evening > _QUIET))


def _patterns(found: Sequence[Change], evening: int) -> list[dict[str, Any]]:
    """The temporal patterns of everybody on that evening, counted from each one's change."""
    known = [
        change.observations.filter(
            pl.col("local") < datetime.combine(change.day + timedelta(days=evening + 1), time())
        )
        for change in found
    ]
    if not known:
        return []
    patterns = evaluate(concat_observations(known), kinds=(kind_of("temporal"),))
    return [row | {"rule": orjson.loads(row["rule"])} for row in patterns.iter_rows(named=True)]


def _says(pattern: dict[str, Any], change: Change, minute: int) -> bool:
    """Whether a pattern speaks of the habit at that time of day, on most of its days."""
    rule = pattern["rule"]
    own = {"type": "calendar", "action": "created", "category": change.category, "title": change.title}
    own["kind"] = change.title.lower()
    if any(own.get(name) != value for name, value in rule["where"].items()):
        return False
    if abs(_minute(rule["time"]) - minute) > change.reach:
        return False
    named = rule["rrule"].partition("BYDAY=")[2]
    days = (
        {["MO", "TU", "WE", "TH", "FR", "SA", "SU"].index(d) for d in named.split(",")}
        if named
        else set(range(7))
    )
    return len(days & set(change.days)) >= 0.5 * len(days | set(change.days))


def _latency(
    change: Change, old: list[int], new: list[int], last: list[dict[str, Any]], longest: int
) -> Latency:
    left = None
    if change.old is not None and (not old or max(old) < longest):
        left = max([e for e in old if e >= 0], default=-1) + 1
    first = min(new, default=None)
    return Latency(
        change=change,
        was_confirmed=-1 in old,
        left=left,
        confirmed=first,
        occasions=None if first is None else sum(on <= first for on in change.starts),
        superseded=_superseded(change, last),
    )


def _superseded(change: Change, patterns: list[dict[str, Any]]) -> bool | None:
    """Whether the old pattern names a new one; null where one of the two is not there in the end."""
    if change.old is None or change.new is None:
        return None
    mine = [p for p in patterns if p["user_id"] == change.key]
    gone = [p for p in mine if p["status"] != "confirmed" and _says(p, change, change.old)]
    come = {p["id"] for p in mine if p["status"] == "confirmed" and _says(p, change, change.new)}
    if not gone or not come:
        return None
    return any(p["superseded_by"] in come for p in gone)


def table(measured: Sequence[Latency]) -> pl.DataFrame:
    """Medians for each sort of habit and for all: days from stop to leaving, occasions and days from start."""
    sorts = ["daily", "weekdays", "2 days a week", "1 days a week", "all"]
    rows = []
    for sort in sorts:
        mine = [m for m in measured if sort in ("all", m.change.sort)]
        ended = [m for m in mine if m.change.old is not None and m.was_confirmed]
        began = [m for m in mine if m.change.new is not None]
        linked = [m for m in mine if m.superseded is not None]
        rows.append(
            {
                "habits": sort,
                "ended": len(ended),
                "days to leave": _median([m.left for m in ended]),
                "latest": max([LONGEST + 1 if m.left is None else m.left for m in ended], default=None),
                "began": len(began),
                "confirmed": sum(m.confirmed is not None for m in began),
                "occasions": _median([m.occasions for m in began]),
                "days to be confirmed": _median([m.confirmed for m in began]),
                "after the fifth": _median([m.after_the_fifth for m in began]),
                "moved": len(linked),
                "linked": sum(bool(m.superseded) for m in linked),
            }
        )
    return pl.DataFrame(rows)


def _median(days: Sequence[int | None]) -> float | None:
    """What did not happen counts as later than everything that did."""
    late = float(LONGEST + 1)
    return median([late if day is None else float(day) for day in days]) if days else None


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--details", action="store_true", help="one line a habit")
    arguments = parser.parse_args()
    measured = latencies([change for seed in arguments.seeds for change in changes(seed)])
    if arguments.details:
        for m in measured:
            print(
                m.change.key, m.change.sort, m.was_confirmed, m.left, m.confirmed, m.occasions, m.superseded
            )
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=160, tbl_hide_dataframe_shape=True):
        print(table(measured))


if __name__ == "__main__":
    main()

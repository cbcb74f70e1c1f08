"""Counting: how often a rule was kept, of how many opportunities, in any span of time.

A detector counts while it looks for rules. Here the rule is given, and counted on events that it may never have
seen: does what was confirmed in spring hold in summer? Counted is by the words of the contract (section 3), for all
people and rules at once.

An opportunity belongs to the moment at which its outcome was known::

    temporal            the event, or the end of the slot of a due day on which the person was active
    preference, …       the event in the context
    workflow            the last step, or the end of its minutes
    avoidance           the end of the slot of a day on which the person was active
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import orjson
import polars as pl

from observations.civil_time import MICROSECONDS_PER_DAY, WEEKDAYS
from patterns.evaluate import log_of
from patterns.eventlog.arrays import Flags, Floats, Ints, ranges
from patterns.eventlog.log import Log, day_key, weekday_of
from patterns.rules.recurrence import RULES, Recurrence
from patterns.settings import Settings

COUNTS: Mapping[str, pl.DataType] = {
    "id": pl.String(),
    "user_id": pl.String(),
    "support": pl.Int64(),
    "opportunities": pl.Int64(),
}
"""One row a pattern, in the order of the patterns asked for."""

_MINUTE = 60_000_000
_DAY_MINUTES = 1440.0
_EPSILON = 1e-6
"""Minutes: what a time that was computed may be off."""

Rule = dict[str, Any]


def count_rules(
    observations: pl.DataFrame,
    patterns: pl.DataFrame,
    since: datetime,
    until: datetime,
    settings: Settings | None = None,
) -> pl.DataFrame:
    """How often each pattern's rule was kept, of how many opportunities after `since` and up to `until` (`COUNTS`).

    Args:
        observations: an observation frame of the people; what is later than `until` does not count, and what is
            earlier than `since` only tells the clock and the kinds of thing.
        patterns: has ``id``, ``user_id``, ``type`` and ``rule`` (JSON), as `patterns.evaluate.evaluate` returns them.
        since, until: aware.
        settings: only the hour at which a day begins is asked for.

    Raises:
        SchemaError: `observations` is no observation frame.
        SettingError: `until` has no zone.
    """
    counts = np.zeros((len(patterns), 2), dtype=np.int64)
    settings = settings or Settings()
    log = log_of(observations, until, settings)
    number = {name: code for code, name in enumerate(log.users)}
    known = patterns.with_row_index("row").filter(pl.col("user_id").is_in(list(number)))
    for (type,), rows in known.group_by("type", maintain_order=True):
        asked = _Asked(
            row=rows["row"].to_numpy().astype(np.int64),
            user=np.array([number[name] for name in rows["user_id"]], dtype=np.int64),
            rules=[orjson.loads(rule) for rule in rows["rule"]],
        )
        kept = _COUNTERS[str(type)](log, asked)
        began = log.as_of_local[asked.user] - int((until - since).total_seconds() * 1e6)
        inside = (kept.local > began[kept.rule]) & (kept.local <= log.as_of_local[asked.user][kept.rule])
        rule, hit = kept.rule[inside], kept.hit[inside]
        counts[asked.row, 0] = np.bincount(rule, weights=hit, minlength=len(asked.row)).astype(np.int64)
        counts[asked.row, 1] = np.bincount(rule, minlength=len(asked.row))
    return patterns.select("id", "user_id").with_columns(
        support=pl.Series(counts[:, 0], dtype=pl.Int64), opportunities=pl.Series(counts[:, 1], dtype=pl.Int64)
    )


@dataclass(frozen=True, eq=False)
class _Asked:
    """Rules of one type; every array is (rules,): the row in the answer, and whose the rule is."""

    row: Ints
    user: Ints
    rules: Sequence[Rule]

    def wheres(self, *path: str | int) -> list[dict[str, str]]:
        """The `where` at this place of each rule."""
        found: list[dict[str, str]] = []
        for rule in self.rules:
            place: Any = rule
            for step in path:
                place = place[step]
            found.append(place)
        return found


@dataclass(frozen=True, eq=False)
class _Outcomes:
    """Opportunities: (n,) of which rule, the wall clock at which the outcome was known in µs, and whether kept."""

    rule: Ints
    local: Ints
    hit: Flags


def _matches(log: Log, user: Ints, wheres: Sequence[Mapping[str, object]]) -> tuple[Ints, Ints]:
    """Pairs of a where and an event of that person that matches it, sorted by both."""
    rules: list[Ints] = []
    events: list[Ints] = []
    fields = [tuple(sorted(where)) for where in wheres]
    for names in sorted(set(fields)):
        mine = [i for i, own in enumerate(fields) if own == names]
        wanted = pl.DataFrame(
            {"rule": mine, "user": user[mine]}
            | {f"field {n}": [wheres[i][name] for i in mine] for n, name in enumerate(names)}
        )
        for columns in product(*(_columns(log, name) for name in names)):
            matched = wanted.join(_keyed(log, columns), on=[c for c in wanted.columns if c != "rule"])
            rules.append(matched["rule"].to_numpy())
            events.append(matched["event"].to_numpy())
    if not rules:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing
    pairs = np.unique(np.concatenate(rules).astype(np.int64) << 32 | np.concatenate(events).astype(np.int64))
    return pairs >> 32, pairs & 0xFFFFFFFF


def _columns(log: Log, name: str) -> list[str]:
    """The columns in which a field of a rule may be."""
    return [c for c in log.frame.columns if c == name or c in (f"{name}:text", f"{name}:list")]


def _keyed(log: Log, columns: Sequence[str]) -> pl.DataFrame:
    """The log's events with what they are matched by; an event is there once for each word of a list."""
    keys = {f"field {n}": log.frame.get_column(column) for n, column in enumerate(columns)}
    frame = pl.DataFrame({"event": np.arange(len(log)), "user": log.user} | keys)
    for name, series in keys.items():
        if isinstance(series.dtype, pl.List):
            frame = frame.explode(name)
    return frame.drop_nulls()


def _local(log: Log) -> Ints:
    """(events,) the wall clock, µs, counted from the hour at which a day begins."""
    local: Ints = log.frame.get_column("local").dt.epoch("us").to_numpy().astype(np.int64)
    return local - log.day_starts_at * 60 * _MINUTE


# --- preferences and relationships ------------------------------------------------------------------------------


def _preferences(log: Log, asked: _Asked) -> _Outcomes:
    rule, event = _matches(log, asked.user, asked.wheres("where"))
    has, hit = np.zeros(len(rule), dtype=np.bool_), np.zeros(len(rule), dtype=np.bool_)
    for name in {own["feature"] for own in asked.rules}:
        mine = np.flatnonzero(np.array([own["feature"] == name for own in asked.rules])[rule])
        for column in (c for c in log.features if c.rpartition(":")[0] == name):
            has_it, is_it = _is_value(log.frame[column], event[mine], asked.rules, rule[mine])
            has[mine] |= has_it
            hit[mine] |= is_it
    return _Outcomes(rule[has], _local(log)[event[has]], hit[has])


def _is_value(column: pl.Series, event: Ints, rules: Sequence[Rule], rule: Ints) -> tuple[Flags, Flags]:
    """(n,) whether each event has a value of the sort that its rule speaks of, and whether it is that one."""
    kind = column.name.rpartition(":")[2]
    dtype = {"number": pl.Float64(), "flag": pl.Boolean()}.get(kind, pl.String())
    least, most = (_said(rules, dtype, name) for name in ("min", "max"))
    frame = pl.DataFrame(
        {"value": column.gather(event), "least": least.gather(rule), "most": most.gather(rule)}
    )
    has = pl.col("value").is_not_null() & pl.col("least").is_not_null()
    if kind == "list":
        is_it = pl.col("value").list.contains(pl.col("least"))
    else:
        is_it = pl.col("value").is_between("least", "most")
    found = frame.select(has.alias("has"), (has & is_it.fill_null(False)).alias("hit"))
    return found["has"].to_numpy(), found["hit"].to_numpy()


def _said(rules: Sequence[Rule], dtype: pl.DataType, end: str) -> pl.Series:
    """(rules,) the value that each rule names, or that end of its band; null where it is of another sort."""
    sorts = {pl.Float64(): (int, float), pl.Boolean(): (bool,), pl.String(): (str,)}[dtype]
    said = [rule.get("value", rule.get(end)) for rule in rules]
    own = [
        v if isinstance(v, sorts) and (dtype == pl.Boolean() or not isinstance(v, bool)) else None
        for v in said
    ]
    return pl.Series(own, dtype=dtype, strict=False)


# --- times ------------------------------------------------------------------------------------------------------


def _temporal(log: Log, asked: _Asked) -> _Outcomes:
    time = np.array([_minutes(own["time"]) - 60.0 * log.day_starts_at for own in asked.rules]) % _DAY_MINUTES
    tolerance = np.array([float(own["tolerance_minutes"]) for own in asked.rules])
    rule, event = _matches(log, asked.user, asked.wheres("where"))
    apart = np.abs(log.minute[event] - time[rule]) % _DAY_MINUTES
    near = np.minimum(apart, _DAY_MINUTES - apart) <= tolerance[rule] + _EPSILON
    shown = _first_of_each_day(log, rule[near], event[near])

    owner, day = _active_days(log, asked.user)
    due = np.zeros(len(owner), dtype=np.bool_)
    for i, own in enumerate(asked.rules):
        mine = owner == i
        due[mine] = _recurrence(own["rrule"], own.get("dtstart")).due(day[mine])
    owner, day = owner[due], day[due]
    kept = np.array([shown.get(key, -1) for key in day_key(owner, day).tolist()], dtype=np.int64)
    over = day * MICROSECONDS_PER_DAY + np.round((time + tolerance)[owner] * _MINUTE).astype(np.int64)
    local = np.where(kept >= 0, _local(log)[kept] if len(log) else over, over)
    return _Outcomes(owner, local, kept >= 0)


def _minutes(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:])


def _first_of_each_day(log: Log, rule: Ints, event: Ints) -> dict[int, int]:
    """The first event of each rule and day, by `day_key`."""
    keys, at = np.unique(day_key(rule, log.day[event]), return_index=True)
    return dict(zip(keys.tolist(), event[at].tolist(), strict=True))


def _active_days(log: Log, user: Ints) -> tuple[Ints, Ints]:
    """Each rule with each day on which its person was active: (rule, day)."""
    length = log.active.count[user]
    return np.repeat(np.arange(len(user)), length), log.active.day[ranges(log.active.start[user], length)]


@cache
def _recurrence(rrule: str, dtstart: str | None) -> Recurrence:
    """The recurrence that a rule says; of several that differ in phase, the one that has `dtstart`."""
    first = np.array([(date.fromisoformat(dtstart) - date(1970, 1, 1)).days]) if dtstart else None
    return next(r for r in RULES if r.rrule() == rrule and (first is None or r.due(first)[0]))


# --- sequences --------------------------------------------------------------------------------------------------


def _workflows(log: Log, asked: _Asked) -> _Outcomes:
    within = np.array([own["within_minutes"] * _MINUTE for own in asked.rules], dtype=np.int64)
    timed = ~np.isnan(log.minute)
    longest = max((len(own["steps"]) for own in asked.rules), default=0)
    rule, event = _steps(log, asked, 0, timed)
    outcomes: list[_Outcomes] = []
    steps = np.array([len(own["steps"]) for own in asked.rules], dtype=np.int64)
    for step in range(1, longest):
        follower = _following(_steps(log, asked, step, timed), rule, event)
        at = np.where(follower >= 0, log.at[follower], np.iinfo(np.int64).max)
        followed = at - log.at[event] <= within[rule]
        last = steps[rule] == step + 1
        known = _local(log)[np.where(followed, follower, event)] + np.where(followed, 0, within[rule])
        outcomes.append(_Outcomes(rule[last], known[last], followed[last]))
        goes_on = followed & ~last
        rule, event = rule[goes_on], follower[goes_on]
    return _Outcomes(
        *(np.concatenate([getattr(o, name) for o in outcomes]) for name in ("rule", "local", "hit"))
    )


def _steps(log: Log, asked: _Asked, step: int, timed: Flags) -> tuple[Ints, Ints]:
    """The events that are this step of each rule that has it."""
    having = np.array([i for i, own in enumerate(asked.rules) if len(own["steps"]) > step], dtype=np.int64)
    wheres = [asked.rules[i]["steps"][step] for i in having]
    rule, event = _matches(log, asked.user[having], wheres)
    return having[rule][timed[event]], event[timed[event]]


def _following(step: tuple[Ints, Ints], rule: Ints, event: Ints) -> Ints:
    """(n,) the first event of that step of the same rule after each event; -1 where there is none."""
    keys = np.append(step[0] << 32 | step[1], np.iinfo(np.int64).max)
    found = keys[np.searchsorted(keys, rule << 32 | event, side="right")]
    return np.where(found >> 32 == rule, found & 0xFFFFFFFF, -1)


# --- empty slots ------------------------------------------------------------------------------------------------


def _avoidances(log: Log, asked: _Asked) -> _Outcomes:
    shift = 60 * log.day_starts_at
    low = np.array([(_minutes(own["from"]) - shift) % 1440 for own in asked.rules])
    high = np.array([(_minutes(own["to"]) - shift - 1) % 1440 + 1 for own in asked.rules])
    rule, event = _matches(log, asked.user, asked.wheres("where"))
    minute: Floats = log.minute[event]
    inside = (minute >= low[rule]) & (minute < high[rule])
    # What lasts all day is in no hour, and in every whole day.
    inside |= np.isnan(minute) & (high[rule] - low[rule] == 1440)
    broken = np.unique(day_key(rule[inside], log.day[event[inside]]))

    owner, day = _active_days(log, asked.user)
    named = np.array([[name in own["days"] for name in WEEKDAYS] for own in asked.rules], dtype=np.bool_)
    first, last = _span_of_types(log, asked)
    due = named[owner, weekday_of(day)] & (day >= first[owner]) & (day <= last[owner])
    owner, day = owner[due], day[due]
    return _Outcomes(
        owner, day * MICROSECONDS_PER_DAY + high[owner] * _MINUTE, ~np.isin(day_key(owner, day), broken)
    )


def _span_of_types(log: Log, asked: _Asked) -> tuple[Ints, Ints]:
    """(rules,) the first and the last day with any event of the type: before and after nothing is avoided."""
    kin = [{k: v for k, v in where.items() if k == "type"} for where in asked.wheres("where")]
    rule, event = _matches(log, asked.user, kin)
    first = np.full(len(kin), np.iinfo(np.int64).max)
    last = np.full(len(kin), np.iinfo(np.int64).min)
    np.minimum.at(first, rule, log.day[event])
    np.maximum.at(last, rule, log.day[event])
    return first, last


_COUNTERS: Mapping[str, Callable[[Log, _Asked], _Outcomes]] = {
    "temporal": _temporal,
    "preference": _preferences,
    "relationship": _preferences,
    "workflow": _workflows,
    "avoidance": _avoidances,
}

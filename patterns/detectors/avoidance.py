"""Avoidance: something never happens in a slot of the week in which it would be expected.

The week is cut into days × hours. In each cell, events of a kind are expected from what the person does otherwise;
a slot, one stretch of hours on a set of days, is avoided where far fewer came. Of all slots the one with the
greatest likelihood ratio "a twentieth of what is expected" against "what is expected" is taken, then the next
(`E·(1 - q) + c·ln q` summed over its cells, q = 1/20: a maximum-sum interval for each set of days). Several events of a
kind within a quarter of an hour count once: an import of fifty meetings is one decision.

**Expected** on some days of the week: what comes in those hours on all days, shared out over the days as all the
person's other activity is (`patterns.rhythm`). Expected every day: the kind's share of the person's other activity in
those hours. Events that a confirmed habit accounts for are no background: a stand-up at 09:30 is not "avoided" in the
afternoon. Neither are days before the first or after the last event of the type: a source that ends is not avoidance.

**Null.** A slot of an active day stays empty by chance with probability ``exp(-λ)``. On some days of the week,
``λ·days = -T·ln(1 - s)``: that all T events of those hours fall on the other days, the slot's share of the week
being s, has probability ``(1 - s)^T`` (the exact conditional test, given T). Every day, λ is the expected number.

Where the kind comes in heaps, many on few days, T is divided by how much more its days vary than by chance.

**Hypotheses.** The subjects that are frequent enough to be missed, times day sets, times stretches of hours, each
weighted by how plain it is to say (weighted Bonferroni, Genovese, Roeder & Wasserman 2006): half of the error budget
goes to single days, and half to whole days; a quarter each to "before" or "after" an hour, and to any other stretch.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from observations.civil import WEEKDAYS
from patterns.arrays import Flags, Floats, Ints, distinct, ranges
from patterns.candidates import Candidates, PatternType, Rule, Trials
from patterns.log import MICROSECONDS_PER_DAY, Log, weekday_of
from patterns.recurrence import RULES, WEEKDAY_LABELS, WEEKEND_LABELS, next_due_day
from patterns.rhythm import Rhythm
from patterns.settings import Settings
from patterns.significance import is_certain
from patterns.subjects import Subjects

HOURS = 24
_LEAK = 0.05
"""An avoided slot has at most this share of what is expected."""
_ROUNDS = 3
"""Slots looked for in each subject."""
_LEAST_EXPECTED = 8.0
"""Events that must be expected in a slot for their absence to mean anything after any correction."""
_LEAST_EVENTS = 28.0
"""Events a subject needs: so many that those of two days a week would be expected to be eight."""
_OVERLAP = 0.5
"""A slot of a narrower subject that is covered so far by a wider one's says nothing new."""
_HOUR = 3_600_000_000

_DAY_SETS = tuple(rule for rule in RULES if rule.family.name == "weekday")
_IN_SET = np.array([[d in rule.labels for d in range(7)] for rule in _DAY_SETS], dtype=np.float64)


def _day_set_weight(labels: tuple[int, ...]) -> float:
    """Share of the error budget for a day set; they sum to one."""
    if len(labels) == 1:
        return 1 / 2 / 7
    if labels in (WEEKEND_LABELS, tuple(range(7))):
        return 1 / 8
    if labels == WEEKDAY_LABELS:
        return 1 / 16
    return 3 / 16 / (2**7 - 1 - 10)


_DAY_PRICE = np.array([-np.log(_day_set_weight(rule.labels)) for rule in _DAY_SETS])


@dataclass(frozen=True)
class AvoidanceDetector:
    """Finds when something never happens.

    Attributes:
        chunk: subjects looked at in one go; bounds memory.
    """

    chunk: int = 1024
    type: PatternType = "avoidance"

    def detect(self, log: Log, subjects: Subjects, settings: Settings, explained: Flags) -> Candidates:
        """Candidates for avoided slots; see the module."""
        if not len(subjects):
            return Candidates.none(self.type)
        weeks = _Weeks.of(log, subjects, explained)
        frequent = np.flatnonzero(weeks.count.sum(axis=(1, 2)) >= _LEAST_EVENTS)
        parts = [_find(weeks, frequent[i : i + self.chunk]) for i in range(0, len(frequent), self.chunk)]
        slots = _Slots.joined(parts) if parts else _Slots.joined([])
        if not len(slots):
            return Candidates.none(self.type)
        tested = np.bincount(subjects.user[frequent], minlength=len(log.users))
        slots = replace(slots, hypotheses=slots.hypotheses * tested[subjects.user[slots.subject]])
        days = (weeks.days[slots.subject] * _IN_SET[slots.days]).sum(axis=1)
        certain = is_certain(self.type, -np.log(slots.null_rate) * days, slots.hypotheses, settings)
        slots = slots[_says_something(subjects, slots, certain)]
        return _candidates(self.type, log, subjects, weeks, slots)


@dataclass(frozen=True, eq=False)
class _Weeks:
    """What came and what the person did otherwise, by weekday and hour.

    Attributes:
        count: (subjects, 7, 24) quarters of an hour in which unexplained events of each subject came.
        others: (subjects, 7, 24) quarters of an hour in which the person's other unexplained events came, by type.
        days: (subjects, 7) active days by weekday, while the subject's type was recorded.
        share: (subjects, 7) share of the person's other activity on each weekday.
        first, last: (subjects,) first and last day on which the subject's type was recorded.
        dispersion: (subjects,) how many times more the counts of days vary than by chance: what comes on few days,
            many at once, is so much less evidence.
    """

    count: Floats
    others: Floats
    days: Ints
    share: Floats
    first: Ints
    last: Ints
    dispersion: Floats

    @classmethod
    def of(cls, log: Log, subjects: Subjects, explained: Flags) -> _Weeks:
        timed = ~np.isnan(log.minute) & ~explained
        quarter = np.where(timed, np.nan_to_num(log.minute) // 15, 0).astype(np.int64)
        mine = timed[subjects.event]
        event = subjects.event[mine]
        owner = subjects.owner[mine]
        count = _table(log, owner, event, quarter, len(subjects))
        by_kind = _table(log, log.kind[timed], np.flatnonzero(timed), quarter, len(log.recorded[0]))
        whose = np.zeros(len(by_kind), dtype=np.int64)
        whose[log.kind] = log.user
        life = np.zeros((len(log.users), 7, HOURS))
        np.add.at(life, whose, by_kind)
        rhythm = Rhythm.of(log, explained)
        kind = log.kind[subjects.event[subjects.start[:-1]]]
        by_day = count.sum(axis=2).astype(np.int64)
        first, last = log.recorded[0][kind], log.recorded[1][kind]
        days = _active_weekdays(log, subjects.user, first, last)
        factor = rhythm.weekday_factor(subjects.user, kind, by_day)
        share = factor * days
        share = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-12)
        others = np.maximum(life[subjects.user] - count, 0.0)
        return cls(count, others, days, share, first, last, _dispersion(log, owner, event, quarter, days))


@dataclass(frozen=True, eq=False)
class _Slots:
    """Slots of the week; every array is (slots,).

    Attributes:
        days: index into the day sets.
        low, high: hours, `high` excluded.
        null_rate: chance that the slot stays empty on one day.
        hypotheses: the inverse of the share of the person's error budget that a slot like this has.
    """

    subject: Ints
    days: Ints
    low: Ints
    high: Ints
    gain: Floats
    null_rate: Floats
    hypotheses: Floats

    def __len__(self) -> int:
        return len(self.subject)

    def __getitem__(self, chosen: Ints | Flags) -> _Slots:
        return _Slots(*(getattr(self, f.name)[chosen] for f in fields(self)))

    @classmethod
    def joined(cls, parts: list[_Slots]) -> _Slots:
        if not parts:
            nothing = np.empty(0)
            whole = nothing.astype(np.int64)
            return cls(whole, whole, whole, whole, nothing, nothing, nothing)
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))


def _find(weeks: _Weeks, subject: Ints) -> _Slots:
    """The best slots of these subjects."""
    count, share = weeks.count[subject], weeks.share[subject]
    hourly = count.sum(axis=1)
    by_day = hourly[:, None, :] * share[:, :, None]
    others = weeks.others[subject]
    ratio = count.sum(axis=(1, 2)) / np.maximum(others.sum(axis=(1, 2)), 1.0)
    every_day = others * ratio[:, None, None]
    found = []
    open_ = np.ones_like(count)
    left = np.arange(len(subject))
    for _ in range(_ROUNDS):
        days_weight = (by_day * (1 - _LEAK) + count * np.log(_LEAK))[left]
        whole_weight = (every_day * (1 - _LEAK) + count * np.log(_LEAK))[left]
        some = _best(subject[left], days_weight, open_[left], all_days=False)
        whole = _best(subject[left], whole_weight, open_[left], all_days=True)
        for slots in (some, whole):
            slots = _with_null(weeks, slots)
            found.append(slots[(slots.gain > 0) & (slots.null_rate < 1)])
        better = whole.gain > some.gain
        days = np.where(better, whole.days, some.days)
        low, high = np.where(better, whole.low, some.low), np.where(better, whole.high, some.high)
        hours = (np.arange(HOURS) >= low[:, None]) & (np.arange(HOURS) < high[:, None])
        open_[left] *= 1 - _IN_SET[days][:, :, None] * hours[:, None, :]
        # Where no slot was worth its price, none of what is left of the week is.
        left = left[np.maximum(some.gain, whole.gain) > 0]
    return _Slots.joined(found)


def _best(subject: Ints, weight: Floats, open_: Floats, *, all_days: bool) -> _Slots:
    """The slot with the largest sum of weights, less the price of its days, for each subject."""
    closed = -1e6 * (1 - open_)
    sets = np.flatnonzero(_IN_SET.all(axis=1)) if all_days else np.flatnonzero(~_IN_SET.all(axis=1))
    sums = np.matmul(_IN_SET[sets], weight + closed)
    running = np.concatenate([np.zeros((*sums.shape[:2], 1)), np.cumsum(sums, axis=2)], axis=2)
    lowest = np.minimum.accumulate(running, axis=2)
    rise = running - lowest
    high = rise.argmax(axis=2)
    gain = np.take_along_axis(rise, high[:, :, None], axis=2)[:, :, 0] - _DAY_PRICE[sets]
    best = gain.argmax(axis=1)
    row = np.arange(len(subject))
    end = high[row, best]
    # The stretch begins after the last hour at which the running sum was lowest.
    until = np.arange(HOURS + 1)[None, :] <= end[:, None]
    at_lowest = until & (
        running[row, best] <= np.take_along_axis(lowest[row, best], end[:, None], axis=1) + 1e-12
    )
    begin = HOURS - at_lowest[:, ::-1].argmax(axis=1)
    unknown = np.zeros(len(subject))
    return _Slots(subject, sets[best], begin, end, gain[row, best], unknown, unknown)


def _with_null(weeks: _Weeks, slots: _Slots) -> _Slots:
    """The slots with the chance of an empty one, and what they are corrected for."""
    inside = _IN_SET[slots.days]
    hours = ((np.arange(HOURS) >= slots.low[:, None]) & (np.arange(HOURS) < slots.high[:, None])).astype(
        np.float64
    )
    count, days = weeks.count[slots.subject], weeks.days[slots.subject]
    in_hours = (count * hours[:, None, :]).sum(axis=2)
    share = weeks.share[slots.subject]
    slot_share = np.minimum((share * inside).sum(axis=1), 1 - 1e-9)
    by_day = -in_hours.sum(axis=1) * np.log1p(-slot_share)
    others = weeks.others[slots.subject]
    ratio = count.sum(axis=(1, 2)) / np.maximum(others.sum(axis=(1, 2)), 1.0)
    every_day = (others * hours[:, None, :]).sum(axis=(1, 2)) * ratio
    expected = np.where(inside.all(axis=1), every_day, by_day) / weeks.dispersion[slots.subject]
    per_day = expected / np.maximum((days * inside).sum(axis=1), 1)
    good = (expected >= _LEAST_EXPECTED) & ((in_hours * inside).sum(axis=1) <= 2 * _LEAK * expected)
    null = np.where(good, np.clip(np.exp(-per_day), 1e-9, 1.0), 1.0)
    return _Slots(
        slots.subject,
        slots.days,
        slots.low,
        slots.high,
        np.where(good, slots.gain, 0.0),
        null,
        np.exp(_DAY_PRICE[slots.days]) / _stretch_weight(count, slots.low, slots.high),
    )


def _stretch_weight(count: Floats, low: Ints, high: Ints) -> Floats:
    """(slots,) share of the error budget for a stretch of hours, among the hours in which the subject occurs."""
    used = count.sum(axis=1) > 0
    first, last = used.argmax(axis=1), HOURS - 1 - used[:, ::-1].argmax(axis=1)
    hours = np.maximum(last - first + 1, 1)
    from_start, to_end = low <= first, high > last
    weight: Floats = np.where(
        from_start & to_end,
        1 / 2,
        np.where(from_start | to_end, 1 / 4 / (2 * hours), 1 / 2 / (hours * (hours + 1))),
    )
    return weight


def _says_something(subjects: Subjects, slots: _Slots, certain: Flags) -> Flags:
    """(slots,) whether no better slot of the same or a wider subject covers most of it.

    What can be told from chance comes first, and of that what is said of most events.
    """
    wide = np.where(certain, subjects.size[slots.subject], 0)
    order = np.lexsort((slots.subject, -slots.gain, -wide, ~certain, subjects.user[slots.subject]))
    keep = np.zeros(len(slots), dtype=np.bool_)
    owner = subjects.user[slots.subject]
    for user in np.unique(owner):
        kept: list[int] = []
        for slot in order[owner[order] == user].tolist():
            if not any(_covers(subjects, slots, wide, slot) for wide in kept):
                kept.append(slot)
        keep[kept] = True
    return keep


def _covers(subjects: Subjects, slots: _Slots, wide: int, slot: int) -> bool:
    hours = min(slots.high[wide], slots.high[slot]) - max(slots.low[wide], slots.low[slot])
    days = (_IN_SET[slots.days[wide]] * _IN_SET[slots.days[slot]]).sum()
    size = (slots.high[slot] - slots.low[slot]) * _IN_SET[slots.days[slot]].sum()
    if max(hours, 0) * days < _OVERLAP * size:
        return False
    a, b = slots.subject[wide], slots.subject[slot]
    if a == b:
        return True
    events = subjects.event[subjects.start[b] : subjects.start[b + 1]]
    wider = subjects.event[subjects.start[a] : subjects.start[a + 1]]
    return bool(np.isin(events, wider, assume_unique=True).mean() > _OVERLAP)


def _candidates(type: PatternType, log: Log, subjects: Subjects, weeks: _Weeks, slots: _Slots) -> Candidates:
    active, user = log.active, subjects.user[slots.subject]
    first = active.position(user, weeks.first[slots.subject])
    length = np.maximum(active.position(user, weeks.last[slots.subject] + 1) - first, 0)
    slot, position = np.repeat(np.arange(len(slots)), length), ranges(first, length)
    day = active.day[position]
    due = _IN_SET[slots.days[slot], weekday_of(day)] > 0
    slot, position, day = slot[due], position[due], day[due]

    low, high = _stretched(log, subjects, slots)
    length = subjects.size[slots.subject]
    which = np.repeat(np.arange(len(slots)), length)
    event = subjects.event[ranges(subjects.start[slots.subject], length)]
    hour = log.minute[event] / 60
    inside = (hour >= low[which]) & (hour < high[which])
    # What lasts all day is in no hour, and in every whole day.
    inside |= np.isnan(hour) & (high[which] - low[which] == HOURS)
    broken = distinct(
        which[inside] * (len(active.day) + 1)
        + active.position(log.user[event[inside]], log.day[event[inside]])
    )
    wanted = slot * (len(active.day) + 1) + position
    at = np.minimum(np.searchsorted(broken, wanted), max(len(broken) - 1, 0))
    hit = broken[at] != wanted if len(broken) else np.ones(len(wanted), dtype=np.bool_)

    over = day * MICROSECONDS_PER_DAY + high[slot] * _HOUR
    known = over <= log.as_of_local[user[slot]]
    slot, position, day, hit, over = slot[known], position[known], day[known], hit[known], over[known]
    shows = np.searchsorted(log.user << 32 | log.day + 2**31, active.user[position] << 32 | day + 2**31)
    next_due = np.zeros(len(slot), dtype=np.int64)
    for days in np.unique(slots.days):
        of_set = slots.days[slot] == days
        next_due[of_set] = next_due_day(active, _DAY_SETS[days], user[slot[of_set]], day[of_set])
    trials = Trials(
        slot, over, hit, np.where(hit, shows, -1), next_due * MICROSECONDS_PER_DAY + high[slot] * _HOUR
    ).sorted()
    rules = [
        _rule(where, int(days), int(a), int(b), log.day_starts_at)
        for where, days, a, b in zip(subjects.where(slots.subject), slots.days, low, high, strict=True)
    ]
    return Candidates(type, user, rules, slots.null_rate, slots.hypotheses, trials)


def _stretched(log: Log, subjects: Subjects, slots: _Slots) -> tuple[Ints, Ints]:
    """(slots,) hours, run out to midnight where nothing of the subject comes beyond them on any day."""
    low, high = slots.low.copy(), slots.high.copy()
    for i, (subject, a, b) in enumerate(zip(slots.subject, slots.low, slots.high, strict=True)):
        event = subjects.event[subjects.start[subject] : subjects.start[subject + 1]]
        hour = log.minute[event] / 60
        if not (hour < a).any():
            low[i] = 0
        if not (hour >= b).any():
            high[i] = HOURS
    return low, high


def _rule(where: dict[str, str], days: int, low: int, high: int, day_starts_at: int) -> Rule:
    whole_day = (low, high) == (0, HOURS)
    low, high = (low, high) if whole_day else (low + day_starts_at, high + day_starts_at)
    rule: dict[str, object] = {
        "where": where,
        "days": [WEEKDAYS[d] for d in _DAY_SETS[days].labels],
        "from": f"{low % HOURS:02d}:00",
        "to": f"{high if high <= HOURS else high - HOURS:02d}:00",
    }
    if day_starts_at:
        rule["day_starts_at"] = f"{day_starts_at:02d}:00"
    return rule


def _table(log: Log, owner: Ints, event: Ints, quarter: Ints, owners: int) -> Floats:
    """(owners, 7, 24) quarters of an hour in which each owner's events came."""
    owner, day, quarter = _quarters(log, owner, event, quarter)
    cell = owner * (7 * HOURS) + weekday_of(day) * HOURS + quarter // 4
    return np.bincount(cell, minlength=owners * 7 * HOURS).reshape(owners, 7, HOURS).astype(np.float64)


def _quarters(log: Log, owner: Ints, event: Ints, quarter: Ints) -> tuple[Ints, Ints, Ints]:
    """Owner, day and quarter of the day of every quarter of an hour in which the owner's events came, sorted."""
    once = distinct((owner << 32 | log.day[event] + 2**31) << 7 | quarter[event])
    return once >> 39, (once >> 7 & 0xFFFFFFFF) - 2**31, once & 127


def _dispersion(log: Log, owner: Ints, event: Ints, quarter: Ints, days: Ints) -> Floats:
    """(owners,) the variance of a day's count over its mean, by weekday; 1 where chance explains it.

    Pearson's estimate for quasi-Poisson counts (McCullagh & Nelder 1989, section 6.2), taken where it is
    significant at 5 %.
    """
    owners = len(days)
    owner, day, _ = _quarters(log, owner, event, quarter)
    _, first, count = np.unique(owner << 32 | day + 2**31, return_index=True, return_counts=True)
    cell = owner[first] * 7 + weekday_of(day[first])
    total, squares = (
        np.bincount(cell, weights=weights, minlength=owners * 7).reshape(owners, 7)
        for weights in (count, count**2)
    )
    mean = total / np.maximum(days, 1)
    known = mean > 0
    freedom = np.maximum(((days - 1) * known).sum(axis=1), 1)
    chi_square = (np.where(known, squares / np.where(known, mean, 1) - total, 0.0)).sum(axis=1)
    dispersion = chi_square / freedom
    by_chance = 1 + _ONE_SIDED * np.sqrt(2 / freedom)
    return np.where(dispersion > by_chance, dispersion, 1.0)


_ONE_SIDED = 1.645
"""Standard deviations above the mean that are passed once in twenty times."""


def _active_weekdays(log: Log, user: Ints, first: Ints, last: Ints) -> Ints:
    """(n, 7) active days of each weekday between two days, both included."""
    active = log.active
    running = np.zeros((len(active.day) + 1, 7), dtype=np.int64)
    running[np.arange(1, len(active.day) + 1), weekday_of(active.day)] = 1
    np.cumsum(running, axis=0, out=running)
    return running[active.position(user, last + 1)] - running[active.position(user, first)]

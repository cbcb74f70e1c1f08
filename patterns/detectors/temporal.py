"""Temporal: something is done at a time of day, on the dates of a calendar rule.

From crowded windows of the day (`patterns.windows`) by way of the span in which each was kept
(`patterns.episodes`) to the calendar rule that explains its dates best (`patterns.recurrence`).

**Null.** On a due day on which the person was active, an event of this kind falls within the tolerance by chance
with probability ``1 - exp(-λ)``, where λ is the subject's events per active day of the span, times the share of
the person's other activity in the window, times how much more the person does on that weekday than on others, if it
is more (`patterns.rhythm`). For whole types the days are given and only the hours are left to chance,
``1 - (1 - share)^n`` for a day with n events: that mail is a thing of weekdays is no habit.

**Hypotheses.** The error budget is shared out evenly over a person's subjects, within a subject over the windows (every
event may begin one of every width), and within a window over the calendar rules, each weighted by how plain it is to
say (weighted Bonferroni, Genovese, Roeder & Wasserman 2006; `patterns.recurrence.RULE_WEIGHTS`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from observations.civil import clock
from patterns.candidates import Candidates, PatternType, Trials
from patterns.episodes import best_spans
from patterns.log import MICROSECONDS_PER_DAY, Flags, Floats, Ints, Log, ranges
from patterns.recurrence import RULE_WEIGHTS, RULES, choose, next_due_day
from patterns.rhythm import BIN, WAKING_MINUTES, OwnTimes, Rhythm
from patterns.selection import FIRST, say_once
from patterns.settings import Settings
from patterns.significance import is_certain, likelihood_gain
from patterns.subjects import Subjects
from patterns.windows import WIDTH_CLASSES, WIDTHS, Windows, find_windows

_MINUTE = 60_000_000
_DAY = 1440.0
_WINDOW_PRICE = 5.0
"""Nats that naming a window takes: about one in a hundred and fifty. Naming its span takes the logarithm of the number
of days twice."""
_TIE = 0.01
"""Weight of the likelihood gain where two slots tell equally much (a log of one kind of event only)."""


@dataclass(frozen=True)
class TemporalDetector:
    """Finds what is done at regular times.

    Attributes:
        least_tolerance: minutes that a person may be early or late in any case.
        least_rate: a rule kept more seldom than this on its due days is no candidate.

    """

    least_tolerance: int = 10
    least_rate: float = 0.4
    type: PatternType = "temporal"

    def detect(self, log: Log, subjects: Subjects, settings: Settings, _explained: Flags) -> Candidates:
        """Candidates at regular times; see the module."""
        quarters = _quarter_hours(log, subjects.owner, subjects.event)
        if not len(quarters.subject):
            return Candidates.none(self.type)
        rhythm = Rhythm.of(log)
        least = max(settings.confirmation_count - 2, 2)
        user, kind = subjects.user[quarters.subject], rhythm.kind[quarters.event]
        own = _own_times(log, subjects, np.zeros(len(log), dtype=np.bool_))
        windows = find_windows(
            quarters.subject, log.weekday[quarters.event], quarters.minute, user, kind, rhythm, own, least
        )
        slots = _slots(log, subjects, quarters, windows, rhythm, least, self.least_rate, settings)
        if not len(slots):
            return Candidates.none(self.type)
        slots = _with_tolerance(log, quarters, slots, self.least_tolerance)
        hypotheses = _hypotheses(subjects, quarters, slots)
        # What certain slots account for is no background: the null is fitted anew without it ("peeling").
        certain = is_certain(slots.gain, hypotheses, settings)
        kept = np.zeros(len(log), dtype=np.bool_)
        kept[quarters.event[_supporting(log, quarters, slots[certain])[1]]] = True
        slots = replace(slots, null_rate=_final_null_rates(log, subjects, slots, Rhythm.of(log, kept), kept))
        return _candidates(log, subjects, quarters, slots, hypotheses)


@dataclass(frozen=True, eq=False)
class _Quarters:
    """Events of subjects with a time of day, at most one each quarter-hour of a day; sorted by subject, minute."""

    subject: Ints
    event: Ints
    minute: Floats
    key: Floats  # subject · 4096 + minute: what windows are looked up in

    def inside(self, subject: Ints, low: Floats, width: Floats) -> tuple[Ints, Ints]:
        """Pairs (window, entry) of all entries inside each window; windows may run past midnight."""
        low = low % _DAY
        pairs = []
        for begin, end in ((low, np.minimum(low + width, _DAY)), (np.zeros_like(low), low + width - _DAY)):
            some = np.flatnonzero(end >= begin)
            first = np.searchsorted(self.key, subject[some] * 4096.0 + begin[some], side="left")
            last = np.searchsorted(self.key, subject[some] * 4096.0 + end[some], side="right")
            length = np.maximum(last - first, 0)
            pairs.append((np.repeat(some, length), ranges(first, length)))
        window = np.concatenate([p[0] for p in pairs])
        entry = np.concatenate([p[1] for p in pairs])
        order = np.lexsort((entry, window))
        return window[order], entry[order]


def _quarter_hours(log: Log, owner: Ints, event: Ints) -> _Quarters:
    """The quarter-hours of events that are given with their owner: a subject, or a person."""
    timed = ~np.isnan(log.minute[event])
    owner, event = owner[timed], event[timed]
    minute = log.minute[event]
    cell = (log.day[event] - log.day.min(initial=0)) * 96 + (minute // 15).astype(np.int64)
    order = np.lexsort((minute, cell, owner))
    owner, event, minute, cell = owner[order], event[order], minute[order], cell[order]
    new = np.ones(len(owner), dtype=np.bool_)
    new[1:] = (np.diff(owner) != 0) | (np.diff(cell) != 0)
    owner, event, minute = owner[new], event[new], minute[new]
    order = np.lexsort((event, minute, owner))
    owner, event, minute = owner[order], event[order], minute[order]
    return _Quarters(owner, event, minute, owner * 4096.0 + minute)


def _hypotheses(subjects: Subjects, quarters: _Quarters, slots: _Slots) -> Floats:
    """(slots,) how many rules each stands for: the inverse of its share of the person's error budget."""
    per_person = np.bincount(subjects.user)
    windows = np.bincount(quarters.subject, minlength=len(subjects)) * len(WIDTHS)
    user = subjects.user[slots.subject]
    hypotheses: Floats = per_person[user] * windows[slots.subject] / RULE_WEIGHTS[slots.rule]
    return hypotheses


@dataclass(frozen=True, eq=False)
class _Slots:
    """Windows with the rule that explains when they are used; every array is (slots,).

    `first` and `last` are the ends of the span, as indices into the log's active days.
    """

    subject: Ints
    low: Floats
    width: Floats
    rule: Ints
    first: Ints
    last: Ints
    null_rate: Floats
    gain: Floats

    def __len__(self) -> int:
        return len(self.subject)

    def __getitem__(self, chosen: Ints | Flags) -> _Slots:
        return _Slots(
            *(
                getattr(self, name)[chosen]
                for name in ("subject", "low", "width", "rule", "first", "last", "null_rate", "gain")
            )
        )


def _slots(
    log: Log,
    subjects: Subjects,
    quarters: _Quarters,
    windows: Windows,
    rhythm: Rhythm,
    least: int,
    least_rate: float,
    settings: Settings,
) -> _Slots:
    """The windows that follow a calendar rule well enough, each thing once."""
    window, entry = quarters.inside(windows.subject, windows.low, windows.width)
    user = subjects.user[windows.subject]
    day = log.active.position(user[window], log.day[quarters.event[entry]])
    group, position = _distinct_pairs(window, day)
    first_hit, last_hit = best_spans(group, position, len(windows))
    number = np.arange(len(group))
    inside = (number >= first_hit[group]) & (number <= last_hit[group])
    group, position = group[inside], position[inside]
    first, last = _ends(group, position, len(windows))
    choice = choose(group, position, first, last, log.active, least)
    unknown = np.zeros(len(windows))
    slots = _Slots(windows.subject, windows.low, windows.width, choice.rule, first, last, unknown, unknown)
    null = _null_rates(log, subjects, slots, rhythm, np.zeros(len(log), dtype=np.bool_))
    rate = choice.support / np.maximum(choice.opportunities, 1)
    gain = likelihood_gain(choice.support, choice.opportunities, null) + np.minimum(choice.gain, 0.0)
    good = (choice.rule >= 0) & (rate >= least_rate) & (rate > null) & (gain > 0)
    slots = replace(slots, null_rate=null, gain=gain)
    # What a slot rests on: its events on due days within its span.
    due = (
        _is_due(choice.rule, window, log.day[quarters.event[entry]])
        & (day >= first[window])
        & (day <= last[window])
    )
    rests = due & good[window]
    renumber = np.cumsum(good) - 1
    slots, owner, evidence = slots[good], renumber[window[rests]], quarters.event[entry[rests]]
    closeness = _closeness(log, subjects, quarters, slots, np.bincount(owner, minlength=len(slots)))
    closest = _closest(slots, closeness, owner, evidence)
    renumber = np.cumsum(closest) - 1
    stays = closest[owner]
    slots, owner, evidence = slots[closest], renumber[owner[stays]], evidence[stays]
    told = _information(log, subjects, slots, np.bincount(owner, minlength=len(slots)))
    # What can be told from chance comes first, then what tells most.
    certain = is_certain(slots.gain, _hypotheses(subjects, quarters, slots), settings)
    says = told + _TIE * slots.gain + np.where(certain, FIRST, 0.0)
    return slots[say_once(subjects.user[slots.subject], says, owner, evidence)]


def _closest(slots: _Slots, closeness: Floats, owner: Ints, evidence: Ints) -> Flags:
    """(slots,) for each subject the set of windows that together describe its times best.

    Three sets are tried, of windows up to each class of width: what moved from eight to ten is two narrow windows and
    not a wide one, what is kept loosely is a wide one and not its narrow slices. A window costs what it takes to
    name it.
    """
    subjects = int(slots.subject.max(initial=-1)) + 1
    best, chosen = np.full(subjects, -np.inf), np.zeros(len(slots), dtype=np.bool_)
    for widths in WIDTH_CLASSES:
        allowed = slots.width <= widths[-1]
        number = np.cumsum(allowed) - 1
        rows = allowed[owner]
        kept = np.zeros(len(slots), dtype=np.bool_)
        kept[allowed] = say_once(
            slots.subject[allowed], closeness[allowed], number[owner[rows]], evidence[rows]
        )
        total = np.bincount(slots.subject[kept], weights=closeness[kept], minlength=subjects)
        better = total > best
        best = np.where(better, total, best)
        chosen = np.where(better[slots.subject], kept, chosen)
    return chosen


def _closeness(log: Log, subjects: Subjects, quarters: _Quarters, slots: _Slots, inside: Ints) -> Floats:
    """(slots,) nats by which the slot tells its subject's times better than "some time of the waking day".

    ``k·ln(k/K · waking day/width)``, K of the subject's events on the due days of the span and k of them in the slot,
    less the price of naming the window and its span.
    """
    by_weekday = _by_weekday(log, subjects, np.zeros(len(log), dtype=np.bool_))[slots.subject]
    due = (by_weekday * _weekdays_of_rules()[slots.rule]).sum(axis=1) / np.maximum(by_weekday.sum(axis=1), 1)
    order = np.lexsort((quarters.event, quarters.subject))
    in_span = _in_span(log, quarters.subject[order], quarters.event[order], slots.subject, slots)
    inside = np.maximum(inside, 1)
    events = np.maximum(in_span * due, inside)
    told = inside * np.log(inside / events * WAKING_MINUTES / np.maximum(slots.width, BIN))
    days = log.active.count[subjects.user[slots.subject]]
    closeness: Floats = told - _WINDOW_PRICE - 2 * np.log(days)
    return closeness


def _information(log: Log, subjects: Subjects, slots: _Slots, support: Ints) -> Floats:
    """(slots,) nats that slot and subject tell about each other: how well each event's kind follows from its time.

    ``support · ln(support · all / (subject's events · slot's events))``, over the person's events of the span. A
    subject that also happens at other times, and a slot in which other things happen too, tell less: of all the
    ways to cut the same events out of a life, the one along the grain tells most.
    """
    lives = _quarter_hours(log, log.user, np.arange(len(log)))
    user = subjects.user[slots.subject]
    slot, entry = lives.inside(user, slots.low, slots.width)
    days = log.active.day
    day = log.day[lives.event[entry]]
    here = _is_due(slots.rule, slot, day) & (day >= days[slots.first][slot]) & (day <= days[slots.last][slot])
    in_slot = np.maximum(np.bincount(slot[here], minlength=len(slots)), support)
    of_subject = np.maximum(_in_span(log, subjects.owner, subjects.event, slots.subject, slots), support)
    of_person = np.maximum(_in_span(log, log.user, np.arange(len(log)), user, slots), of_subject)
    told: Floats = support * np.log(support * of_person / (of_subject * in_slot))
    return np.maximum(told, 0.0)


def _in_span(log: Log, owner: Ints, event: Ints, wanted: Ints, slots: _Slots) -> Ints:
    """(slots,) how many events of each slot's `wanted` owner lie in its span; events ascend within an owner."""
    days = log.active.day
    key = owner << 32 | log.day[event] + 2**31
    begin = np.searchsorted(key, wanted << 32 | days[slots.first] + 2**31, side="left")
    end: Ints = np.searchsorted(key, wanted << 32 | days[slots.last] + 2**31, side="right")
    return end - begin


def _null_rates(log: Log, subjects: Subjects, slots: _Slots, rhythm: Rhythm, without: Flags) -> Floats:
    """(slots,) chance that a due day has an event in the slot, were the subject's events spread evenly.

    `without` are the events that `rhythm` leaves out of the background.
    """
    subject = slots.subject
    user, kind = subjects.user[subject], rhythm.kind[subjects.event[subjects.start[subject]]]
    share = rhythm.share(user, kind, subject, slots.low, slots.width, _own_times(log, subjects, without))
    others = rhythm.weekday_factor(user, kind, _by_weekday(log, subjects, without)[subject])
    factor = np.maximum(others, 1.0)
    weekdays = _weekdays_of_rules()[slots.rule]
    mean_factor = (factor * weekdays).sum(axis=1) / np.maximum(weekdays.sum(axis=1), 1)
    per_day = _in_span(log, subjects.owner, subjects.event, subject, slots) / (slots.last - slots.first + 1)
    null: Floats = -np.expm1(-per_day * share * mean_factor)
    return np.clip(null, 1e-9, 1 - 1e-9)


def _final_null_rates(log: Log, subjects: Subjects, slots: _Slots, rhythm: Rhythm, without: Flags) -> Floats:
    """The same, and for whole types (or all of one action) the chance given how many events each due day had."""
    null = _null_rates(log, subjects, slots, rhythm, without)
    broad = np.flatnonzero(subjects.is_broad[slots.subject])
    if not len(broad):
        return null
    subject, active = slots.subject[broad], log.active
    user, kind = subjects.user[subject], rhythm.kind[subjects.event[subjects.start[subject]]]
    own = _own_times(log, subjects, without)
    share = rhythm.share(user, kind, subject, slots.low[broad], slots.width[broad], own)
    length = subjects.size[subject]
    which = np.repeat(np.arange(len(broad)), length)
    event = subjects.event[ranges(subjects.start[subject], length)]
    position = active.position(log.user[event], log.day[event])
    inside = (position >= slots.first[broad][which]) & (position <= slots.last[broad][which])
    inside &= _is_due(slots.rule[broad], which, log.day[event])
    keys, count = np.unique(which[inside] << 32 | position[inside], return_counts=True)
    slot = keys >> 32
    used = np.bincount(slot, weights=1 - (1 - np.minimum(share, 1.0)[slot]) ** count, minlength=len(broad))
    span = slots.last[broad] - slots.first[broad] + 1
    which, position = np.repeat(np.arange(len(broad)), span), ranges(slots.first[broad], span)
    due = np.bincount(which[_is_due(slots.rule[broad], which, active.day[position])], minlength=len(broad))
    null[broad] = np.clip(used / np.maximum(due, 1), 1e-9, 1 - 1e-9)
    return null


def _by_weekday(log: Log, subjects: Subjects, without: Flags) -> Ints:
    """(subjects, 7) events with a time of day, by weekday."""
    counted = ~without[subjects.event] & ~np.isnan(log.minute[subjects.event])
    key = subjects.owner[counted] * 7 + log.weekday[subjects.event[counted]]
    return np.bincount(key, minlength=len(subjects) * 7).reshape(-1, 7)


def _own_times(log: Log, subjects: Subjects, without: Flags) -> OwnTimes:
    counted = ~np.isnan(log.minute[subjects.event]) & ~without[subjects.event]
    return OwnTimes.of(subjects.owner[counted], log.minute[subjects.event[counted]], len(subjects))


def _weekdays_of_rules() -> Ints:
    """(rules, 7) on which weekdays each rule can be due."""
    table = np.ones((len(RULES), 7), dtype=np.int64)
    for number, rule in enumerate(RULES):
        per_weekday = {"weekday": 1, "nth weekday": 4, "last weekday": 2}.get(
            rule.family.name, rule.family.interval
        )
        if rule.family.name == "weekday" or per_weekday > 1:
            table[number] = 0
            table[number, [label // per_weekday for label in rule.labels]] = 1
    return table


def _with_tolerance(log: Log, quarters: _Quarters, slots: _Slots, least: int) -> _Slots:
    """The slots with low and width fitted to what was kept, made symmetric about a time a person would say.

    The range of n evenly spread times falls short of the truth by ``(n - 1) / (n + 1)`` on average; the tolerance
    is stretched by as much (David & Nagaraja 2003, section 2.3).
    """
    window, entry = _supporting(log, quarters, slots)
    offset = (quarters.minute[entry] - slots.low[window]) % _DAY
    count = np.bincount(window, minlength=len(slots))
    order = np.lexsort((offset, window))
    start = np.concatenate([[0], np.cumsum(count)[:-1]])
    smallest, largest = offset[order][start], offset[order][start + count - 1]
    median = (offset[order][start + (count - 1) // 2] + offset[order][start + count // 2]) / 2
    reach = (largest - smallest) / 2 * (count + 1) / np.maximum(count - 1, 1)
    # Kept to the minute, the time is the usual one; kept loosely, the middle.
    centre = np.where(reach <= least, median, (smallest + largest) / 2)
    time = np.round((slots.low + centre) / 5) * 5
    furthest = np.maximum(np.abs(slots.low + smallest - time), np.abs(slots.low + largest - time))
    tolerance = np.ceil(np.maximum(np.maximum(reach, furthest), least) / 5) * 5
    return replace(slots, low=(time - tolerance) % _DAY, width=2 * tolerance)


def _supporting(log: Log, quarters: _Quarters, slots: _Slots) -> tuple[Ints, Ints]:
    """Pairs (slot, entry) of the entries inside each slot on its due days."""
    slot, entry = quarters.inside(slots.subject, slots.low, slots.width)
    due = _is_due(slots.rule, slot, log.day[quarters.event[entry]])
    return slot[due], entry[due]


def _candidates(
    log: Log, subjects: Subjects, quarters: _Quarters, slots: _Slots, hypotheses: Floats
) -> Candidates:
    """The slots as rules with their trials: every due day from the first of the span until now."""
    active, user = log.active, subjects.user[slots.subject]
    end = active.start[user + 1]
    length = end - slots.first
    slot, position = np.repeat(np.arange(len(slots)), length), ranges(slots.first, length)
    due = _is_due(slots.rule, slot, active.day[position])
    slot, position = slot[due], position[due]

    window, entry = quarters.inside(slots.subject, slots.low, slots.width)
    event = quarters.event[entry]
    on = active.position(user[window], log.day[event])
    # The event of a day that supports is the first of that day in the slot.
    key, order = window * (len(active.day) + 1) + on, np.lexsort((event, window, on))
    keys, at = np.unique(key[order], return_index=True)
    supporting = event[order][at]
    wanted = slot * (len(active.day) + 1) + position
    found = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    hit = keys[found] == wanted
    event_of = np.where(hit, supporting[found], -1)

    day = active.day[position]
    time, tolerance = (slots.low + slots.width / 2) % _DAY, slots.width / 2
    over = _wall_clock(day, time[slot] + tolerance[slot])
    when = np.where(hit, _wall_clock(log.day[event_of], log.minute[event_of]), over)
    # Today's slot is an opportunity once it is used or over.
    known = hit | (over <= log.as_of_local[user[slot]])
    slot, day, hit, event_of, when = slot[known], day[known], hit[known], event_of[known], when[known]
    next_day = np.zeros(len(slot), dtype=np.int64)
    for number in np.unique(slots.rule):
        of_rule = slots.rule[slot] == number
        next_day[of_rule] = next_due_day(log.active, RULES[number], user[slot[of_rule]], day[of_rule])
    next_due = _wall_clock(next_day, time[slot] + tolerance[slot])
    where = subjects.where(slots.subject)
    rules = [
        _rule(
            where[i],
            int(slots.rule[i]),
            float(time[i]),
            float(tolerance[i]),
            int(active.day[slots.first[i]]),
            log.day_starts_at,
        )
        for i in range(len(slots))
    ]
    trials = Trials(slot, when, hit, event_of, next_due).sorted()
    return Candidates("temporal", user, rules, slots.null_rate, hypotheses, trials)


def _rule(
    where: dict[str, str], number: int, time: float, tolerance: float, first_day: int, day_starts_at: int
) -> dict[str, object]:
    recurrence = RULES[number]
    rule: dict[str, object] = {
        "where": where,
        "rrule": recurrence.rrule(),
        "time": clock(time + 60 * day_starts_at),
        "tolerance_minutes": ceil(tolerance),
    }
    if recurrence.needs_start:
        first = int(recurrence.next_due(np.array([first_day - 1]))[0])
        rule["dtstart"] = str(np.datetime64(first, "D"))
    if day_starts_at:
        rule["day_starts_at"] = clock(60 * day_starts_at)
    return rule


def _is_due(rule: Ints, slot: Ints, day: Ints) -> Flags:
    """(n,) whether the rule of each slot is due on each day."""
    answer = np.zeros(len(slot), dtype=np.bool_)
    numbers = rule[slot]
    for number in np.unique(numbers):
        if number >= 0:
            of_rule = numbers == number
            answer[of_rule] = RULES[number].due(day[of_rule])
    return answer


def _wall_clock(day: Ints, minute: Floats) -> Ints:
    return day * MICROSECONDS_PER_DAY + np.round(np.nan_to_num(minute) * _MINUTE).astype(np.int64)


def _distinct_pairs(group: Ints, position: Ints) -> tuple[Ints, Ints]:
    """Each (group, position) once, sorted."""
    keys = np.unique(group << 32 | position)
    return keys >> 32, keys & 0xFFFFFFFF


def _ends(group: Ints, position: Ints, groups: int) -> tuple[Ints, Ints]:
    """(groups,) the first and the last position of each group; sorted input, no group empty."""
    start = np.searchsorted(group, np.arange(groups + 1))
    return position[start[:-1]], position[start[1:] - 1]

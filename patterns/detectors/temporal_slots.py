"""Slots: windows of the day with the calendar rule and the span in which they are used, each habit once.

Of a subject's windows those are kept that together tell its times best; of all subjects' slots those that can be told
from chance, and of these the ones that tell most of when their subject happens.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from patterns.detectors.scan_windows import WIDTH_CLASSES, WIDTHS, Windows
from patterns.detectors.temporal_null_model import WEEKDAYS_OF_RULES, Slots, in_span, null_rates
from patterns.eventlog.activity_profile import BIN, WAKING_MINUTES
from patterns.eventlog.arrays import Flags, Floats, Ints, distinct, order_by
from patterns.eventlog.log import Log
from patterns.eventlog.subjects import Subjects
from patterns.eventlog.times_of_day import DAY_MINUTES, Times
from patterns.inference.densest_span import best_spans
from patterns.inference.redundancy import FIRST, say_once
from patterns.inference.significance import can_be_usual, is_certain, likelihood_gain
from patterns.rules.recurrence import RULE_WEIGHTS, are_due, choose
from patterns.settings import Settings

_WINDOW_PRICE = 5.0
"""Nats that naming a window takes: about one in a hundred and fifty. Naming its span takes the logarithm of the number
of days twice."""
_TIME_OF_DAY = WIDTH_CLASSES[1][-1]
"""Minutes. The wider hours of a subject that sets the rhythm are the person's waking or working day, and no habit."""
_TIE = 0.01
"""Weight of the likelihood gain where two slots tell equally much (a log of one kind of event only)."""


def find_slots(
    log: Log,
    subjects: Subjects,
    times: Times,
    windows: Windows,
    least: int,
    least_rate: float,
    settings: Settings,
) -> Slots:
    """The windows that follow a calendar rule well enough, each thing once."""
    window, entry = times.inside(windows.subject, windows.low, windows.width)
    user = subjects.user[windows.subject]
    day = log.active.position(user[window], log.day[times.event[entry]])
    group, position = _distinct_pairs(window, day)
    first_hit, last_hit = best_spans(group, position, len(windows))
    number = np.arange(len(group))
    inside = (number >= first_hit[group]) & (number <= last_hit[group])
    group, position = group[inside], position[inside]
    first, last = _ends(group, position, len(windows))
    choice = choose(group, position, first, last, log.active, least)
    unknown = np.zeros(len(windows))
    slots = Slots(
        windows.subject, windows.low, windows.width, choice.rule, first, last, unknown, unknown, unknown
    )
    null = null_rates(log, subjects, slots)
    rate = choice.support / np.maximum(choice.opportunities, 1)
    gain = likelihood_gain(choice.support, choice.opportunities, null) + np.minimum(choice.gain, 0.0)
    good = (choice.rule >= 0) & (rate >= least_rate) & (rate > null) & (gain > 0)
    good &= (slots.width < _TIME_OF_DAY + 1) | ~subjects.sets_the_rhythm[slots.subject]
    slots = replace(slots, rate=rate, null_rate=null, gain=gain)
    # What a slot rests on: its events on due days within its span.
    due = (
        are_due(choice.rule[window], log.day[times.event[entry]])
        & (day >= first[window])
        & (day <= last[window])
    )
    rests = due & good[window]
    renumber = np.cumsum(good) - 1
    slots, owner, evidence = slots[good], renumber[window[rests]], times.event[entry[rests]]
    closeness = _closeness(log, subjects, times, slots, np.bincount(owner, minlength=len(slots)))
    closest = _closest(slots, closeness, owner, evidence)
    renumber = np.cumsum(closest) - 1
    stays = closest[owner]
    slots, owner, evidence = slots[closest], renumber[owner[stays]], evidence[stays]
    told = _information(log, subjects, slots, np.bincount(owner, minlength=len(slots)))
    # First what can be told from chance, and of that what is about a kind of thing and not about all mail or all
    # events, whose times are the sum of others; then what tells most.
    certain = is_sure(slots, slot_hypotheses(subjects, times, slots), settings)
    rank = np.where(certain, np.where(subjects.is_broad[slots.subject], 1.0, 2.0), 0.0)
    says = told + _TIE * slots.gain + FIRST * rank
    return slots[say_once(subjects.user[slots.subject], says, owner, evidence)]


def _closest(slots: Slots, closeness: Floats, owner: Ints, evidence: Ints) -> Flags:
    """(slots,) for each subject the set of windows that together describe its times best.

    Three sets are tried, of windows up to each class of width: what moved from eight to ten is two narrow windows and
    not a wide one, what is kept loosely is a wide one and not its narrow slices. A window costs what it takes to
    name it.
    """
    subjects = int(slots.subject.max(initial=-1)) + 1
    best, chosen = np.full(subjects, -np.inf), np.zeros(len(slots), dtype=np.bool_)
    for widths in WIDTH_CLASSES:
        allowed = slots.width < widths[-1] + 1
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


def _closeness(log: Log, subjects: Subjects, times: Times, slots: Slots, inside: Ints) -> Floats:
    """(slots,) nats by which the slot tells its subject's times better than "some time of the waking day".

    ``k·ln(k/K · waking day/width)``, K of the subject's events on the due days of the span and k of them in the slot,
    less the price of naming the window and its span.
    """
    by_weekday = subjects.by_weekday[slots.subject]
    due = (by_weekday * WEEKDAYS_OF_RULES[slots.rule]).sum(axis=1) / np.maximum(by_weekday.sum(axis=1), 1)
    order = order_by(times.owner, times.event)
    events = in_span(log, times.owner[order], times.event[order], slots.subject, slots)
    inside = np.maximum(inside, 1)
    events = np.maximum(events * due, inside)
    told = inside * np.log(inside / events * WAKING_MINUTES / np.maximum(slots.width, BIN))
    days = log.active.count[subjects.user[slots.subject]]
    closeness: Floats = told - _WINDOW_PRICE - 2 * np.log(days)
    return closeness


def _information(log: Log, subjects: Subjects, slots: Slots, support: Ints) -> Floats:
    """(slots,) nats that slot and subject tell about each other: how well each event's kind follows from its time.

    ``support · ln(support · all / (subject's events · slot's events))``, over the person's events of the span. A
    subject that also happens at other times, and a slot in which other things happen too, tell less: of all the
    ways to cut the same events out of a life, the one along the grain tells most.
    """
    lives = Times.of(log, log.user, np.arange(len(log)))
    user = subjects.user[slots.subject]
    slot, entry = lives.inside(user, slots.low, slots.width)
    days = log.active.day
    day = log.day[lives.event[entry]]
    here = are_due(slots.rule[slot], day) & (day >= days[slots.first][slot]) & (day <= days[slots.last][slot])
    in_slot = np.maximum(np.bincount(slot[here], minlength=len(slots)), support)
    of_subject = np.maximum(in_span(log, subjects.owner, subjects.event, slots.subject, slots), support)
    of_person = np.maximum(in_span(log, log.user, np.arange(len(log)), user, slots), of_subject)
    told: Floats = support * np.log(support * of_person / (of_subject * in_slot))
    return np.maximum(told, 0.0)


def is_sure(slots: Slots, hypotheses: Floats, settings: Settings) -> Flags:
    """(slots,) which can be told from chance, and are kept so much oftener that they can be confirmed."""
    sure: Flags = is_certain("temporal", slots.gain, hypotheses, settings)
    return sure & can_be_usual(slots.rate, slots.null_rate, settings)


def slot_hypotheses(subjects: Subjects, times: Times, slots: Slots) -> Floats:
    """(slots,) how many rules each stands for: the inverse of its share of the person's error budget."""
    per_person = np.bincount(subjects.user)
    windows = np.bincount(times.owner, minlength=len(subjects)) * len(WIDTHS)
    user = subjects.user[slots.subject]
    hypotheses: Floats = per_person[user] * windows[slots.subject] / RULE_WEIGHTS[slots.rule]
    return hypotheses


def with_tolerance(log: Log, times: Times, slots: Slots, least: int) -> Slots:
    """The slots with low and width fitted to what was kept, made symmetric about a time a person would say.

    The range of n evenly spread times falls short of the truth by ``(n - 1) / (n + 1)`` on average; the tolerance
    is stretched by as much (David & Nagaraja 2003, section 2.3).
    """
    window, entry = supporting(log, times, slots)
    offset = (times.minute[entry] - slots.low[window]) % DAY_MINUTES
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
    return replace(slots, low=(time - tolerance) % DAY_MINUTES, width=2 * tolerance)


def supporting(log: Log, times: Times, slots: Slots) -> tuple[Ints, Ints]:
    """Pairs (slot, entry) of the entries inside each slot on its due days."""
    slot, entry = times.inside(slots.subject, slots.low, slots.width)
    due = are_due(slots.rule[slot], log.day[times.event[entry]])
    return slot[due], entry[due]


def _distinct_pairs(group: Ints, position: Ints) -> tuple[Ints, Ints]:
    """Each (group, position) once, sorted."""
    keys = distinct(group << 32 | position)
    return keys >> 32, keys & 0xFFFFFFFF


def _ends(group: Ints, position: Ints, groups: int) -> tuple[Ints, Ints]:
    """(groups,) the first and the last position of each group; sorted input, no group empty."""
    start = np.searchsorted(group, np.arange(groups + 1))
    return position[start[:-1]], position[start[1:] - 1]

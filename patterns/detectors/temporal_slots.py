"""Slots: windows of the day with the calendar rule and the span in which they are used, each habit once.

Of a subject's windows, those are kept that together describe its times best. Of all subjects' slots, those are kept that
are significant, and of these the ones that have most information about when their subject happens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from patterns.detectors.scan_windows import WIDTH_CLASSES, WIDTHS, Windows
from patterns.detectors.temporal_null_model import WEEKDAYS_OF_RULES, Slots, in_span, null_rates
from patterns.eventlog.activity_profile import BIN, WAKING_MINUTES
from patterns.eventlog.arrays import Flags, Floats, Ints, Rows, distinct, order_by, pack, renumber, unpack
from patterns.eventlog.log import Log
from patterns.eventlog.subjects import Subjects
from patterns.eventlog.times_of_day import DAY_MINUTES, Times
from patterns.inference.densest_span import best_spans
from patterns.inference.redundancy import PRIORITY, keep_once
from patterns.inference.significance import can_be_usual, is_certain, likelihood_gain
from patterns.rules.recurrence import RULE_WEIGHTS, are_due, choose
from patterns.settings import Settings

_WINDOW_PRICE = 5.0
"""Nats that it costs to name a window: about one of 150. Naming its span costs twice the logarithm of the number of
days."""
_TIME_OF_DAY = WIDTH_CLASSES[1][-1]
"""Minutes. A wider slot of a subject that sets the rhythm is the person's waking or working day, and no habit."""
_TIE = 0.01
"""Weight of the likelihood gain between slots with equal information (a log with one kind of event only)."""


def find_slots(
    log: Log, subjects: Subjects, times: Times, windows: Windows, least_rate: float, settings: Settings
) -> Slots:
    """The windows that follow a calendar rule well enough, each habit once."""
    entries = _Entries.of(log, subjects, times, windows)
    slots = _fitted(log, subjects, windows, entries, settings.least_support)
    good = _is_worth_it(subjects, slots, least_rate)
    slots, evidence = slots[good], entries.of_kept(good)
    evidence = evidence[_supports(log, slots, evidence)]
    closest = _closest(slots, _closeness(log, subjects, times, slots, evidence.count(len(slots))), evidence)
    slots, evidence = slots[closest], evidence.of_kept(closest)
    information = _information(log, subjects, slots, evidence.count(len(slots)))
    # Significant slots come first, and of these the ones about a kind of thing: the times of all mail, or of all events,
    # are the sum of others. Then come the ones with most information.
    certain = is_significant(slots, slot_hypotheses(subjects, times, slots), settings)
    rank = np.where(certain, np.where(subjects.is_broad[slots.subject], 1.0, 2.0), 0.0)
    score = information + _TIE * slots.gain + PRIORITY * rank
    return slots[keep_once(subjects.user[slots.subject], score, evidence.window, evidence.event)]


@dataclass(frozen=True, eq=False)
class _Entries(Rows):
    """Events inside windows, sorted by window; every array is (entries,).

    Attributes:
        window: index of the window, or of the slot made from it.
        event: index of the event in the log.
        day: its day, as an index into the active days.
    """

    window: Ints
    event: Ints
    day: Ints

    @classmethod
    def of(cls, log: Log, subjects: Subjects, times: Times, windows: Windows) -> _Entries:
        """The events inside these windows."""
        window, entry = times.inside(windows.subject, windows.low, windows.width)
        event = times.event[entry]
        day = log.active.position(subjects.user[windows.subject[window]], log.day[event])
        return cls(window, event, day)

    def of_kept(self, kept: Flags) -> _Entries:
        """The entries of the kept windows, renumbered as these are."""
        entries = self[kept[self.window]]
        return replace(entries, window=renumber(kept)[entries.window])

    def count(self, windows: int) -> Ints:
        """(windows,) how many entries each has."""
        return np.bincount(self.window, minlength=windows)


def _fitted(log: Log, subjects: Subjects, windows: Windows, entries: _Entries, least: int) -> Slots:
    """(windows,) each window with its span and the rule that fits it best."""
    first, last, group, position = _spans(entries, len(windows))
    choice = choose(group, position, first, last, log.active, least)
    unknown = np.zeros(len(windows))
    slots = Slots(
        subject=windows.subject,
        low=windows.low,
        width=windows.width,
        rule=choice.rule,
        first=first,
        last=last,
        rate=choice.support / np.maximum(choice.opportunities, 1),
        null_rate=unknown,
        gain=unknown,
    )
    null = null_rates(log, subjects, slots)
    gain = likelihood_gain(choice.support, choice.opportunities, null) + np.minimum(choice.gain, 0.0)
    return replace(slots, null_rate=null, gain=gain)


def _spans(entries: _Entries, windows: int) -> tuple[Ints, Ints, Ints, Ints]:
    """The span of each window, (windows,) first and last day; and its hits, sorted pairs (window, day), each once."""
    window, day = unpack(distinct(pack(entries.window, entries.day)))
    first, last = best_spans(window, day, windows)
    hit = np.arange(len(window))
    inside = (hit >= first[window]) & (hit <= last[window])
    return day[first], day[last], window[inside], day[inside]


def _is_worth_it(subjects: Subjects, slots: Slots, least_rate: float) -> Flags:
    """(slots,) True where a rule is kept often enough, and more often than by chance."""
    good = (slots.rule >= 0) & (slots.rate >= least_rate) & (slots.rate > slots.null_rate) & (slots.gain > 0)
    return good & ((slots.width < _TIME_OF_DAY + 1) | ~subjects.sets_the_rhythm[slots.subject])


def _supports(log: Log, slots: Slots, entries: _Entries) -> Flags:
    """(entries,) True on due days within the span of the slot."""
    slot, day = entries.window, entries.day
    due = are_due(slots.rule[slot], log.day[entries.event])
    return due & (day >= slots.first[slot]) & (day <= slots.last[slot])


def _closest(slots: Slots, closeness: Floats, evidence: _Entries) -> Flags:
    """(slots,) for each subject the set of windows that together describe its times best.

    Three sets are tried, of windows up to each class of width: what moved from eight to ten is two narrow windows and
    not a wide one, what is kept loosely is a wide one and not its narrow slices.
    """
    subjects = int(slots.subject.max(initial=-1)) + 1
    best, chosen = np.full(subjects, -np.inf), np.zeros(len(slots), dtype=np.bool_)
    for widths in WIDTH_CLASSES:
        allowed = slots.width < widths[-1] + 1
        rests_on = evidence.of_kept(allowed)
        kept = np.zeros(len(slots), dtype=np.bool_)
        kept[allowed] = keep_once(slots.subject[allowed], closeness[allowed], rests_on.window, rests_on.event)
        total = np.bincount(slots.subject[kept], weights=closeness[kept], minlength=subjects)
        better = total > best
        best = np.where(better, total, best)
        chosen = np.where(better[slots.subject], kept, chosen)
    return chosen


def _closeness(log: Log, subjects: Subjects, times: Times, slots: Slots, inside: Ints) -> Floats:
    """(slots,) nats by which the slot describes its subject's times better than "some time of the waking day".

    ``k·ln(k/K · waking day/width)``, K of the subject's events on the due days of the span and k of them in the slot,
    less the price of naming the window and its span.
    """
    by_weekday = subjects.by_weekday[slots.subject]
    due = (by_weekday * WEEKDAYS_OF_RULES[slots.rule]).sum(axis=1) / np.maximum(by_weekday.sum(axis=1), 1)
    order = order_by(times.owner, times.event)
    events = in_span(log, times.owner[order], times.event[order], slots.subject, slots)
    inside = np.maximum(inside, 1)
    events = np.maximum(events * due, inside)
    information = inside * np.log(inside / events * WAKING_MINUTES / np.maximum(slots.width, BIN))
    days = log.active.count[subjects.user[slots.subject]]
    closeness: Floats = information - _WINDOW_PRICE - 2 * np.log(days)
    return closeness


def _information(log: Log, subjects: Subjects, slots: Slots, support: Ints) -> Floats:
    """(slots,) mutual information of slot and subject, nats: how well the time of an event predicts its kind.

    ``support · ln(support · all / (subject's events · slot's events))``, over the person's events of the span. A
    subject that also happens at other times, and a slot in which other things happen too, have less information.
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
    information: Floats = support * np.log(support * of_person / (of_subject * in_slot))
    return np.maximum(information, 0.0)


def is_significant(slots: Slots, hypotheses: Floats, settings: Settings) -> Flags:
    """(slots,) True if the slot is significant, and kept so often that it can be confirmed."""
    sure: Flags = is_certain(slots.gain, hypotheses, settings)
    return sure & can_be_usual(slots.rate, slots.null_rate, settings)


def slot_hypotheses(subjects: Subjects, times: Times, slots: Slots) -> Floats:
    """(slots,) how many hypotheses each counts for: the inverse of its share of the person's error budget."""
    per_person = np.bincount(subjects.user)
    windows = np.bincount(times.owner, minlength=len(subjects)) * len(WIDTHS)
    user = subjects.user[slots.subject]
    hypotheses: Floats = per_person[user] * windows[slots.subject] / RULE_WEIGHTS[slots.rule]
    return hypotheses


def with_tolerance(log: Log, times: Times, slots: Slots, least: int) -> Slots:
    """The slots with low and width fitted to what was kept, made symmetric about a round time.

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
    # The median if it is kept to the minute, the middle of the range if it is kept loosely.
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

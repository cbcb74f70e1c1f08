"""Rules are due on the dates that RFC 5545 gives them, and planted schedules are recognised."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
import pytest
from dateutil.rrule import rrulestr
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from patterns.eventlog.log import ActiveDays
from patterns.rules.recurrence import FAMILIES, RULES, Choice, Recurrence, choose, label_days

EPOCH = date(1970, 1, 1)
FIRST = (date(2023, 1, 1) - EPOCH).days
LAST = (date(2028, 12, 31) - EPOCH).days  # two leap years, 2024 and 2028
DAYS = np.arange(FIRST, LAST + 1)
BY_TEXT = {rule.rrule(): rule for rule in RULES}


def as_date(day: int) -> date:
    return EPOCH + timedelta(days=int(day))


def rfc_days(rule: Recurrence, first: int, last: int) -> list[int]:
    """The days from `first` to `last` on which dateutil says that the rule is due."""
    start = first
    if rule.needs_start:
        start = int(rule.next_due(np.array([first - 1]))[0])
    begin = datetime.combine(as_date(start), datetime.min.time())
    recurrence = rrulestr(rule.rrule(), dtstart=begin)
    end = datetime.combine(as_date(last), datetime.min.time())
    return [(moment.date() - EPOCH).days for moment in recurrence.between(begin, end, inc=True)]


# --- against RFC 5545 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_due_days_are_those_of_the_rfc(family: object) -> None:
    own = [rule for rule in RULES if rule.family is family]
    assert own
    for rule in own:
        assert DAYS[rule.due(DAYS)].tolist() == rfc_days(rule, FIRST, LAST), rule.rrule()


def test_next_due_is_the_first_due_day_after() -> None:
    days = DAYS[:-70:7]
    for rule in RULES:
        due = DAYS[rule.due(DAYS)]
        expected = due[np.searchsorted(due, days, side="right")]
        assert rule.next_due(days).tolist() == expected.tolist(), rule.rrule()


def test_next_due_of_many_days_and_of_none() -> None:
    """More days than fit one block of the implementation."""
    rule = BY_TEXT["FREQ=WEEKLY;BYDAY=TU"]
    days = np.arange(FIRST, FIRST + 10_000)
    answer = rule.next_due(days)
    assert rule.due(answer).all()
    assert (answer > days).all()
    assert (answer - days).max() == 7
    assert rule.next_due(np.empty(0, dtype=np.int64)).tolist() == []


def test_the_31st_leaves_months_out() -> None:
    rule = BY_TEXT["FREQ=MONTHLY;BYMONTHDAY=31"]
    january = (date(2026, 1, 31) - EPOCH).days
    assert as_date(rule.next_due(np.array([january]))[0]) == date(2026, 3, 31)


def test_every_rule_has_its_own_text_and_price() -> None:
    by_first_date = [rule for rule in RULES if not rule.needs_start]
    assert len({rule.rrule() for rule in by_first_date}) == len(by_first_date)
    assert all(rule.price >= 0 for rule in RULES)
    assert len(RULES) == 127 + 14 + 21 + 28 + 31 + 1 + 28 + 7


def test_the_kinds_of_rule_that_are_promised_exist() -> None:
    """Issue 2: every day, weekdays, weekends, sets, n-th week, day of month, n-th or last weekday of month."""
    assert {
        "FREQ=DAILY",
        "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
        "FREQ=WEEKLY;BYDAY=SA,SU",
        "FREQ=WEEKLY;BYDAY=TU",
        "FREQ=WEEKLY;BYDAY=MO,WE,FR",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=TH",
        "FREQ=WEEKLY;INTERVAL=3;BYDAY=SU",
        "FREQ=WEEKLY;INTERVAL=4;BYDAY=MO",
        "FREQ=MONTHLY;BYMONTHDAY=1",
        "FREQ=MONTHLY;BYMONTHDAY=31",
        "FREQ=MONTHLY;BYMONTHDAY=-1",
        "FREQ=MONTHLY;BYDAY=1MO",
        "FREQ=MONTHLY;BYDAY=4SU",
        "FREQ=MONTHLY;BYDAY=-1FR",
    } <= set(BY_TEXT)


@hypothesis_settings(deadline=None, max_examples=100)
@given(day=st.dates(date(1950, 1, 1), date(2100, 12, 31)))
def test_labels_are_what_the_calendar_says(day: date) -> None:
    number = (day - EPOCH).days
    labels = {family.name: int(label_days(family, np.array([number]))[0]) for family in FAMILIES}
    month_ends = (day + timedelta(days=1)).day == 1
    nth = (day.day - 1) // 7
    assert labels["weekday"] == day.weekday()
    assert labels["month day"] == day.day - 1
    assert labels["last day of month"] == month_ends
    assert labels["nth weekday"] == (day.weekday() * 4 + nth if nth < 4 else -1)
    assert labels["last weekday"] == day.weekday() * 2 + ((day + timedelta(days=7)).month != day.month)
    monday = day - timedelta(days=day.weekday())
    weeks = (monday - date(1969, 12, 29)).days // 7
    for family in FAMILIES:
        if family.interval > 1:
            assert labels[family.name] == day.weekday() * family.interval + weeks % family.interval
        assert labels[family.name] < family.labels


# --- planted schedules ----------------------------------------------------------------------------------------

WEEKS_NEEDED = {"weekday": 26, "every second week": 40, "every third week": 52, "every fourth week": 78}
MONTHLY = 104  # weeks


def planted(
    rule: Recurrence, rng: np.random.Generator, kept: float = 0.85, noise: float = 0.01
) -> tuple[np.ndarray, np.ndarray]:
    """Active days and, among them, hit days of somebody who keeps a rule; some days away, some hits on other days."""
    length = 7 * WEEKS_NEEDED.get(rule.family.name, MONTHLY)
    start = FIRST + int(rng.integers(365))
    days = np.arange(start, start + length)
    days = days[rng.random(length) < 0.95]
    hit = np.where(rule.due(days), rng.random(len(days)) < kept, rng.random(len(days)) < noise)
    return days, days[hit]


def chosen(people: list[tuple[np.ndarray, np.ndarray]], least: int = 3) -> Choice:
    """The rule chosen for each person's hits, over the span from their first to their last."""
    user = np.repeat(np.arange(len(people)), [len(days) for days, _ in people])
    active = ActiveDays.of(user, np.concatenate([days for days, _ in people]), len(people))
    group = np.repeat(np.arange(len(people)), [len(hits) for _, hits in people])
    position = active.position(group, np.concatenate([hits for _, hits in people]))
    start = np.searchsorted(group, np.arange(len(people) + 1))
    return choose(group, position, position[start[:-1]], position[start[1:] - 1], active, least)


@pytest.mark.parametrize(("kept", "noise"), [(0.9, 0.02), (0.85, 0.01), (0.8, 0.02)])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_planted_schedules_are_recognised(family: object, kept: float, noise: float) -> None:
    """Every rule of the family, with 10 to 20 % missed, beside hits on one or two other days in a hundred."""
    rng = np.random.default_rng(20)
    own = [number for number, rule in enumerate(RULES) if rule.family is family] * 2
    choice = chosen([planted(RULES[number], rng, kept, noise) for number in own])
    right = choice.rule == np.array(own)
    assert right.mean() >= 0.95, [
        (RULES[o].rrule(), RULES[c].rrule()) for o, c in zip(own, choice.rule, strict=True) if o != c
    ]


def test_a_schedule_kept_to_the_letter_is_recognised() -> None:
    rng = np.random.default_rng(21)
    choice = chosen([planted(rule, rng, kept=1.0, noise=0.0) for rule in RULES])
    wrong = np.flatnonzero(choice.rule != np.arange(len(RULES)))
    assert [(RULES[w].rrule(), RULES[choice.rule[w]].rrule()) for w in wrong] == []


def test_support_and_opportunities_are_counted_on_the_active_due_days_of_the_span() -> None:
    rng = np.random.default_rng(22)
    people = [planted(rule, rng) for rule in RULES[::5]]
    choice = chosen(people)
    for (days, hits), number, support, opportunities in zip(
        people, choice.rule, choice.support, choice.opportunities, strict=True
    ):
        span = days[(days >= hits[0]) & (days <= hits[-1])]
        due = span[RULES[number].due(span)]
        assert opportunities == len(due)
        assert support == np.isin(due, hits).sum()


def test_hits_on_random_days_are_said_to_be_on_any_day() -> None:
    """The price of naming a rule keeps chance from choosing a particular one."""
    rng = np.random.default_rng(23)
    people = []
    for _ in range(300):
        days = np.arange(FIRST, FIRST + 120)
        people.append((days, days[rng.random(120) < rng.uniform(0.1, 0.6)]))
    choice = chosen(people)
    particular = choice.rule != RULES.index(BY_TEXT["FREQ=DAILY"])
    assert particular.mean() < 0.06
    assert choice.gain[particular].max() < 6


def test_fewer_hits_than_needed_have_no_rule() -> None:
    days = np.arange(FIRST, FIRST + 30)
    assert chosen([(days, days[[0, 7]])]).rule.tolist() == [-1]


def test_five_mornings_of_a_first_week_are_weekdays() -> None:
    """The golden case: nothing is known of the weekend, and nothing is said of it."""
    monday = (date(2026, 3, 2) - EPOCH).days
    week = np.arange(monday, monday + 5)
    assert RULES[chosen([(week, week)]).rule[0]].rrule() == "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"


def test_every_day_of_a_week_with_its_weekend_is_every_day() -> None:
    monday = (date(2026, 3, 2) - EPOCH).days
    week = np.arange(monday, monday + 7)
    assert RULES[chosen([(week, week)]).rule[0]].rrule() == "FREQ=DAILY"


def test_the_choice_for_one_person_does_not_depend_on_the_others() -> None:
    rng = np.random.default_rng(24)
    people = [planted(rule, rng) for rule in RULES[::20]]
    together = chosen(people)
    for number, person in enumerate(people):
        alone = chosen([person])
        assert alone.rule[0] == together.rule[number]
        assert alone.gain[0] == together.gain[number]

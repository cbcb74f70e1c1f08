"""Unmet criteria are listed as text, and meeting them confirms the pattern."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from patterns.candidates import Candidates, PatternType, Trials
from patterns.inference.lifecycle import fold
from patterns.inference.lifecycle_state import Status
from patterns.inference.significance import allowed, binomial_tail
from patterns.inference.unmet_criteria import lacking
from patterns.registry import kind_of, rule_of
from patterns.rules.rule import Rule
from patterns.settings import Settings
from tests.naive import DAY

DEFAULT = Settings()
START = 20_000 * DAY


def at_seven(rrule: str) -> Rule:
    return rule_of("temporal", {"where": {}, "rrule": rrule, "time": "07:00", "tolerance_minutes": 10})


TUESDAYS = at_seven("FREQ=WEEKLY;BYDAY=TU")
TEA = rule_of("preference", {"where": {}, "feature": "drink", "value": "tea"})
FRIDAYS = rule_of("avoidance", {"where": {}, "days": ["friday"], "from": "09:00", "to": "12:00"})


def candidates(
    outcomes: str, null: float, hypotheses: float, type: PatternType = "temporal", rule: Rule = TUESDAYS
) -> Candidates:
    """One candidate with a trial a week: ``x`` a hit, ``.`` a miss."""
    n = np.arange(len(outcomes))
    hit = np.array([mark == "x" for mark in outcomes])
    trials = Trials(n * 0, START + n * 7 * DAY, hit, np.where(hit, n, -1), START + (n + 1) * 7 * DAY)
    return Candidates(
        type, np.zeros(1, dtype=np.int64), [rule], np.array([null]), np.array([hypotheses]), trials
    )


def of_type(type: PatternType, settings: Settings = DEFAULT) -> Settings:
    return settings.of_type(kind_of(type).budget)


def lacks(
    outcomes: str,
    null: float = 0.05,
    hypotheses: float = 1.0,
    settings: Settings = DEFAULT,
    type: PatternType = "temporal",
    rule: Rule = TUESDAYS,
) -> list[str]:
    own, settings = candidates(outcomes, null, hypotheses, type, rule), of_type(type, settings)
    standing = fold(own, own.trials.local[-1:], settings)
    (words,) = lacking(own, standing, np.array([0]), settings)
    return words


def test_occasions_are_counted_down() -> None:
    assert lacks("xx") == ["3 more Tuesdays"]
    assert lacks("xxxx") == ["1 more Tuesday"]


def test_what_the_missing_occasions_will_bring_anyway_is_not_said() -> None:
    """Two more would tell it from chance; three are missing, so nothing is said of two."""
    assert lacks("xx", null=0.3) == ["3 more Tuesdays"]
    assert lacks("xx", null=0.5) == ["about 5 more Tuesdays to rule out chance"]


def test_occasions_of_other_types_have_their_own_names() -> None:
    assert lacks("xxx", type="preference", rule=TEA) == ["2 more occasions"]
    assert lacks("xxx", type="temporal", rule=at_seven("FREQ=DAILY")) == ["2 more days"]
    assert lacks("xxxx", type="temporal", rule=at_seven("FREQ=MONTHLY;BYMONTHDAY=1")) == ["1 more month"]
    assert lacks("xxx", type="avoidance", rule=FRIDAYS) == ["2 more Fridays"]


def test_confirmed_and_expired_lack_nothing() -> None:
    assert lacks("xxxxx") == []
    assert lacks("x" + "." * 30) == []


def test_what_is_kept_half_the_time_says_so() -> None:
    assert lacks("x." * 6 + "x") == ["kept 7 of 13 times: not reliably more than 60%"]


def test_what_is_hardly_more_than_chance_says_so() -> None:
    (words,) = lacks("x" * 6, null=0.95)
    assert words == "too close to chance: 100% against 95%"


def test_what_needs_more_to_tell_it_from_chance_says_how_many() -> None:
    (words,) = lacks("xxxxxx", null=0.5, hypotheses=100.0)
    needed = int(re.fullmatch(r"about (\d+) more Tuesdays? to rule out chance", words)[1])  # type: ignore[index]
    assert lacks("x" * (6 + needed), null=0.5, hypotheses=100.0) == []
    assert lacks("x" * (5 + needed), null=0.5, hypotheses=100.0) != []


def test_what_will_never_be_told_from_chance_says_that() -> None:
    assert (
        lacks("x." * 20 + "x", null=0.4, hypotheses=1e30)[-1]
        == "not distinguishable from chance at this rate"
    )


def test_when_all_is_there_but_confidence_it_says_the_figures() -> None:
    strict = Settings(confirmation_threshold=0.99)
    (words,) = lacks("xxxxx", settings=strict)
    assert re.fullmatch(r"confidence 0\.\d\d of 0\.99", words)


@hypothesis_settings(deadline=None, max_examples=100)
@given(
    outcomes=st.text("xx.", min_size=1, max_size=30).map(lambda text: "x" + text),
    null=st.sampled_from((0.01, 0.2, 0.5, 0.8)),
    hypotheses=st.sampled_from((1.0, 1e4, 1e9)),
)
def test_tracking_lacks_something_and_nothing_else_does(
    outcomes: str, null: float, hypotheses: float
) -> None:
    own = candidates(outcomes, null, hypotheses)
    standing = fold(own, own.trials.local[-1:], of_type("temporal"))
    (words,) = lacking(own, standing, np.array([0]), of_type("temporal"))
    assert bool(words) == (standing.status[0] == Status.tracking)
    assert all(word and not word.startswith("0 more") for word in words)


@pytest.mark.parametrize("support", [3, 5, 9])
@pytest.mark.parametrize("misses", [0, 1])
@pytest.mark.parametrize("null", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("hypotheses", [1.0, 1000.0])
def test_about_so_many_more_is_the_least_that_is_enough(
    support: int, misses: int, null: float, hypotheses: float
) -> None:
    """Counted out: at the present rate, one fewer would not be significant."""
    words = lacks("x" * (support - 1) + "." * misses + "x", null, hypotheses)
    said = [re.fullmatch(r"about (\d+) more Tuesdays? to rule out chance", word) for word in words]
    needed = next((int(match[1]) for match in said if match), None)
    if needed is None:
        assert is_confirmable(support, misses, null, hypotheses, max(5 - support, 0))
        return
    assert is_confirmable(support, misses, null, hypotheses, needed)
    assert not is_confirmable(support, misses, null, hypotheses, needed - 1)


def is_confirmable(support: int, misses: int, null: float, hypotheses: float, more: int) -> bool:
    """True if so many more opportunities, kept at the present rate, are significant."""
    opportunities = support + misses + more * (support + misses) / support
    tail = binomial_tail(np.array([support + more]), np.array([opportunities]), np.array([null]))
    return bool(tail[0] <= allowed(np.array([hypotheses]), of_type("temporal"))[0])

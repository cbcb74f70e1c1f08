"""The confidence formula, its table in the design, and its decay past due."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from patterns.inference.confidence import NEVER, RECENT, Components, Counts, days_until_expiry, decay
from patterns.settings import Settings
from tests.naive import DAY, HOUR

DEFAULT = Settings()
START = 20_000 * DAY


def of(
    times: list[int],
    opportunities: int | None = None,
    *,
    occasions: int | None = None,
    settings: Settings = DEFAULT,
) -> Components:
    """The components of one pattern supported at these wall clocks, each an occasion."""
    newest = [*reversed(times)][:RECENT]
    recent = np.array([newest + [NEVER] * (RECENT - len(newest))])
    one = np.array([len(times)])
    counts = Counts(
        occasions=one if occasions is None else np.array([occasions]),
        recent=recent,
        support=one,
        opportunities=one if opportunities is None else np.array([opportunities]),
        first=np.array(times[:1]),
        last=np.array(times[-1:]),
    )
    return counts.components(settings)


@pytest.mark.parametrize(("n", "score"), [(1, 0.58), (2, 0.66), (3, 0.74), (4, 0.82), (5, 0.90), (6, 0.90)])
def test_formula_table(n: int, score: float) -> None:
    """Consistency 1, all at one moment, recency 1: the table of issue 2."""
    assert of([START] * n).confidence(DEFAULT)[0] == pytest.approx(score, abs=1e-12)


def test_five_mornings_from_monday_to_friday() -> None:
    parts = of([START + n * DAY for n in range(5)])
    assert parts.count[0] == 1
    assert parts.recency[0] == pytest.approx(np.mean([0.95**n for n in range(5)]))
    assert parts.consistency[0] == 1
    assert parts.span[0] == pytest.approx(4 / 14)
    assert parts.confidence(DEFAULT)[0] == pytest.approx(0.910, abs=5e-4)


@pytest.mark.parametrize(("days", "recency"), [(1, 0.90), (7, 0.55), (30, 0.25)])
def test_recency_of_daily_weekly_and_monthly_habits(days: int, recency: float) -> None:
    """The design's figures, to their two digits."""
    assert of([START + n * days * DAY for n in range(9)]).recency[0] == pytest.approx(recency, abs=0.005)


def test_recency_looks_at_the_last_five_only() -> None:
    old, lately = [START - 400 * DAY] * 20, [START + n * DAY for n in range(5)]
    assert of(old + lately).recency[0] == pytest.approx(of(lately).recency[0])


def test_recency_with_fewer_than_five_is_the_mean_of_those() -> None:
    assert of([START, START + 10 * DAY]).recency[0] == pytest.approx((1 + 0.95**10) / 2)


def test_span_ends_at_its_target() -> None:
    assert of([START, START + 7 * DAY]).span[0] == pytest.approx(0.5)
    assert of([START, START + 14 * DAY]).span[0] == 1
    assert of([START, START + 900 * DAY]).span[0] == 1
    assert of([START, START + 5 * DAY], settings=Settings(span_days_target=5)).span[0] == 1


def test_occasions_after_a_demotion_count_from_nothing() -> None:
    """Count is of the occasions that count towards confirmation; recency still knows the others."""
    parts = of([START + n * DAY for n in range(10)], occasions=0)
    assert parts.count[0] == 0
    assert parts.recency[0] > 0.9


def test_without_any_support_everything_is_zero() -> None:
    """The answer for a candidate that has not begun is defined, and no warning is given."""
    nothing = np.array([0])
    counts = Counts(
        occasions=nothing,
        recent=np.full((1, RECENT), NEVER),
        support=nothing,
        opportunities=nothing,
        first=np.array([NEVER]),
        last=np.array([NEVER]),
    )
    assert counts.components(DEFAULT).confidence(DEFAULT)[0] == 0


def test_decay_begins_when_it_is_due() -> None:
    due = np.array([START] * 4)
    now = np.array([START - 50 * DAY, START, START + DAY, START + DAY + 12 * HOUR])
    assert decay(now, due, DEFAULT) == pytest.approx([1.0, 1.0, 0.95, 0.95**1.5])


def test_from_one_to_the_expiry_threshold_takes_23_and_a_half_days() -> None:
    days = days_until_expiry(np.array([1.0]), DEFAULT)[0]
    assert days == pytest.approx(23.5, abs=0.05)
    assert decay(np.array([START + round(days * DAY)]), np.array([START]), DEFAULT)[0] == pytest.approx(0.3)


@pytest.mark.parametrize("confidence", [0.0, 0.1, 0.3])
def test_what_is_at_the_threshold_or_below_has_no_days_left(confidence: float) -> None:
    assert days_until_expiry(np.array([confidence]), DEFAULT)[0] == 0


def test_without_decay_nothing_expires_by_itself() -> None:
    high_and_low = np.array([0.9, 0.2])
    assert days_until_expiry(high_and_low, Settings(decay_rate=1.0)).tolist() == [np.inf, 0.0]
    assert days_until_expiry(high_and_low, Settings(expiry_threshold=0.0)).tolist() == [np.inf, np.inf]


@hypothesis_settings(deadline=None, max_examples=100)
@given(
    gaps=st.lists(st.integers(HOUR, 100 * DAY), min_size=0, max_size=12),
    missed=st.integers(0, 50),
    now=st.integers(0, 400 * DAY),
)
def test_everything_stays_between_nought_and_one(gaps: list[int], missed: int, now: int) -> None:
    times = [START + sum(gaps[:n]) for n in range(len(gaps) + 1)]
    parts = of(times, len(times) + missed)
    for part in (parts.count, parts.recency, parts.consistency, parts.span, parts.confidence(DEFAULT)):
        assert 0 <= part[0] <= 1
    left = decay(np.array([times[-1] + now]), np.array(times[-1:]), DEFAULT)
    assert 0 <= left[0] <= 1


@hypothesis_settings(deadline=None, max_examples=50)
@given(confidence=st.floats(0.31, 1.0), rate=st.floats(0.5, 0.99), threshold=st.floats(0.05, 0.3))
def test_days_until_expiry_is_when_decay_reaches_the_threshold(
    confidence: float, rate: float, threshold: float
) -> None:
    settings = Settings(decay_rate=rate, expiry_threshold=threshold)
    days = days_until_expiry(np.array([confidence]), settings)[0]
    assert confidence * rate**days == pytest.approx(threshold)


def test_weights_must_add_up() -> None:
    with pytest.raises(ValueError, match=r"must add up to 1, not 1\.1"):
        Settings(weight_count=0.5)
    assert Settings(weight_count=0.3, weight_span=0.2).weight_span == 0.2

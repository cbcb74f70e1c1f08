"""The tail and the interval match the textbook, and their error rate holds on random data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy import stats

from patterns.candidates import Trials
from patterns.inference.significance import allowed, binomial_tail, rate_interval
from patterns.registry import KINDS, kind_of
from patterns.settings import Settings
from tests import naive
from tests.naive import DAY, HOUR

beta, binom = stats.beta, stats.binom  # type: ignore[attr-defined]  # scipy makes them at import


def one(value: float) -> np.ndarray:
    return np.array([value], dtype=np.float64)


@hypothesis_settings(deadline=None, max_examples=100)
@given(n=st.integers(0, 400), kept=st.floats(0, 1), rate=st.floats(1e-6, 1 - 1e-6))
def test_the_tail_is_the_binomial_one(n: int, kept: float, rate: float) -> None:
    k = round(kept * n)
    expected = binom.sf(k - 1, n, rate)
    assert binomial_tail(one(k), one(n), one(rate))[0] == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_the_tail_by_hand() -> None:
    """Four or more heads of five: six of thirty-two throws."""
    assert binomial_tail(one(4), one(5), one(0.5))[0] == pytest.approx(6 / 32)


@pytest.mark.parametrize(("k", "n"), [(0, 0), (0, 9)])
def test_without_success_the_tail_is_certain(k: float, n: float) -> None:
    assert binomial_tail(one(k), one(n), one(0.3))[0] == 1.0


def test_the_tail_of_what_always_or_never_happens() -> None:
    assert binomial_tail(one(3), one(5), one(0.0))[0] == 0.0
    assert binomial_tail(one(5), one(5), one(1.0))[0] == 1.0


@hypothesis_settings(deadline=None, max_examples=100)
@given(
    successes=st.floats(0.05, 40),
    misses=st.floats(0, 40),
    rate=st.floats(0.001, 0.999),
    more=st.floats(0.05, 5),
)
def test_shares_of_a_vote_lie_between_whole_ones(
    successes: float, misses: float, rate: float, more: float
) -> None:
    """Between whole votes the tail is monotone: more hits make chance less likely, more misses more."""
    tail = binomial_tail(one(successes), one(successes + misses), one(rate))[0]
    assert 0 <= tail <= 1
    assert binomial_tail(one(successes + more), one(successes + more + misses), one(rate))[0] <= tail + 1e-12
    assert binomial_tail(one(successes), one(successes + misses + more), one(rate))[0] >= tail - 1e-12


def test_the_tail_keeps_its_promise_on_chance() -> None:
    """Of series that are chance, at most a share of α has a p-value of α or less."""
    rng = np.random.default_rng(11)
    for rate in (0.02, 0.3, 0.8):
        hits = rng.binomial(40, rate, size=20_000).astype(np.float64)
        tail = binomial_tail(hits, np.full(len(hits), 40.0), np.full(len(hits), rate))
        for level in (0.2, 0.05, 0.01):
            assert (tail <= level).mean() <= level * 1.1 + 0.001


@hypothesis_settings(deadline=None, max_examples=100)
@given(k=st.integers(0, 300), misses=st.integers(0, 300))
def test_the_interval_is_jeffreys(k: int, misses: int) -> None:
    low, high = rate_interval(one(k), one(k + misses))
    expected_low = 0.0 if k == 0 else beta.ppf(0.025, k + 0.5, misses + 0.5)
    expected_high = 1.0 if misses == 0 else beta.ppf(0.975, k + 0.5, misses + 0.5)
    assert low[0] == pytest.approx(expected_low, abs=1e-9)
    assert high[0] == pytest.approx(expected_high, abs=1e-9)
    if k + misses:
        assert low[0] <= k / (k + misses) <= high[0]


def test_the_interval_without_trials_says_nothing() -> None:
    low, high = rate_interval(one(0), one(0))
    assert (low[0], high[0]) == (0.0, 1.0)


def test_the_interval_covers_the_true_rate_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    for rate in (0.3, 0.7, 0.9):
        hits = rng.binomial(30, rate, size=5000).astype(np.float64)
        low, high = rate_interval(hits, np.full(len(hits), 30.0))
        assert 0.93 <= ((low <= rate) & (rate <= high)).mean() <= 0.98


def test_the_correction_shares_the_promise_among_all_that_was_looked_at() -> None:
    settings = Settings()
    assert sum(kind.budget for kind in KINDS) == pytest.approx(1)
    for kind in KINDS:
        own = settings.of_type(kind.budget)
        assert allowed(one(1), own)[0] == pytest.approx(0.05 * kind.budget)
        assert allowed(one(1000), own)[0] == pytest.approx(0.05 * kind.budget / 1000)
        assert allowed(one(0), own)[0] == allowed(one(1), own)[0]
    strict = Settings(false_confirmation_rate=0.01).of_type(kind_of("temporal").budget)
    assert allowed(one(7), strict)[0] == pytest.approx(0.01 * 0.2 / 7)


# --- votes ----------------------------------------------------------------------------------------------------


def trials(times: list[tuple[int, int]]) -> Trials:
    """Trials of (candidate, wall clock) in their order."""
    candidate, local = (np.array([t[i] for t in times], dtype=np.int64) for i in (0, 1))
    return Trials(candidate, local, np.ones(len(times), dtype=np.bool_), np.arange(len(times)), local + DAY)


def test_fifty_meetings_in_a_minute_are_one_vote() -> None:
    votes = trials([(0, n * 1_000_000) for n in range(50)]).votes()
    assert votes.tolist() == [True] + [False] * 49


def test_an_hour_apart_are_two_votes_and_a_microsecond_less_is_one() -> None:
    assert trials([(0, 0), (0, HOUR)]).votes().tolist() == [True, True]
    assert trials([(0, 0), (0, HOUR - 1)]).votes().tolist() == [True, False]


def test_a_stream_without_a_pause_has_a_vote_each_hour() -> None:
    votes = trials([(0, n * HOUR // 4) for n in range(12)]).votes()
    assert votes.tolist() == [True, False, False, False] * 3


def test_candidates_do_not_share_votes() -> None:
    assert trials([(0, 0), (1, 0), (1, 60_000_000)]).votes().tolist() == [True, True, False]


def test_no_trials_have_no_votes() -> None:
    assert len(Trials.none().votes()) == 0


@hypothesis_settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.lists(st.sampled_from((0, 1, HOUR // 2, HOUR - 1, HOUR, DAY)), max_size=12), min_size=1, max_size=4
    )
)
def test_votes_are_the_oracle(gaps: list[list[int]]) -> None:
    lives = [[naive.Trial(sum(own[: n + 1]), True, n, 0) for n in range(len(own))] for own in gaps]
    cast = trials([(c, t.local) for c, own in enumerate(lives) for t in own]).votes()
    assert cast.tolist() == [vote for own in lives for vote in naive.votes(own)]


def test_trials_are_sorted_by_candidate_then_time() -> None:
    mixed = trials([(1, 5), (0, 9), (1, 2), (0, 3)]).sorted()
    assert list(zip(mixed.candidate.tolist(), mixed.local.tolist(), strict=True)) == [
        (0, 3),
        (0, 9),
        (1, 2),
        (1, 5),
    ]
    assert mixed.event.tolist() == [3, 1, 2, 0]

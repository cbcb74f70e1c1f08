"""Each pattern is reported once, by the candidate that explains most."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from patterns.inference.redundancy import OWN_SHARE, keep_once
from tests import naive


def kept(
    user: list[int], gain: list[float], evidence: list[list[int]], own_share: float = OWN_SHARE
) -> list[int]:
    """The candidates that stay, given what each rests on."""
    owner = [c for c, own in enumerate(evidence) for _ in own]
    flat = [e for own in evidence for e in own]
    answer = keep_once(
        np.array(user, dtype=np.int64),
        np.array(gain, dtype=np.float64),
        np.array(owner, dtype=np.int64),
        np.array(flat, dtype=np.int64),
        own_share,
    )
    return np.flatnonzero(answer).tolist()


def test_weekdays_are_one_pattern_and_not_five() -> None:
    week, days = list(range(25)), [list(range(day, 25, 5)) for day in range(5)]
    assert kept([0] * 6, [8.0, 8, 40, 8, 8, 8], [days[0], days[1], week, days[2], days[3], days[4]]) == [2]


def test_two_real_habits_in_one_category_both_stay() -> None:
    assert kept([0, 0], [10.0, 9], [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]) == [0, 1]


def test_one_that_keeps_just_its_own_share_stays_and_one_below_goes() -> None:
    assert kept([0, 0], [10.0, 9], [[1, 2], [1, 2, 3, 4, 5]]) == [0, 1]
    assert kept([0, 0], [10.0, 9], [[1, 2, 3], [1, 2, 3, 4, 5]]) == [0]


def test_of_equals_the_first_stays() -> None:
    assert kept([0, 0, 0], [5.0, 5, 5], [[1, 2], [1, 2], [1, 2]]) == [0]


def test_a_rejected_candidate_takes_nothing_from_the_others() -> None:
    """1 goes because of 0; so 2, which shares evidence with 1 only, stays."""
    assert kept([0, 0, 0], [10.0, 9, 8], [[1, 2, 3, 4], [3, 4, 5], [5, 6]], own_share=0.6) == [0, 2]


def test_nothing_chosen_from_nothing() -> None:
    assert kept([], [], []) == []


@hypothesis_settings(deadline=None, max_examples=120)
@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 3), st.lists(st.integers(0, 9), min_size=1, max_size=8)), max_size=7
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from((OWN_SHARE, 0.3, 1.0)),
)
def test_what_is_kept_is_the_oracle(people: list[list[tuple[int, list[int]]]], own_share: float) -> None:
    """Person by person, in plain Python. (Evidence of different people never has the same key.)"""
    user = [u for u, own in enumerate(people) for _ in own]
    gain = [float(g) for own in people for g, _ in own]
    evidence = [[100 * u + e for e in rests] for u, own in enumerate(people) for _, rests in own]
    expected, start = [], 0
    for own in people:
        own_gain, own_evidence = [float(g) for g, _ in own], [rests for _, rests in own]
        expected += [start + c for c in naive.keep_once(own_gain, own_evidence, own_share)]
        start += len(own)
    assert kept(user, gain, evidence, own_share) == expected

"""The span found is the best of all spans, for every group, independent of the other groups."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from patterns.inference.densest_span import CONTRAST, Spans, best_spans
from tests import naive

POSITIONS = st.lists(st.integers(1, 12), min_size=1, max_size=14).map(lambda gaps: list(accumulate(gaps)))
"""Ascending places of hits, sparse and dense."""


def spans(groups: list[list[int]]) -> list[tuple[int, int]]:
    """The span of each group, counted within the group."""
    group = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    first, last = best_spans(group, np.array([p for g in groups for p in g]), len(groups))
    start = np.cumsum([0, *(len(g) for g in groups[:-1])])
    return list(zip((first - start).tolist(), (last - start).tolist(), strict=True))


def hits(text: str) -> list[int]:
    """The places of ``x`` in a text."""
    return [place for place, mark in enumerate(text) if mark == "x"]


def test_a_habit_that_began_is_not_diluted_by_the_winter_before() -> None:
    text = "x" + "." * 40 + "x" + "." * 30 + "xxxx.xxxxx.xxxxxx"
    ((first, last),) = spans([hits(text)])
    assert (first, last) == (2, len(hits(text)) - 1)


def test_a_habit_that_stopped_is_not_diluted_by_the_silence_after() -> None:
    text = "xxxx.xxxxx.xxxxxx" + "." * 40 + "x" + "." * 30 + "x"
    ((first, last),) = spans([hits(text)])
    assert (first, last) == (0, 14)


def test_a_habit_kept_throughout_is_one_span() -> None:
    text = "xx.xxxx.xxx.xxxxxx..xxxxx.xx.xxx"
    assert spans([hits(text)]) == [(0, len(hits(text)) - 1)]


def test_a_single_hit_is_its_own_span() -> None:
    assert spans([[7]]) == [(0, 0)]


def test_no_groups_have_no_spans() -> None:
    nothing = np.empty(0, dtype=np.int64)
    first, last = best_spans(nothing, nothing, 0)
    assert (len(first), len(last)) == (0, 0)


def test_what_lies_in_a_span_is_counted_from_hit_to_hit() -> None:
    texts = ["." * 9 + "xxxx.xxxxx" + "." * 9, "xxx"]
    group = np.repeat([0, 1], [len(text) for text in texts])
    hit = np.array([mark == "x" for mark in "".join(texts)])
    spans = Spans.of(group, hit, 2)
    assert (spans.first.tolist(), spans.last.tolist()) == ([9, 28], [18, 30])
    assert (spans.support.tolist(), spans.opportunities.tolist()) == ([9, 3], [10, 3])
    assert np.flatnonzero(spans.inside).tolist() == [*range(9, 19), 28, 29, 30]


@hypothesis_settings(deadline=None, max_examples=150)
@given(st.lists(POSITIONS, min_size=1, max_size=5))
def test_spans_are_the_oracle(groups: list[list[int]]) -> None:
    """Every span is tried one by one; of equally good ones, the first to end, and of those the shortest."""
    assert spans(groups) == [naive.best_span(own, CONTRAST) for own in groups]


@pytest.mark.parametrize(
    "text", ["x" * 12 + "." + "x" * 12, "x" * 30 + "." + "x" * 4, "x" * 9 + ".." + "x" * 9]
)
def test_one_miss_among_many_hits_ends_nothing(text: str) -> None:
    own = hits(text)
    assert spans([own]) == [naive.best_span(own, CONTRAST)] == [(0, len(own) - 1)]


def test_spans_of_long_random_series_are_the_oracle() -> None:
    rng = np.random.default_rng(3)
    groups = []
    for _ in range(12):
        rate = np.repeat(rng.choice([0.03, 0.3, 0.9], size=4), 20)
        groups.append(np.flatnonzero(rng.random(80) < rate).tolist() or [0])
    assert spans(groups) == [naive.best_span(own, CONTRAST) for own in groups]


@pytest.mark.parametrize("neighbours", [1, 100, 1_000, 20_000])
def test_a_span_does_not_depend_on_the_other_groups(neighbours: int) -> None:
    """Among thousands of other people the same hits give the same span, ties included.

    At a rate of 5/6 a miss costs exactly what a hit gains, so these series are full of ties.
    """
    rng = np.random.default_rng(9)
    tied = [
        hits(text) for text in ("xxxx.x", "x.xxxx", "xx.xxx", "xxxxx.xxxx.x", "x.xxxxxxxx.x", "x.xxxxx.xxxx")
    ]
    others = [np.flatnonzero(rng.random(60) < 0.5).tolist() or [0] for _ in range(200)]
    crowd = [others[n % len(others)] for n in range(neighbours)]
    alone = [spans([own])[0] for own in tied]
    assert spans([*crowd, *tied])[-len(tied) :] == alone
    assert spans([*tied, *crowd])[: len(tied)] == alone


def test_where_nearly_nothing_is_missed_a_miss_weighs_most() -> None:
    """After sixty hits in a row, a miss and two hits are not yet part of the span; three are."""
    assert spans([hits("x" * 60 + ".xx")]) == [(0, 59)] == [naive.best_span(hits("x" * 60 + ".xx"), CONTRAST)]
    assert spans([hits("x" * 60 + ".xxx")]) == [(0, 62)]

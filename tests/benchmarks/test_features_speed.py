"""What the derived features cost, against things measured in the same run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import product
from time import perf_counter

import polars as pl
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from observations.features import with_features
from observations.titles.normalize import kinds_of

ROWS = 1_000_000
LATIN = ("planning", "harvest", "dentist", "captions", "review")
GERMAN = ("überprüfung", "gespräch", "prüfung", "ärztin", "größe")
JAPANESE = ("会議", "計画", "予算", "面談", "報告")


def titles(words: tuple[str, ...], numbers: int) -> pl.Series:
    """Every pair of the words with every number."""
    return pl.Series([f"Re: {a} {b} (week {n})" for a, b, n in product(words, words, range(numbers))])


def best_of_three(run: Callable[[], object]) -> float:
    """Seconds."""
    times = []
    for _ in range(3):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return min(times)


def test_a_million_rows_with_repeated_titles(benchmark: BenchmarkFixture) -> None:
    distinct = titles(LATIN, 200)
    at = pl.repeat(datetime(2026, 3, 2, tzinfo=UTC), ROWS, dtype=pl.Datetime("us", "UTC"), eager=True)
    frame = pl.DataFrame(
        {
            "user_id": pl.repeat("me", ROWS, eager=True),
            "type": pl.repeat("calendar", ROWS, eager=True),
            "actor": pl.repeat("user", ROWS, eager=True),
            "local": at.dt.replace_time_zone(None),
            "title:text": distinct.gather(pl.int_range(ROWS, eager=True) % len(distinct)),
        }
    )
    benchmark.pedantic(with_features, args=(frame,), rounds=5)
    counting = best_of_three(lambda: frame.group_by("user_id", "type", "title:text").len())
    assert best_of_three(lambda: with_features(frame)) < 20 * counting


@pytest.mark.parametrize("words", [GERMAN, JAPANESE])
def test_other_letters_cost_about_what_ascii_costs(words: tuple[str, ...]) -> None:
    """A word boundary in one of the patterns makes this twenty times slower."""
    ascii_seconds = best_of_three(lambda: kinds_of(titles(LATIN, 1_000)))
    assert best_of_three(lambda: kinds_of(titles(words, 1_000))) < 4 * ascii_seconds

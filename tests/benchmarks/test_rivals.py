"""habitus beside pattern miners on the same log in one run: seconds, their ratio, and how much each reports.

A miner does one of the jobs, for one database, and reports what is frequent; it is run once for each person, on what
habitus counts by too. Times are of the mining: neither the making of databases nor the reading of files is in them.

    PrefixSpan    what follows what within a day, up to three steps       workflows
    mlxtend       rules over six attributes of an event, at most pairs    preferences and relationships
    PAMI          what recurs at an hour of the day at most so far apart  times of day

``make benchmark`` installs the miners (the extra ``benchmark``); without them the comparisons are skipped.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from functools import cache
from time import perf_counter
from typing import Any

import polars as pl
import pytest

from observations.features import with_features
from observations.schema import concat_observations
from patterns.evaluate import evaluate
from patterns.registry import KINDS, PATTERN_TYPES
from tests.simulate import creature_of_habit

EVENTS = 100_000
WEEKS = 52
LEAST_DAYS = 12
"""A miner's least support: so many days of the year."""


@cache
def log() -> pl.DataFrame:
    """A year of several people with habits."""
    people: list[pl.DataFrame] = []
    while sum(person.height for person in people) < EVENTS:
        people.append(creature_of_habit(len(people), WEEKS, user=f"p{len(people):03d}").observations)
    return concat_observations(people)


@cache
def of_each_person() -> list[pl.DataFrame]:
    """What the miners are given, for each person in time order: what an event is, when, how long, where and with whom."""
    named = pl.concat_str(
        "type", "action", pl.coalesce("kind:text", "category:text", pl.lit("")), separator=" "
    )
    frame = with_features(log()).select("user_id", "local", "type", named.alias("what"), "location:text", "duration_minutes:number", "participants:list", "cc:list")  # fmt: skip
    return frame.sort("user_id", "local").partition_by("user_id", maintain_order=True)


def seconds(run: Callable[[], int]) -> tuple[float, int]:
    """How long it takes, and how much it reports."""
    start = perf_counter()
    reported = run()
    return perf_counter() - start, reported


def habitus(*types: str) -> tuple[float, int]:
    """The detectors of these types on the whole log, all people in one call; the better of two runs."""
    kinds = [kind for kind in KINDS if kind.type in types]

    def run() -> int:
        return evaluate(log(), kinds=kinds).filter(status="confirmed").height

    return min(seconds(run), seconds(run))


Compare = Callable[[str, tuple[float, int], tuple[float, int]], None]


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str]) -> Compare:
    """Prints one line of the comparison, past pytest's capturing."""

    def line(name: str, theirs: tuple[float, int], ours: tuple[float, int]) -> None:
        with capsys.disabled():
            print(
                f"\n{log().height:,} events of {len(of_each_person())} people: {name} {theirs[0]:.2f} s, "
                f"{theirs[1]:,} patterns; habitus {ours[0]:.2f} s, {ours[1]:,} confirmed; "
                f"habitus takes {ours[0] / theirs[0]:.2f} times as long"
            )

    return line


def test_sequences_beside_prefixspan(compare: Compare) -> None:
    prefixspan = pytest.importorskip("prefixspan")
    databases = [_days(person) for person in of_each_person()]

    def run() -> int:
        found = 0
        for days in databases:
            miner = prefixspan.PrefixSpan(days)
            miner.minlen, miner.maxlen = 2, 3
            found += len(miner.frequent(LEAST_DAYS))
        return found

    theirs, ours = seconds(run), habitus("workflow")
    compare("PrefixSpan", theirs, ours)
    assert 0 < ours[1] < theirs[1]


def _days(person: pl.DataFrame) -> list[list[int]]:
    """What came on each day, in order, as numbers."""
    numbered = person.with_columns(what=pl.col("what").rank("dense"), day=pl.col("local").dt.date())
    return numbered.group_by("day", maintain_order=True).agg("what").get_column("what").to_list()


def test_rules_beside_mlxtend(compare: Compare) -> None:
    patterns = pytest.importorskip("mlxtend.frequent_patterns")
    pandas = pytest.importorskip("pandas")
    databases = [
        pandas.DataFrame(_attributes(person).to_dict(as_series=False)) for person in of_each_person()
    ]

    def run() -> int:
        found = 0
        for table in databases:
            frequent = patterns.fpgrowth(
                table, min_support=LEAST_DAYS / len(table), use_colnames=True, max_len=2
            )
            rules = patterns.association_rules(frequent, metric="confidence", min_threshold=0.6)
            found += int((rules["lift"] >= 1.2).sum())
        return found

    theirs, ours = seconds(run), habitus("preference", "relationship")
    compare("mlxtend (lift of 1.2 and more)", theirs, ours)
    assert 0 < ours[1] < theirs[1]


def _attributes(person: pl.DataFrame) -> pl.DataFrame:
    """One row an event, one true or false column a value of its attributes."""
    chosen = person.select(
        "what", "location:text", pl.col("duration_minutes:number").cast(pl.String),
        person=pl.coalesce("participants:list", "cc:list").list.first(),
        hour=pl.col("local").dt.hour().cast(pl.String), weekday=pl.col("local").dt.weekday().cast(pl.String),
    )  # fmt: skip
    return chosen.to_dummies().select(~pl.selectors.ends_with("_null")).cast(pl.Boolean)


def test_times_beside_pami(compare: Compare) -> None:
    miner = pytest.importorskip("PAMI.periodicFrequentPattern.basic.PFPGrowth")
    pandas = pytest.importorskip("pandas")
    databases = [pandas.DataFrame(_hours(person).to_dict(as_series=False)) for person in of_each_person()]

    def run() -> int:
        found = 0
        for table in databases:
            mining: Any = miner.PFPGrowth(table, LEAST_DAYS, 14, sep="\t")
            with contextlib.redirect_stdout(io.StringIO()):
                mining.mine()
            found += sum("\t" not in items.strip() for items in mining.getPatterns())
        return found

    theirs, ours = seconds(run), habitus("temporal")
    compare("PAMI (periodic-frequent)", theirs, ours)
    assert ours[1] > 0


def _hours(person: pl.DataFrame) -> pl.DataFrame:
    """One transaction a day, numbered from 1, of what came in which hour."""
    day = (pl.col("local").dt.date() - pl.col("local").dt.date().min()).dt.total_days() + 1
    item = pl.format("{} {}", "what", pl.col("local").dt.hour())
    return (
        person.select(day.alias("TS"), item.alias("Transactions"))
        .unique(maintain_order=True)
        .group_by("TS", maintain_order=True)
        .agg(pl.col("Transactions").str.join("\t"))
    )


def test_all_five_types_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    took, confirmed = habitus(*PATTERN_TYPES)
    with capsys.disabled():
        print(f"\nhabitus, all five types on {log().height:,} events: {took:.2f} s, {confirmed:,} confirmed")
    assert confirmed >= 5 * len(of_each_person())

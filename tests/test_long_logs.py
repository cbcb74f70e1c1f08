"""Very many events of one person: no false pattern, and recent habits are still found."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from observations.ingest.toolkit.record_builder import RecordBuilder
from observations.schema import concat_observations
from patterns.detectors import successions as follows
from patterns.evaluate import evaluate
from tests.nulls import FLAT, QUIET_WEEKENDS, TWO_HUMPS, crowd
from tests.simulate import observations

WEEKS = 60
BUSY = replace(
    FLAT, name="busy", weeks=WEEKS, a_day=(14, 20, 24), hours=TWO_HUMPS, week=QUIET_WEEKENDS, zipf=1.0
)


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a log is long before it takes long."""
    monkeypatch.setattr(follows, "_BLOCK", 4_000)


@pytest.fixture(scope="module")
def busy() -> pl.DataFrame:
    return crowd(1, seed=5, shapes=(BUSY,))


def released(start: datetime, days: int) -> pl.DataFrame:
    """On most days a command, and minutes later another."""
    rng = np.random.default_rng(3)
    records = RecordBuilder()
    for day in range(days):
        at = start + timedelta(days=day, minutes=float(rng.uniform(540, 1080)))
        for n, program in enumerate(("package", "announce")):
            at += timedelta(minutes=float(rng.uniform(2, 8)) * n)
            records.add(
                "command", "ran", local=at, tz="UTC", user_id="busy/000", features={"program": program}
            )
    return observations(records)


def test_nothing_is_confirmed_because_there_is_so_much(busy: pl.DataFrame) -> None:
    assert busy.height > 4 * follows._BLOCK
    confirmed = evaluate(busy).filter(status="confirmed")
    assert confirmed.get_column("statement").to_list() == []


def test_what_began_lately_is_found(busy: pl.DataFrame) -> None:
    newest = busy.get_column("local").max()
    assert isinstance(newest, datetime)
    since = newest.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=40)
    both = concat_observations([busy, released(since, 40)])
    confirmed = evaluate(both).filter(status="confirmed", type="workflow")
    assert confirmed.get_column("statement").to_list() == ["After package, runs announce within 10 minutes"]
    assert confirmed["support"].item() > 36


@pytest.mark.parametrize("block", [500, 7_000])
def test_the_size_of_a_block_changes_nothing_for_short_logs(
    busy: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    """Three people of 400 observations each: more than one lies in a block, and blocks end within them."""
    some = busy.sort("at").head(1200).with_columns(user_id=pl.Series([f"u{n % 3}" for n in range(1200)]))
    monkeypatch.setattr(follows, "_BLOCK", 10**6)
    whole = evaluate(some)
    monkeypatch.setattr(follows, "_BLOCK", block)
    assert evaluate(some).equals(whole)

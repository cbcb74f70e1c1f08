"""Patterns confirmed before a cut are compared with the weeks after it, and only with those."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import polars as pl
import pytest
from scipy import stats

from observations.schema import concat_observations, empty_observations
from patterns.evaluate import evaluate
from pipelines.memory import calibration
from pipelines.memory.calibration import (
    LOOKS,
    RELIABILITY,
    default_cuts,
    interval_coverage,
    look_ahead,
    reliability,
    reliability_of,
)
from tests.simulate import creature_of_habit, every, regular

CUT = datetime.fromisoformat("2026-04-06T00:00+00:00")  # a Monday, thirteen weeks after START


def until(day: date, days: list[date]) -> list[date]:
    return [one for one in days if one < day]


@pytest.fixture(scope="module")
def habits() -> pl.DataFrame:
    """Five people with one habit each; everybody writes a mail each evening, so that each day is an opportunity."""
    whole, fourth = every(1, 112), [day for day in every(1, 112) if day.weekday() == 3]
    kept = {
        "goes on": whole,
        "stops": until(CUT.date(), whole),
        "half": [d for d in whole if d < CUT.date() or d.weekday() % 2 == 0],
        "weekly": fourth,
        "every month": [day for day in whole if day.day == 1],
    }
    parts = [regular("Gym", days, user=user) for user, days in kept.items()]
    parts += [regular("Letter", whole, "20:00", user=user, type="mail") for user in kept]
    return concat_observations(parts)


@pytest.fixture(scope="module")
def looks(habits: pl.DataFrame) -> pl.DataFrame:
    return look_ahead(habits, [CUT]).filter(pl.col("statement").str.contains("(?i)gym"))


def of(looks: pl.DataFrame, user: str) -> tuple[str, int, int, bool | None]:
    (row,) = (
        looks.filter(user_id=user).select("status", "later_support", "later_opportunities", "held").rows()
    )
    return row


def test_a_habit_that_goes_on_held(looks: pl.DataFrame) -> None:
    assert of(looks, "goes on") == ("confirmed", 14, 14, True)
    assert of(looks, "weekly") == ("confirmed", 2, 2, True)


def test_a_habit_that_stops_did_not(looks: pl.DataFrame) -> None:
    assert of(looks, "stops") == ("confirmed", 0, 14, False)


def test_half_the_opportunities_are_enough(looks: pl.DataFrame) -> None:
    """Mondays, Wednesdays, Fridays and Sundays: eight of fourteen."""
    assert of(looks, "half") == ("confirmed", 8, 14, True)


def test_one_opportunity_says_nothing(habits: pl.DataFrame, looks: pl.DataFrame) -> None:
    a_week = look_ahead(habits, [CUT], days_ahead=7).filter(pl.col("statement").str.contains("(?i)gym"))
    assert of(a_week, "weekly") == ("confirmed", 1, 1, None)
    assert reliability_of(looks.filter(user_id="weekly")).get_column("patterns").sum() == 1
    assert reliability_of(a_week.filter(user_id="weekly")).get_column("patterns").sum() == 0


def test_nothing_later_is_known_at_the_cut() -> None:
    person = creature_of_habit(seed=8, weeks=14)
    cut = person.as_of - timedelta(days=14)
    then = evaluate(person.observations.filter(pl.col("at") <= cut), cut)
    looks = look_ahead(person.observations, [cut])
    same = ["id", "status", "confidence", "statement"]
    assert looks.height == then.height >= 6
    assert looks.select(same).sort("id").equals(then.select(same).sort("id"))


def test_partitions_of_people_change_nothing(habits: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = look_ahead(habits, [CUT])
    monkeypatch.setattr(calibration, "PEOPLE_AT_ONCE", 50)
    assert look_ahead(habits, [CUT]).equals(whole)


def test_the_default_cuts_have_their_weeks_after_them_and_something_before() -> None:
    frame = regular("Gym", every(1, 50))  # from 5 January to 23 February, 07:00
    cuts = default_cuts(frame)
    assert [f"{cut:%m-%d %H}" for cut in cuts] == ["01-12 07", "01-26 07", "02-09 07"]
    assert [f"{cut:%m-%d}" for cut in default_cuts(frame, days_ahead=7)] == [
        "01-26",
        "02-02",
        "02-09",
        "02-16",
    ]
    assert default_cuts(empty_observations()) == []


def test_no_observations_give_empty_frames() -> None:
    assert dict(look_ahead(empty_observations()).schema) == dict(LOOKS)
    table = reliability(empty_observations())
    assert dict(table.schema) == dict(RELIABILITY)
    assert table.get_column("patterns").sum() == 0
    assert table.get_column("rate").null_count() == table.height


# --- the tables, from looks made by hand ------------------------------------------------------------------------


def made(rows: list[tuple[float, bool | None]]) -> pl.DataFrame:
    """Looks of which only confidence and outcome matter."""
    frame = pl.DataFrame(rows, schema={"confidence": pl.Float64, "held": pl.Boolean}, orient="row")
    return frame.with_columns(
        pl.lit(None, dtype).alias(c) for c, dtype in LOOKS.items() if c not in frame.columns
    )


def test_each_bin_has_its_lower_edge_and_the_last_both() -> None:
    table = reliability_of(
        made([(0.5, True), (0.79, False), (0.8, True), (1.0, True), (0.9, None), (0.49, True)]), (0.5, 0.8, 1)
    )
    assert table.select("low", "high", "patterns", "held", "rate").rows() == [
        (0.5, 0.8, 2, 1, 0.5),
        (0.8, 1.0, 2, 2, 1.0),
    ]
    assert table.get_column("confidence").to_list() == pytest.approx([0.645, 0.9])


def test_the_interval_of_a_bin_is_jeffreys() -> None:
    (row,) = reliability_of(made([(0.9, n < 17) for n in range(20)]), (0, 1)).iter_rows(named=True)
    posterior = stats.beta(17.5, 3.5)  # type: ignore[attr-defined]
    assert (row["rate_low"], row["rate_high"]) == pytest.approx((posterior.ppf(0.025), posterior.ppf(0.975)))
    assert row["rate_low"] < row["rate"] < row["rate_high"]


def test_only_the_statuses_asked_for_are_in_the_table(habits: pl.DataFrame) -> None:
    confirmed = reliability(habits, [CUT])
    everything = reliability(habits, [CUT], status=("confirmed", "tracking", "expired"))
    looks = look_ahead(habits, [CUT]).drop_nulls("held")
    assert confirmed.get_column("patterns").sum() == looks.filter(status="confirmed").height
    assert everything.get_column("patterns").sum() == looks.height > 0


def test_coverage_tells_what_is_inside_and_what_is_no_surprise() -> None:
    """Claimed were 80 to 90 %: kept 9 of 10 is inside, 6 of 10 is outside by chance, 60 of 100 is not."""
    rows = [("temporal", 9, 10), ("temporal", 6, 10), ("workflow", 60, 100), ("workflow", 100, 100)]
    frame = pl.DataFrame(
        {
            "type": [type for type, _, _ in rows],
            "later_support": [kept for _, kept, _ in rows],
            "later_opportunities": [n for _, _, n in rows],
            "rate_low": 0.8,
            "rate_high": 0.9,
            "held": True,
        }
    )
    assert interval_coverage(frame).rows() == [
        ("temporal", 2, 0.5, 1.0),
        ("workflow", 2, 0.0, 0.0),
        ("all", 4, 0.25, 0.5),
    ]

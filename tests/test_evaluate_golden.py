"""Golden values of the formula and the lifecycle, seen from outside: observations in, patterns out."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import orjson
import polars as pl
import pytest

from observations.schema import concat_observations
from patterns.evaluate import evaluate
from patterns.pattern_frame import PATTERNS
from patterns.settings import Settings
from tests.simulate import every, regular

MONDAY = date(2026, 3, 2)


def at(day: date, hour: int = 12, minute: int = 0) -> datetime:
    return datetime(day.year, day.month, day.day, hour, minute, tzinfo=UTC)


def the_one(
    frame: pl.DataFrame, as_of: datetime | None = None, settings: Settings | None = None, about: str = "Gym"
) -> dict[str, Any]:
    """The one temporal pattern about that title."""
    found = evaluate(frame, as_of, settings).filter(
        (pl.col("type") == "temporal") & pl.col("rule").str.contains(f'"title":"{about}"')
    )
    assert found.height == 1, found.select("statement", "status", "support").rows()
    return found.row(0, named=True)


def life_beside(days: list[date]) -> pl.DataFrame:
    """Something else on each of these days, at an hour that varies, so that they count as days of activity."""
    parts = [regular("Errand", days[n::7], f"{9 + n:02d}:{n * 7:02d}") for n in range(7)]
    return concat_observations(parts)


def test_five_gym_mornings_seen_on_friday() -> None:
    """0.4 + 0.2·mean(0.95⁰…0.95⁴) + 0.3 + 0.1·4/14 = 0.910, confirmed, and said as a person would."""
    (pattern,) = evaluate(regular("Gym", every(1, 5, MONDAY), tz="Europe/Berlin")).iter_rows(named=True)
    exact = 0.4 + 0.2 * sum(0.95**n for n in range(5)) / 5 + 0.3 + 0.1 * 4 / 14
    assert pattern["confidence"] == pytest.approx(exact, abs=1e-12)
    assert round(pattern["confidence"], 3) == 0.910
    assert pattern["status"] == "confirmed"
    assert "on weekdays at 07:00" in pattern["statement"]
    assert orjson.loads(pattern["rule"])["rrule"] == "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"
    assert (pattern["support"], pattern["opportunities"], pattern["contradictions"]) == (5, 5, 0)
    assert pattern["components"] == pytest.approx(
        {"count": 1, "recency": (exact - 0.7 - 0.1 * 4 / 14) * 5, "consistency": 1, "span": 4 / 14}
    )
    assert pattern["first_seen"] == "2026-03-02T07:00:00+01:00"
    assert pattern["last_seen"] == pattern["confirmed_at"] == "2026-03-06T07:00:00+01:00"
    assert len(pattern["evidence"]) == 5
    assert (pattern["lacks"], pattern["expired_at"], pattern["source"]) == ([], None, "observed")


def test_four_gym_mornings_lack_one() -> None:
    (pattern,) = evaluate(regular("Gym", every(1, 4, MONDAY))).iter_rows(named=True)
    assert pattern["status"] == "tracking"
    assert pattern["lacks"] == ["1 more day"]
    assert pattern["confirmed_at"] is None


def test_the_frame_has_the_columns_of_the_contract_even_when_empty() -> None:
    frame = regular("Gym", every(1, 5, MONDAY))
    for found in (evaluate(frame), evaluate(frame.clear()), evaluate(frame, at(date(2020, 1, 1)))):
        assert dict(found.schema) == dict(PATTERNS)
    assert evaluate(frame.clear()).height == 0


def test_it_is_due_again_on_monday_and_decays_from_then() -> None:
    """Seen Friday; next due Monday at 07:10, the end of the slot."""
    frame = regular("Gym", every(1, 5, MONDAY))
    friday = evaluate(frame).row(0, named=True)["confidence"]
    due = at(date(2026, 3, 9), 7, 10)
    for days in (0, 1, 10):
        (later,) = evaluate(frame, due + timedelta(days=days)).iter_rows(named=True)
        assert later["confidence"] == pytest.approx(friday * 0.95**days)


def test_decay_of_a_full_confidence_to_the_threshold_takes_23_and_a_half_days_past_due() -> None:
    weights = Settings(weight_count=0.5, weight_recency=0.0, weight_consistency=0.5, weight_span=0.0)
    frame = regular("Gym", every(1, 5, MONDAY))
    due = at(date(2026, 3, 9), 7, 10)

    def status(days: float) -> str:
        return str(evaluate(frame, due + timedelta(days=days), weights).row(0, named=True)["status"])

    assert evaluate(frame, due, weights).row(0, named=True)["confidence"] == pytest.approx(1.0)
    assert status(23.4) == "confirmed"
    assert status(23.5) == "expired"


def monthly() -> pl.DataFrame:
    """The first of seven months at ten, in a life that goes on for two more."""
    firsts = [date(2026, month, 1) for month in range(1, 8)]
    return concat_observations(
        [regular("Rent", firsts, "10:00"), life_beside(every(1, 240, date(2026, 1, 1)))]
    )


def test_a_monthly_habit_survives_to_its_next_date() -> None:
    frame = monthly()
    after = the_one(frame, at(date(2026, 7, 1)), about="Rent")
    eve = the_one(frame, at(date(2026, 7, 31)), about="Rent")
    assert (after["status"], eve["status"]) == ("confirmed", "confirmed")
    assert orjson.loads(eve["rule"])["rrule"] == "FREQ=MONTHLY;BYMONTHDAY=1"
    assert eve["confidence"] == after["confidence"]
    assert eve["opportunities"] == 7


def test_a_monthly_habit_that_stops_expires_before_long() -> None:
    gone = the_one(monthly(), at(date(2026, 8, 28)), about="Rent")
    assert gone["status"] == "expired"
    assert gone["expired_at"] < "2026-08-28"


def test_by_the_calendar_it_would_not_survive() -> None:
    """Forgotten before each next date, it is never more than seen once."""
    found = evaluate(monthly(), at(date(2026, 7, 31)), Settings(decay_by_calendar=True))
    standing = found.filter(pl.col("rule").str.contains('"title":"Rent"'), pl.col("status") != "expired")
    assert standing.filter(type="temporal").height == 0


def gym(outcomes: str) -> tuple[pl.DataFrame, datetime]:
    """One day for each mark from a Monday on, ``x`` with gym; a life beside it on all of them."""
    days = every(1, len(outcomes), MONDAY)
    kept = [day for day, mark in zip(days, outcomes, strict=True) if mark == "x"]
    return concat_observations([regular("Gym", kept), life_beside(days)]), at(days[-1], 23)


KEPT = "x" * 28


def test_the_third_unforgiven_contradiction_demotes() -> None:
    two, three = the_one(*gym(KEPT + "..")), the_one(*gym(KEPT + "..."))
    assert (two["status"], two["contradictions"]) == ("confirmed", 2)
    assert (three["status"], three["contradictions"], three["confirmed_at"]) == ("tracking", 0, None)
    assert three["lacks"][0] == "5 more days"


def test_a_support_forgives_a_contradiction() -> None:
    assert the_one(*gym(KEPT + "..x."))["contradictions"] == 2
    assert the_one(*gym(KEPT + "..x."))["status"] == "confirmed"
    assert the_one(*gym(KEPT + "..x.."))["status"] == "tracking"


def test_over_a_lifetime_nothing_is_forgiven() -> None:
    frame, as_of = gym(KEPT + ".xxxxxxxxx.xxxxxxxxx.")
    lifetime = Settings(forgive_contradictions=False)
    assert the_one(frame, as_of)["status"] == "confirmed"
    assert the_one(frame, as_of, lifetime)["status"] == "tracking"


def test_after_a_demotion_five_new_occasions_confirm_again() -> None:
    assert the_one(*gym(KEPT + "..." + "xxxx"))["status"] == "tracking"
    assert the_one(*gym(KEPT + "..." + "xxxxx"))["status"] == "confirmed"


def test_an_expired_habit_that_returns_needs_five_new_occasions() -> None:
    gap = "." * 40
    assert the_one(*gym(KEPT + gap))["status"] == "expired"
    four, five = gym(KEPT + gap + "xxxx"), gym(KEPT + gap + "xxxxx")
    assert not is_confirmed(*four)
    assert is_confirmed(*five)


def is_confirmed(frame: pl.DataFrame, as_of: datetime) -> bool:
    found = evaluate(frame, as_of).filter(pl.col("rule").str.contains('"title":"Gym"'), status="confirmed")
    return bool(found.height)


def test_silence_neither_contradicts_nor_demotes() -> None:
    """Three weeks without any trace are no missed days: only decay, for it is past due."""
    days = every(1, 28, MONDAY)
    frame = concat_observations([regular("Gym", days), life_beside(days)])
    now, later = the_one(frame, at(days[-1], 23)), the_one(frame, at(days[-1], 23) + timedelta(days=20))
    assert (later["support"], later["opportunities"], later["contradictions"]) == (28, 28, 0)
    assert later["status"] == "confirmed"
    assert later["confidence"] < now["confidence"]


def test_a_night_owls_times_are_said_as_the_clock_shows_them() -> None:
    """The day may begin at four; seven o'clock is still called seven."""
    owl = Settings(day_starts_at=4)
    early = evaluate(regular("Gym", every(1, 5, MONDAY)), settings=owl).row(0, named=True)
    assert "on weekdays at 07:00" in early["statement"]


def test_what_a_night_owl_does_past_midnight_belongs_to_the_day_before() -> None:
    """Monday to Friday nights, seen at 01:30 from Tuesday to Saturday."""
    owl = Settings(day_starts_at=4)
    nights = regular("Writing", every(1, 5, MONDAY + timedelta(days=1)), "01:30")
    late = evaluate(nights, settings=owl).row(0, named=True)
    assert orjson.loads(late["rule"])["rrule"] == "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"
    assert orjson.loads(late["rule"])["time"] == "01:30"


def test_a_pattern_of_one_series_is_declared() -> None:
    frame = regular("Gym", every(1, 20, MONDAY))
    declared = frame.with_columns(pl.lit("uid-1").alias("series:text"))
    assert set(evaluate(declared).get_column("source")) == {"declared"}
    single = frame.with_columns(pl.col("id").alias("series:text"))
    assert set(evaluate(single).get_column("source")) == {"observed"}


def test_a_habit_keeps_its_id_when_its_beginning_is_seen_otherwise() -> None:
    early, late = the_one(*gym("x.xxxx.xxxx")), the_one(*gym("x.xxxx.xxxx" + "x" * 20))
    assert (early["status"], late["status"]) == ("confirmed", "confirmed")
    assert late["id"] == early["id"]

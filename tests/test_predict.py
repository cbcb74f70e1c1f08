"""Predictions: due dates and running workflows, with probabilities that can be computed by hand and are calibrated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from pathlib import Path

import icalendar
import polars as pl
import pytest
from click.testing import CliRunner, Result
from dateutil.rrule import rrulestr

from observations.errors import SettingError
from observations.ingest.toolkit.record_builder import RecordBuilder
from observations.schema import concat_observations
from patterns.evaluate import evaluate
from patterns.model import Pattern, read_patterns
from patterns.pattern_frame import PATTERNS
from patterns.settings import Settings
from pipelines import Store
from pipelines.cli.main import main
from pipelines.memory.backtest import BACKTEST, backtest
from pipelines.memory.predict import Prediction, predictions, probability
from pipelines.memory.predict_ics import to_ics
from tests import simulate
from tests.simulate import creature_of_habit, every, observations

regular = partial(simulate.regular, user="me")

END = datetime(2026, 3, 2, 8, tzinfo=UTC)
TEA = regular("Tea", [day for day in every(1, 56) if day.weekday() in (0, 3)])


def ahead(frame: pl.DataFrame, as_of: datetime, days: int = 7) -> list[Prediction]:
    """What is predicted from these observations alone."""
    return predictions(evaluate(frame, as_of), frame, as_of, days, Settings())


def believed(changed: Mapping[str, object], frame: pl.DataFrame, **changes: object) -> pl.DataFrame:
    """The tea habit with another rule, as a detector would give for other data."""
    row = evaluate(frame, END).filter(pl.col("type") == "temporal").row(0, named=True)
    rule = {**json.loads(row["rule"]), **changed}
    return pl.DataFrame([{**row, **changes, "rule": json.dumps(rule)}], schema=dict(PATTERNS))


# --- temporal -------------------------------------------------------------------------------------------------


def test_due_dates_of_the_coming_days() -> None:
    found = ahead(TEA, END, days=10)
    assert [(f"{p.at:%a %Y-%m-%d %H:%M}", p.what) for p in found] == [
        ("Thu 2026-03-05 07:00", "Tea"),
        ("Mon 2026-03-09 07:00", "Tea"),
        ("Thu 2026-03-12 07:00", "Tea"),
    ]
    assert {p.until - p.at for p in found} == {timedelta(minutes=10)}


def test_the_probability_is_the_posterior_mean_less_decay() -> None:
    """Sixteen of sixteen, and due an hour ago: (16 + ½) / (16 + 1), times 0.95 to the power of 50 minutes in days."""
    (pattern,) = predictions_of(TEA)
    assert pattern.probability == pytest.approx(16.5 / 17 * 0.95 ** (50 / 1440), abs=1e-4)
    late = ahead(TEA, END + timedelta(days=10), days=7)[0]
    assert late.probability == pytest.approx(16.5 / 17 * 0.95 ** (10 + 50 / 1440), abs=1e-4)


def predictions_of(frame: pl.DataFrame) -> list[Prediction]:
    return ahead(frame, END, days=3)


@pytest.mark.parametrize(
    ("rrule", "dtstart"),
    [
        ("FREQ=DAILY", None),
        ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", None),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TH", "2026-01-08"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TH", "2026-01-15"),
        ("FREQ=WEEKLY;INTERVAL=3;BYDAY=SU", "2026-01-11"),
        ("FREQ=MONTHLY;BYMONTHDAY=-1", None),
        ("FREQ=MONTHLY;BYMONTHDAY=31", None),
        ("FREQ=MONTHLY;BYDAY=2TU", None),
        ("FREQ=MONTHLY;BYDAY=-1FR", None),
    ],
)
def test_dates_are_those_of_another_program(rrule: str, dtstart: str | None) -> None:
    rule = {"rrule": rrule} | ({"dtstart": dtstart} if dtstart else {})
    found = predictions(believed(rule, TEA), TEA, END, 120, Settings())
    start = datetime.combine(date.fromisoformat(dtstart or "2026-01-01"), time(7))
    oracle = rrulestr(rrule, dtstart=start).between(datetime(2026, 3, 2, 8), datetime(2026, 6, 30, 8))  # noqa: DTZ001
    assert [p.at.replace(tzinfo=None) for p in found] == oracle
    assert found


def test_what_was_kept_already_is_not_expected_again() -> None:
    early = regular("Tea", [END.date()], "06:55")
    found = ahead(concat_observations([TEA, early]), datetime(2026, 3, 2, 6, 58, tzinfo=UTC))
    assert [p.at.date() for p in found] == [date(2026, 3, 5)]


def test_the_clock_on_the_wall_goes_on_when_the_clocks_change() -> None:
    berlin = regular("Tea", every(1, 80), "07:00", tz="Europe/Berlin")
    as_of = datetime(2026, 3, 27, 8, tzinfo=UTC)
    found = ahead(berlin, as_of, days=3)
    assert [p.at.strftime("%d %H:%M %z") for p in found] == [
        "28 07:00 +0100",
        "29 07:00 +0200",
        "30 07:00 +0200",
    ]


def test_a_bare_offset_is_kept() -> None:
    records = RecordBuilder()
    for day in every(1, 56):
        local = datetime.combine(day, time(7))
        at = (local + timedelta(hours=5)).replace(tzinfo=UTC)
        records.add("calendar", "created", at=at, local=local, user_id="me", features={"title": "Tea"})
    (next_one,) = ahead(observations(records), END, days=1)
    assert next_one.at.isoformat() in ("2026-03-02T07:00:00-05:00", "2026-03-03T07:00:00-05:00")
    assert b"DTSTART:2026030" in to_ics([next_one], END)  # no zone has a name for it: in UTC


def test_an_hour_after_midnight_belongs_to_the_day_before_for_night_owls() -> None:
    rule = {"time": "01:00", "rrule": "FREQ=WEEKLY;BYDAY=MO", "day_starts_at": "04:00"}
    found = predictions(believed(rule, TEA), TEA, END, 7, Settings())
    assert [f"{p.at:%a %H:%M}" for p in found] == ["Tue 01:00"]


@pytest.mark.parametrize("changes", [{"status": "tracking"}, {"status": "expired"}])
def test_only_what_is_confirmed_is_expected(changes: dict[str, object]) -> None:
    assert predictions(believed({}, TEA), TEA, END, 7, Settings())
    assert predictions(believed({}, TEA, **changes), TEA, END, 7, Settings()) == []


@pytest.mark.parametrize("days", [0, -1, 367])
def test_days_that_cannot_be_are_refused(days: int) -> None:
    with pytest.raises(SettingError, match="from 1 to 366 days"):
        ahead(TEA, END, days)
    with pytest.raises(SettingError, match="from 1 to 366 days"):
        backtest(TEA, END, days)


# --- workflows ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def habits() -> tuple[pl.DataFrame, datetime]:
    ada = creature_of_habit(1, weeks=9, tz="UTC")
    return ada.observations, ada.as_of


def _parcel(at: datetime) -> pl.DataFrame:
    records = RecordBuilder()
    records.add("email", "received", local=at, tz="UTC", user_id="ada", features={"category": "parcel"})
    return observations(records)


def _fetch(at: datetime) -> pl.DataFrame:
    records = RecordBuilder()
    records.add("command", "ran", local=at, tz="UTC", user_id="ada", features={"program": "fetch"})
    return observations(records)


def test_a_running_workflow_is_expected_to_go_on(habits: tuple[pl.DataFrame, datetime]) -> None:
    frame, end = habits
    began = end.replace(tzinfo=None) + timedelta(hours=10)
    started = concat_observations([frame, _parcel(began)])
    found = [p for p in ahead(started, end + timedelta(hours=10, minutes=5), 1) if p.type == "workflow"]
    (step,) = found
    pattern = evaluate(started, end + timedelta(hours=10, minutes=5)).filter(pl.col("id") == step.pattern_id)
    minutes = json.loads(pattern.item(0, "rule"))["within_minutes"]
    assert "fetch" in step.what.lower()
    assert step.at == end + timedelta(hours=10, minutes=5)
    assert step.until == end + timedelta(hours=10, minutes=minutes)
    kept, of = pattern.select("support", "opportunities").row(0)
    assert step.probability == pytest.approx((kept + 0.5) / (of + 1), abs=0.02)


@pytest.mark.parametrize("case", ["not begun", "done", "too late"])
def test_one_that_is_not_running_is_not(habits: tuple[pl.DataFrame, datetime], case: str) -> None:
    frame, end = habits
    began = end.replace(tzinfo=None) + timedelta(hours=10)
    parts = [frame] if case == "not begun" else [frame, _parcel(began)]
    if case == "done":
        parts.append(_fetch(began + timedelta(minutes=3)))
    as_of = end + timedelta(hours=14 if case == "too late" else 10, minutes=5)
    assert [p for p in ahead(concat_observations(parts), as_of, 1) if p.type == "workflow"] == []


# --- as iCalendar ---------------------------------------------------------------------------------------------


def test_a_calendar_can_import_them() -> None:
    berlin = regular("Tea; with, commas\\", every(1, 56), "07:00", tz="Europe/Berlin")
    found = ahead(berlin, END, days=3)
    text = to_ics(found, END)
    calendar = icalendar.Calendar.from_ical(text)
    events = calendar.walk("VEVENT")
    assert len(events) == len(found) == 3
    assert [event.decoded("dtstart") for event in events] == [p.at for p in found]
    assert all(event["dtstart"].params["TZID"] == "Europe/Berlin" for event in events)
    assert [zone["tzid"] for zone in calendar.walk("VTIMEZONE")] == ["Europe/Berlin"]
    assert {str(event["summary"]).rpartition(" ")[0] for event in events} == {found[0].what}
    assert {(str(e["status"]), str(e["transp"])) for e in events} == {("TENTATIVE", "TRANSPARENT")}
    assert all(len(line) <= 75 for line in text.split(b"\r\n"))


def test_what_is_imported_again_replaces_itself() -> None:
    today, tomorrow = ahead(TEA, END, 7), ahead(TEA, END + timedelta(days=1), 7)
    uids = [
        [str(e["uid"]) for e in icalendar.Calendar.from_ical(to_ics(p, END)).walk("VEVENT")]
        for p in (today, tomorrow)
    ]
    assert len(set(uids[0])) == len(uids[0])
    assert set(uids[0]) & set(uids[1])
    assert to_ics(today, END) == to_ics(ahead(TEA, END, 7), END)


# --- how often they came true ---------------------------------------------------------------------------------


def test_a_backtest_counts_what_was_believed_then() -> None:
    """Tea every day but on two days of the last week; something else shows that the person was there."""
    days = every(1, 56)
    kept = [day for day in days if day not in (date(2026, 2, 23), date(2026, 2, 26))]
    traces = [
        regular("Dentist", [date(2026, 2, 23)], "15:00"),
        regular("Cinema", [date(2026, 2, 26)], "20:00"),
    ]
    frame = concat_observations([regular("Tea", kept), *traces])
    as_of = datetime(2026, 3, 1, tzinfo=UTC)
    found = backtest(frame, as_of, days=6)
    by_hand = [
        (probability(pattern, Settings()), cut)
        for cut in (as_of - timedelta(days=n) for n in range(6, 0, -1))
        for pattern in _confirmed(frame.filter(pl.col("at") <= cut), cut)
    ]
    assert found.schema == dict(BACKTEST)
    assert found.get_column("predictions").sum() == len(by_hand)
    assert len(by_hand) == 6
    assert found.get_column("came_true").sum() == 4
    expected = sum(chance for chance, _ in by_hand)
    assert (found["predicted"].fill_null(0) * found["predictions"]).sum() == pytest.approx(expected)


def _confirmed(frame: pl.DataFrame, cut: datetime) -> list[Pattern]:
    found = evaluate(frame, cut).filter(pl.col("status") == "confirmed", pl.col("type") == "temporal")
    return list(read_patterns(found))


def test_days_without_a_trace_are_not_asked() -> None:
    found = backtest(TEA, END + timedelta(days=20), days=14)
    assert found.get_column("predictions").sum() == 0
    assert found.get_column("rate").is_null().all()


def test_predictions_of_habits_come_true_as_often_as_they_say(habits: tuple[pl.DataFrame, datetime]) -> None:
    frame, end = habits
    found = backtest(frame, end, days=21)
    expected = pl.col("predicted").fill_null(0) * pl.col("predictions")
    asked, true, predicted = found.select("predictions", "came_true", expected).sum().row(0)
    assert asked >= 20
    assert abs(true - predicted) <= 3 * (asked * 0.1 * 0.9) ** 0.5


# --- on the command line --------------------------------------------------------------------------------------


def run(folder: Path, *words: str) -> Result:
    when = ["--db", str(folder / "habits.db"), "--as-of", "2026-03-02T08:00Z"]
    return CliRunner().invoke(main, ["predict", *when, *words])


def test_on_the_command_line(tmp_path: Path) -> None:
    with Store(tmp_path / "habits.db", clock=lambda: END) as store:
        store.observe(TEA)
    table = run(tmp_path).stdout.splitlines()
    assert table[0].split() == ["when", "prob.", "what", "because"]
    assert table[1].split()[:5] == ["Thu", "2026-03-05", "07:00", "97%", "Tea"]
    said = json.loads(run(tmp_path, "--format", "json", "--days", "3").stdout)
    assert [(p["at"], p["until"]) for p in said] == [("2026-03-05T07:00+00:00", "2026-03-05T07:10+00:00")]
    assert run(tmp_path, "--format", "ics").stdout_bytes.startswith(b"BEGIN:VCALENDAR\r\n")
    tested = run(tmp_path, "--backtest", "--days", "14")
    assert tested.stdout.splitlines()[1].split() == ["0.9–1.0", "3", "3", "1.00", "0.97", "0.46–1.00"]
    assert tested.stderr == "3 predictions; days without any observation of the person are left out\n"
    assert json.loads(run(tmp_path, "--backtest", "--format", "json").stdout)[-1]["came_true"] > 0


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--days", "0"], 2, "0 is not in the range"),
        (["--days", "367"], 2, "367 is not in the range"),
        (["--backtest", "--format", "ics"], 2, "--backtest prints a table or JSON"),
        (["--user", "nobody"], 0, "is empty; fill it with habitus observe or habitus sync"),
        ([], 0, "no predictions: no confirmed habit with a time is due"),
    ],
)
def test_what_cannot_be_is_said(tmp_path: Path, words: list[str], status: int, message: str) -> None:
    result = run(tmp_path, *words)
    assert result.exit_code == status
    assert message in result.stderr

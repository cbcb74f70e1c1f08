"""Small charts: hits, misses and days that are not due are counted on the right day and week, in characters and as SVG."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from io import StringIO
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from rich.console import Console

from patterns.explain import OPPORTUNITIES
from patterns.settings import Settings
from pipelines.text.sparklines import (
    Tally,
    by_day,
    by_week,
    confidence_svg,
    sparkline_svg,
    sparkline_text,
    strip_svg,
    strip_text,
)
from tests.simulate import wall

MONDAY = date(2026, 3, 2)


def seen(*outcomes: tuple[str, bool], shown: bool = True) -> pl.DataFrame:
    """Opportunities of one pattern, each with its wall clock and whether it was kept."""
    rows = [
        {
            "pattern_id": "p",
            "user_id": "ada",
            "local": wall(when),
            "kept": kept,
            "observation": "o" if shown else None,
        }
        for when, kept in outcomes
    ]
    return pl.DataFrame(rows, schema_overrides=dict(OPPORTUNITIES), schema=list(OPPORTUNITIES))


THREE_WEEKS = seen(
    ("2026-03-02 09:00", True),
    ("2026-03-03 09:00", True),
    ("2026-03-03 18:00", False),
    ("2026-03-17 09:00", False),
    ("2026-03-18 09:00", False),
)


def test_a_week_begins_on_monday_and_one_without_opportunity_is_there() -> None:
    assert by_week(THREE_WEEKS) == [
        Tally(MONDAY, 2, 1),
        Tally(MONDAY + timedelta(7), 0, 0),
        Tally(MONDAY + timedelta(14), 0, 2),
    ]


def test_the_newest_weeks_are_shown() -> None:
    assert [week.begin for week in by_week(THREE_WEEKS, weeks=2)] == [date(2026, 3, 9), date(2026, 3, 16)]


def test_weeks_go_on_to_the_day_that_is_asked_for() -> None:
    assert by_week(THREE_WEEKS, until=date(2026, 4, 1))[-1] == Tally(date(2026, 3, 30), 0, 0)


def test_days_come_in_whole_weeks() -> None:
    days = by_day(THREE_WEEKS)
    assert len(days) == 21
    assert days[:2] == [Tally(MONDAY, 1, 0), Tally(MONDAY + timedelta(1), 1, 1)]
    assert sum(day.kept for day in days) == THREE_WEEKS["kept"].sum()
    assert sum(day.due for day in days) == THREE_WEEKS.height


@pytest.mark.parametrize(("shown", "day"), [(False, date(2026, 3, 8)), (True, date(2026, 3, 9))])
def test_a_slot_that_ends_at_midnight_belongs_to_its_own_day(shown: bool, day: date) -> None:
    """What an observation shows is on the day of the observation, even at the stroke of midnight."""
    (one,) = (d for d in by_day(seen(("2026-03-09 00:00", True), shown=shown)) if d.due)
    assert one.begin == day


def test_a_sparkline_has_a_character_a_week() -> None:
    assert sparkline_text(THREE_WEEKS).plain == "▆·▁"


def test_a_calendar_has_a_line_for_each_weekday() -> None:
    assert [line.plain for line in strip_text(THREE_WEEKS)] == [
        "     Mar",
        "Mon  ■··",
        "Tue  ▣·×",
        "Wed  ··×",
        "Thu  ···",
        "Fri  ···",
        "Sat  ···",
        "Sun  ···",
        "     ■ kept   × missed   · not due   ",
    ]


def test_months_of_a_calendar_do_not_run_into_each_other() -> None:
    year = seen(*((f"{datetime(2025, 1, 1) + timedelta(n):%Y-%m-%d} 09:00", True) for n in range(400)))  # noqa: DTZ001
    months = strip_text(year)[0].plain
    assert len(months) <= 5 + 53 + 3
    assert re.fullmatch(r"( *[A-Z][a-z]{2})+", months)


def test_colours_vanish_where_nobody_sees_them() -> None:
    written = StringIO()
    Console(file=written, width=80).print(sparkline_text(THREE_WEEKS))
    assert written.getvalue() == "▆·▁\n"


def test_a_sparkline_draws_hits_above_and_misses_below_the_line() -> None:
    svg = ET.fromstring(sparkline_svg(THREE_WEEKS))
    assert svg.get("aria-label") == "kept 2 of 5 in 3 weeks"
    paths = {path.get("class"): path.get("d", "") for path in svg}
    assert paths["hb-kept"].count("M") == 1
    assert paths["hb-missed"].count("M") == 2


def dashes(svg: ET.Element, state: str, width: int) -> int:
    """How many days are drawn so: a line that is n·11 - (11 - width) long has n dashes."""
    (path,) = (e for e in svg if e.get("class") == f"hb-days hb-{state}")
    return sum((int(h) - width) // 11 + 1 for h in re.findall(r"h(\d+)", path.get("d", "")))


def test_a_strip_draws_every_day_and_says_it_when_pointed_at() -> None:
    svg = ET.fromstring(strip_svg(THREE_WEEKS, pointable=True))
    titles = [title.text for title in svg.iter() if title.tag.endswith("title")]
    assert titles[:2] == ["Monday 2 March 2026: kept 1 of 1", "Tuesday 3 March 2026: kept 1 of 2"]
    assert dashes(svg, "none", 2) == 21 - 4
    assert dashes(svg, "kept", 10) == 1
    assert dashes(svg, "missed", 5) == 2
    assert dashes(svg, "both", 10) == 1
    assert not [
        title for title in ET.fromstring(strip_svg(THREE_WEEKS)).iter() if title.tag.endswith("title")
    ]


def test_the_parts_of_the_bar_add_up_to_the_confidence() -> None:
    components = {"count": 1.0, "recency": 0.5, "consistency": 0.8, "span": 1.0}
    whole = 0.4 + 0.1 + 0.24 + 0.1
    svg = ET.fromstring(confidence_svg(whole / 2, components))
    parts = [path for path in svg if "hb-part " in f"{path.get('class')} "]
    widths = [float(part.get("d", "").split("h")[1].split("v")[0]) for part in parts]
    assert sum(widths) == pytest.approx(100 * whole / 2, abs=4 * 0.5 + 0.1)
    said = [title.text or "" for title in svg.iter() if title.tag.endswith("title")]
    assert said[2] == "consistency 0.80 × 0.3 = 0.24, × 0.50 for being past due"
    assert "consistency 0.80" in svg.get("aria-label", "")


def test_the_bar_is_weighted_by_the_settings() -> None:
    settings = Settings(weight_count=0.1, weight_recency=0.5)
    bar = confidence_svg(0.5, dict.fromkeys(("count", "recency", "consistency", "span"), 0.5), settings)
    assert "count 0.50 × 0.1 = 0.05" in bar


@pytest.mark.parametrize("draw", [sparkline_text, strip_text, sparkline_svg, strip_svg, by_week, by_day])
def test_of_nothing_nothing_is_drawn(draw: object) -> None:
    assert not draw(THREE_WEEKS.clear())  # type: ignore[operator]


def test_what_ended_long_ago_has_an_empty_sparkline() -> None:
    svg = ET.fromstring(sparkline_svg(THREE_WEEKS, until=date(2027, 3, 1)))
    assert svg.get("aria-label") == "no opportunity in 26 weeks"
    assert [path.get("d") for path in svg][1:] == ["", ""]

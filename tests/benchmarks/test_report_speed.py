"""What a report costs beyond detection: a year of ten people, and the largest public calendar that we have."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from pipelines.detection import Detection, detect, detect_in_frame
from pipelines.report.page import LARGEST, Findings, report_html
from tests.simulate import creature_of_habit

CALENDAR = Path(__file__).parents[2].parent / "shared" / "real" / "rie-issue42-google-4778-events.ics"
SECONDS = 10
"""The promise (issue 6)."""


def measure(benchmark: BenchmarkFixture, found: Detection) -> str:
    """The page; every chart is drawn anew in each round, and the engine that draws is there from the second on."""
    findings = Findings.of(found)
    page: str = benchmark.pedantic(report_html, args=(findings,), rounds=3, warmup_rounds=1)
    assert benchmark.stats is not None
    assert benchmark.stats["median"] < SECONDS
    assert len(page.encode()) <= LARGEST
    return page


def test_a_year_of_ten_people(benchmark: BenchmarkFixture) -> None:
    people = [creature_of_habit(seed=n, weeks=52, user=f"person {n}").observations for n in range(10)]
    page = measure(benchmark, detect_in_frame(pl.concat(people, how="diagonal")))
    assert page.count('<article class="person"') == 10


@pytest.mark.skipif(not CALENDAR.exists(), reason=f"there is no {CALENDAR}")
def test_a_calendar_of_4778_events(benchmark: BenchmarkFixture) -> None:
    measure(benchmark, detect(CALENDAR, tz="Europe/Berlin", as_of=datetime(2026, 1, 1, tzinfo=UTC)))

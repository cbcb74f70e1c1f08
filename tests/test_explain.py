"""The evidence, journal and outlook of a pattern agree with the pattern and with later outcomes."""

from __future__ import annotations

from datetime import UTC, timedelta
from functools import cache

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from observations.schema import concat_observations
from patterns.evaluate import evaluate
from patterns.explain import JOURNAL, OPPORTUNITIES, OUTLOOK, Explanation, explain
from patterns.pattern_frame import PATTERNS, pattern_ids
from patterns.registry import rule_of
from patterns.settings import Settings
from tests.simulate import Person, creature_of_habit, nobody_in_particular, somebody_untidy


@cache
def everybody() -> pl.DataFrame:
    people = [
        creature_of_habit(seed=1, weeks=9),
        creature_of_habit(seed=3, weeks=9, user="bo", tz="America/New_York"),
        nobody_in_particular(seed=2, weeks=9, user="nobody"),
    ]
    return concat_observations([p.observations for p in people])


@cache
def explained() -> Explanation:
    return explain(everybody())


@cache
def untidy() -> Person:
    return somebody_untidy(seed=4)


def test_patterns_are_those_of_evaluate() -> None:
    assert_frame_equal(explained().patterns, evaluate(everybody()))
    assert explained().patterns.height > 20


def test_frames_have_the_columns_they_promise() -> None:
    for of in (explained(), explain(everybody().clear())):
        assert of.patterns.schema == dict(PATTERNS)
        assert of.opportunities.schema == dict(OPPORTUNITIES)
        assert of.journal.schema == dict(JOURNAL)
        assert of.outlook.schema == dict(OUTLOOK)


def test_support_and_opportunities_are_those_of_the_last_episode() -> None:
    of_episode = pl.col("episode") == pl.col("episode").max().over("pattern_id")
    counted = explained().opportunities.filter(of_episode).group_by("pattern_id")
    counts = counted.agg(kept=pl.col("kept").sum().cast(pl.Int64), all=pl.len().cast(pl.Int64))
    both = explained().patterns.join(counts, left_on="id", right_on="pattern_id", how="left")
    assert both.select(pl.col("kept") == pl.col("support")).to_series().all()
    assert both.select(pl.col("all") == pl.col("opportunities")).to_series().all()


def test_evidence_are_the_latest_kept_opportunities() -> None:
    for row in explained().patterns.iter_rows(named=True):
        kept = explained().opportunities.filter((pl.col("pattern_id") == row["id"]) & pl.col("kept"))
        assert row["evidence"] == kept["observation"].to_list()[::-1][: len(row["evidence"])], row[
            "statement"
        ]


def test_an_episode_begins_with_a_kept_opportunity() -> None:
    firsts = explained().opportunities.group_by("pattern_id", "episode", maintain_order=True).first()
    assert firsts["kept"].all()


def test_the_journal_leads_to_the_status_without_a_gap() -> None:
    status = dict(explained().patterns.select("id", "status").iter_rows())
    for (pattern,), changes in explained().journal.group_by("pattern_id", maintain_order=True):
        assert changes["local"].is_sorted()
        now = None
        for change in changes.iter_rows(named=True):
            assert change["before"] == (None if now in (None, "expired") else now)
            now = change["after"]
        assert now == status[str(pattern)]
    assert set(explained().journal["pattern_id"]) == set(status)


def test_confirmed_at_is_in_the_journal() -> None:
    confirmed = explained().patterns.drop_nulls("confirmed_at")
    both = confirmed.join(
        explained().journal.filter(pl.col("after") == "confirmed"), left_on="id", right_on="pattern_id"
    )
    last = both.group_by("id", maintain_order=True).last()
    assert last.height == confirmed.height > 5
    assert last.select(pl.col("at") == pl.col("confirmed_at")).to_series().all()


def test_a_pattern_expires_when_the_outlook_says_so() -> None:
    person = untidy()
    behind = explain(person.observations, person.as_of)
    confirmed = behind.patterns.filter(pl.col("status") == "confirmed")
    soonest = (
        behind.outlook.join(confirmed, left_on="pattern_id", right_on="id")
        .drop_nulls("expires")
        .sort("expires")
    )
    assert soonest.height
    first = soonest.row(0, named=True)
    local_now = behind.opportunities["local"].max()
    shift = person.observations.sort("at").select(pl.col("local") - pl.col("at").dt.replace_time_zone(None))
    expires = (first["expires"] - shift.to_series()[-1]).replace(tzinfo=UTC)
    assert first["expires"] > local_now

    def status(moment: timedelta) -> str:
        now = explain(person.observations, expires + moment, only=[first["pattern_id"]]).patterns
        return str(now["status"].item())

    assert status(timedelta(minutes=-1)) == "confirmed"
    assert status(timedelta(minutes=1)) == "expired"


def test_only_the_patterns_asked_for() -> None:
    one, other = explained().patterns["id"][0], explained().patterns["id"][5]
    few = explain(everybody(), only=[other, one, "no such id"])
    assert few.patterns["id"].to_list() == [one, other]
    assert set(few.journal["pattern_id"]) == set(few.opportunities["pattern_id"]) == {one, other}
    wanted = pl.col("pattern_id").is_in([one, other])
    assert_frame_equal(few.opportunities, explained().opportunities.filter(wanted))
    assert_frame_equal(few.outlook, explained().outlook.filter(wanted))


@pytest.mark.parametrize("hour", [0, 4])
def test_clocks_are_the_persons_whenever_their_day_begins(hour: int) -> None:
    person = untidy()
    behind = explain(person.observations, person.as_of, Settings(day_starts_at=hour))
    temporal = behind.patterns.filter(pl.col("type") == "temporal").select("id")
    shown = (
        behind.opportunities.filter("kept")
        .join(temporal, left_on="pattern_id", right_on="id", how="semi")
        .join(person.observations.select("id", clock="local"), left_on="observation", right_on="id")
    )
    assert shown.height
    assert shown.select((pl.col("local") - pl.col("clock")).abs().max()).item() < timedelta(minutes=1)


def test_ids_are_unique() -> None:
    assert explained().patterns["id"].is_unique().all()
    where = {"type": "calendar"}
    slots = [
        rule_of("avoidance", {"where": where, "days": ["friday"], "from": f"{h}:00", "to": f"{h + 1}:00"})
        for h in (12, 15, 17)
    ]
    ids = pattern_ids(["ada"] * 3, "avoidance", slots, ["o1"] * 3)
    assert len(set(ids)) == 3
    assert pattern_ids(["ada"], "avoidance", slots[:1], ["o1"]) == ids[:1]
    backwards = pattern_ids(["ada"] * 3, "avoidance", slots[::-1], ["o1"] * 3)
    assert backwards[::-1] == ids

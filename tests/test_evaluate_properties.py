"""What never changes the answer, and what every answer holds (design, section 2), for all detectors at once."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import orjson
import polars as pl
import pytest
from freezegun import freeze_time
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from observations.schema import BASE, concat_observations, feature_columns
from patterns.evaluate import evaluate
from patterns.pattern_frame import EVIDENCE
from patterns.registry import DETECTORS
from patterns.settings import Settings
from tests import naive
from tests.simulate import Person, Truth, creature_of_habit, nobody_in_particular

ROOT = Path(__file__).parents[1]
WEEKS = 9


@cache
def ada() -> Person:
    return creature_of_habit(seed=1, weeks=WEEKS)


@cache
def bo() -> Person:
    """Somebody else, with other sources, whose names sort before and between ada's."""
    person = creature_of_habit(seed=2, weeks=WEEKS, user="abe", tz="America/New_York")
    strange = person.observations.with_columns(
        pl.lit("x").alias("zone:text"), pl.lit(1.5).alias("amount:number"), pl.lit(["a"]).alias("tags:list")
    )
    return Person(strange, person.truths, person.as_of)


@cache
def answer() -> pl.DataFrame:
    """Ada's patterns."""
    return evaluate(ada().observations, ada().as_of)


def as_bytes(patterns: pl.DataFrame) -> bytes:
    """Every value of every pattern, to the last bit."""
    return orjson.dumps(patterns.to_dicts())


def evaluated(frame: pl.DataFrame, as_of: datetime | None = None) -> bytes:
    return as_bytes(evaluate(frame, as_of or ada().as_of))


# --- what never changes the answer ----------------------------------------------------------------------------


@hypothesis_settings(deadline=None, max_examples=3)
@given(seed=st.integers(0, 2**32 - 1))
def test_order_does_not_matter(seed: int) -> None:
    shuffled = ada().observations.sample(fraction=1.0, shuffle=True, seed=seed)
    assert evaluated(shuffled) == as_bytes(answer())


@hypothesis_settings(deadline=None, max_examples=4)
@given(cuts=st.lists(st.integers(0, 400), max_size=6), turned=st.booleans())
def test_chunks_and_repetitions_do_not_matter(cuts: list[int], turned: bool) -> None:
    """Parts of a log in any order, each read as its own source, the first part read twice."""
    frame = ada().observations
    edges = [0, *sorted(cuts), frame.height]
    parts = [frame[a:b] for a, b in pairwise(edges)]
    parts = [part[[c.name for c in part if c.name in BASE or c.null_count() < part.height]] for part in parts]
    assert evaluated(concat_observations([*(parts[::-1] if turned else parts), parts[0]])) == as_bytes(
        answer()
    )


def test_the_order_of_columns_and_columns_without_values_do_not_matter() -> None:
    frame = ada().observations
    turned = frame.select(*BASE, *reversed(feature_columns(frame.columns)))
    assert evaluated(turned) == as_bytes(answer())
    assert evaluated(frame.with_columns(pl.lit(None, pl.String).alias("empty:text"))) == as_bytes(answer())


def test_rechunking_does_not_matter() -> None:
    frame = pl.concat([ada().observations[:100], ada().observations[100:]], rechunk=False)
    assert frame.n_chunks() > 1
    assert evaluated(frame) == as_bytes(answer())


def test_another_person_changes_nothing() -> None:
    """Neither with the same evaluation time nor, without any, with each person's own."""
    both = concat_observations([bo().observations, ada().observations])
    for as_of in (ada().as_of, None):
        together = evaluate(both, as_of)
        for person in (ada(), bo()):
            alone = evaluate(person.observations, as_of)
            name = person.observations.get_column("user_id")[0]
            assert as_bytes(together.filter(user_id=name)) == as_bytes(alone)


def test_many_other_people_change_nothing() -> None:
    """Ada last of twenty: sums and keys over everybody must not blur hers."""
    frame = bo().observations
    crowd = [
        frame.with_columns(user_id=pl.lit(f"a{n:02d}"), id=pl.format("{}-{}", pl.lit(n), "id"))
        for n in range(19)
    ]
    together = evaluate(concat_observations([*crowd, ada().observations]), ada().as_of)
    assert as_bytes(together.filter(user_id="ada")) == as_bytes(answer())


def test_a_person_keeps_their_patterns_under_another_name() -> None:
    renamed = ada().observations.with_columns(user_id=pl.lit("zoe"))
    columns = [c for c in answer().columns if c not in ("id", "user_id", "superseded_by")]
    by = ["type", "rule", "first_seen"]
    assert_frame_equal(
        evaluate(renamed, ada().as_of).select(columns).sort(by), answer().select(columns).sort(by)
    )


def test_evaluating_twice_is_evaluating_once_and_the_input_stays() -> None:
    frame = ada().observations.clone()
    before = frame.clone()
    assert as_bytes(evaluate(frame, ada().as_of)) == as_bytes(evaluate(frame, ada().as_of))
    assert_frame_equal(frame, before)


def test_the_clock_of_the_machine_does_not_matter() -> None:
    for now in ("1999-12-31 23:59:59", "2041-07-01 12:00:00"):
        with freeze_time(now):
            assert evaluated(ada().observations) == as_bytes(answer())


def test_hash_seeds_and_threads_do_not_matter(tmp_path: Path) -> None:
    """A fresh process with another seed for the hashes of text, and with another number of threads."""
    source = tmp_path / "ada.parquet"
    ada().observations.write_parquet(source)
    code = (
        "import sys, orjson, polars as pl\n"
        "from datetime import datetime\n"
        "from patterns.evaluate import evaluate\n"
        "found = evaluate(pl.read_parquet(sys.argv[1]), datetime.fromisoformat(sys.argv[2]))\n"
        "sys.stdout.buffer.write(orjson.dumps(found.to_dicts()))"
    )
    for seed, threads in (("1", "1"), ("2", "4")):
        done = subprocess.run(
            [sys.executable, "-c", code, str(source), ada().as_of.isoformat()],
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "POLARS_MAX_THREADS": threads,
                "PYTHONPATH": str(ROOT),
            },
            capture_output=True,
            check=True,
        )
        assert done.stdout == as_bytes(answer())


def test_what_is_later_than_as_of_does_not_matter() -> None:
    middle = ada().as_of - timedelta(days=20)
    known = ada().observations.filter(pl.col("at") <= middle)
    assert known.height < ada().observations.height
    assert evaluated(ada().observations, middle) == evaluated(known, middle)


def test_as_of_in_any_zone_is_the_same_moment() -> None:
    elsewhere = ada().as_of.astimezone(ZoneInfo("Asia/Kathmandu"))
    assert evaluated(ada().observations, elsewhere) == as_bytes(answer())


def test_what_an_agent_did_is_no_evidence() -> None:
    """Whatever an assistant does, at whatever hour, with whomever: the answer is the same without it."""
    mine = ada().observations
    copied = mine.with_columns(actor=pl.lit("agent"), id=pl.format("agent-{}", "id"))
    moved = copied.with_columns(pl.col("at", "local") + pl.duration(hours=3))
    other = copied.with_columns(category=pl.lit("agent's")).rename({"category": "invented:text"})
    together = concat_observations([mine, copied, moved, other]).filter(pl.col("at") <= ada().as_of)
    assert evaluated(together) == as_bytes(answer())
    assert evaluate(copied, ada().as_of).height == 0


def test_machines_mail_is_no_evidence() -> None:
    mine = ada().observations.with_columns(pl.lit(False).alias("automatic:flag"))
    sent = mine.with_columns(pl.lit(True).alias("automatic:flag"), id=pl.format("machine-{}", "id"))
    assert evaluated(concat_observations([mine, sent])) == as_bytes(answer())


# --- the wall clock -------------------------------------------------------------------------------------------


def without_moments(patterns: pl.DataFrame) -> list[dict[str, Any]]:
    """The patterns without what must differ between zones: the offsets of their times."""
    times = ("first_seen", "last_seen", "confirmed_at", "expired_at")
    return patterns.with_columns(pl.col(t).str.slice(0, 19) for t in times).to_dicts()


def test_a_dst_change_moves_no_habit() -> None:
    """The same wall clocks in a zone whose clocks change midway, and in one whose never do."""
    lisbon = creature_of_habit(seed=4, weeks=16, tz="Europe/Lisbon")  # 29 March 2026 lies in the twelfth week
    utc = creature_of_habit(seed=4, weeks=16, tz="UTC")
    offsets = lisbon.observations.get_column("at").dt.replace_time_zone(
        None
    ) - lisbon.observations.get_column("local")
    assert offsets.n_unique() == 2
    here, there = evaluate(lisbon.observations, lisbon.as_of), evaluate(utc.observations, utc.as_of)
    assert without_moments(here) == without_moments(there)


# --- silence --------------------------------------------------------------------------------------------------


def test_a_silent_week_is_no_opportunity() -> None:
    """Everything after a Monday moved a week on: nothing is kept more often, and nothing less."""
    person = creature_of_habit(seed=5, weeks=12, tz="UTC")
    monday = datetime(2026, 2, 16, tzinfo=UTC)
    later = pl.col("at") >= monday
    away = person.observations.with_columns(
        pl.when(later).then(pl.col(c) + timedelta(days=7)).otherwise(c).alias(c) for c in ("at", "local")
    )
    columns = ["type", "rule", "support", "opportunities", "contradictions", "p_value"]
    here = evaluate(person.observations, person.as_of).filter(status="confirmed")
    there = evaluate(away, person.as_of + timedelta(days=7)).filter(status="confirmed")
    assert here.height >= 4
    assert_frame_equal(here.select(columns).sort(columns), there.select(columns).sort(columns))


# --- what every answer holds ----------------------------------------------------------------------------------


def rules(patterns: pl.DataFrame) -> list[dict[str, Any]]:
    return [orjson.loads(rule) for rule in patterns.get_column("rule")]


@pytest.fixture(scope="module")
def everybody() -> pl.DataFrame:
    """Observations of several people, some with and some without habits."""
    people = [creature_of_habit(n, weeks=WEEKS, user=f"p{n}") for n in (6, 7)]
    people += [nobody_in_particular(8, weeks=WEEKS, user="p8"), bo(), ada()]
    return concat_observations([person.observations for person in people])


@pytest.fixture(scope="module")
def patterns(everybody: pl.DataFrame) -> pl.DataFrame:
    return evaluate(everybody)


def test_every_evidence_id_resolves_and_is_the_persons_own(
    everybody: pl.DataFrame, patterns: pl.DataFrame
) -> None:
    known = {
        (user, id): event
        for user, id, event in zip(
            everybody.get_column("user_id"), everybody.get_column("id"), as_events(everybody), strict=True
        )
    }
    for pattern in patterns.iter_rows(named=True):
        ids = pattern["evidence"]
        assert (
            len(ids) == len(set(ids)) == min(EVIDENCE, pattern["support"]) or pattern["type"] == "avoidance"
        )
        events = [known[pattern["user_id"], id] for id in ids]
        times = [event["at"] for event in events]
        assert times == sorted(times, reverse=True)


def as_events(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return [
        {name.rpartition(":")[0] or name: value for name, value in row.items() if value is not None}
        for row in frame.iter_rows(named=True)
    ]


def test_evidence_shows_what_the_rule_says(everybody: pl.DataFrame, patterns: pl.DataFrame) -> None:
    """Each event named as evidence matches the rule, checked by the contract's words."""
    known = {(e["user_id"], e["id"]): e for e in as_events(everybody)}
    seen = set()
    for pattern, rule in zip(patterns.iter_rows(named=True), rules(patterns), strict=True):
        if pattern["type"] == "avoidance":
            continue
        seen.add(pattern["type"])
        for id in pattern["evidence"]:
            assert shows(known[pattern["user_id"], id], rule), (
                pattern["statement"],
                known[pattern["user_id"], id],
            )
    assert "temporal" in seen


def shows(event: dict[str, Any], rule: dict[str, Any]) -> bool:
    if "steps" in rule:
        return naive.matches(event, known_fields(rule["steps"][-1]))
    if not naive.matches(event, known_fields(rule["where"])):
        return False
    if "rrule" in rule:
        minute = event["local"].hour * 60 + event["local"].minute + event["local"].second / 60
        middle = int(rule["time"][:2]) * 60 + int(rule["time"][3:])
        apart = abs(minute - middle) % 1440
        return bool(min(apart, 1440 - apart) <= rule["tolerance_minutes"] + 1e-6)
    value = event[rule["feature"]]
    if "value" in rule:
        return bool(rule["value"] in value if isinstance(value, list) else rule["value"] == value)
    return bool(rule["min"] <= value <= rule["max"])


def known_fields(where: dict[str, Any]) -> dict[str, Any]:
    """Without the kind of thing, which is derived and not in the frame."""
    return {name: value for name, value in where.items() if name != "kind"}


def test_numbers_are_what_they_are_said_to_be(patterns: pl.DataFrame) -> None:
    settings = Settings()
    for p in patterns.iter_rows(named=True):
        assert 0 <= p["confidence"] <= 1
        assert 1 <= p["support"] <= p["opportunities"]
        assert p["components"]["consistency"] == pytest.approx(p["support"] / p["opportunities"])
        assert all(0 <= value <= 1 for value in p["components"].values())
        assert 0 <= p["p_value"] <= 1
        low, high = p["rate_interval"]
        assert 0 <= low <= high <= 1
        assert p["first_seen"] <= p["last_seen"]
        assert (p["status"] == "tracking") == bool(p["lacks"])
        weighted = (0.4, 0.2, 0.3, 0.1)
        names = ("count", "recency", "consistency", "span")
        undecayed = sum(w * p["components"][n] for w, n in zip(weighted, names, strict=True))
        assert p["confidence"] <= undecayed + 1e-9
        if p["status"] == "confirmed":
            assert p["confirmed_at"] is not None
            assert p["expired_at"] is None
            assert low > settings.usual_rate or p["contradictions"] > 0
            assert p["p_value"] <= 0.01
        if p["status"] == "expired":
            assert p["expired_at"] is not None
            assert p["confidence"] <= settings.expiry_threshold + 1e-9
        else:
            assert p["confidence"] >= settings.expiry_threshold


def test_patterns_are_sorted_and_their_ids_are_unique(patterns: pl.DataFrame) -> None:
    rank = {"confirmed": 0, "tracking": 1, "expired": 2}
    keys = [
        (p["user_id"], rank[p["status"]], -round(p["confidence"], 9), p["id"])
        for p in patterns.iter_rows(named=True)
    ]
    assert keys == sorted(keys)
    assert patterns.get_column("id").is_unique().all()


def test_successors_are_confirmed_patterns_of_the_same_person(patterns: pl.DataFrame) -> None:
    by_id = {p["id"]: p for p in patterns.iter_rows(named=True)}
    for p in by_id.values():
        if p["superseded_by"] is not None:
            assert by_id[p["superseded_by"]]["user_id"] == p["user_id"]
            assert by_id[p["superseded_by"]]["status"] == "confirmed"
            assert p["status"] != "confirmed"


def test_an_id_lasts_while_evidence_comes_in() -> None:
    """A confirmed pattern is known by the same id a week later."""
    for person in (ada(), creature_of_habit(7, weeks=WEEKS)):
        earlier = evaluate(person.observations, person.as_of - timedelta(days=7)).filter(status="confirmed")
        later = evaluate(person.observations, person.as_of)
        assert earlier.height >= 3
        lost = earlier.filter(~pl.col("id").is_in(later.get_column("id").implode()))
        assert lost.select("type", "statement", "rule").rows() == []


# --- truths ---------------------------------------------------------------------------------------------------

TYPES = {detector.type for detector in DETECTORS}
SEEDS = range(20, 24)


@pytest.fixture(scope="module")
def creatures() -> list[tuple[Person, pl.DataFrame]]:
    people = [creature_of_habit(seed, weeks=18) for seed in SEEDS]
    return [(p, evaluate(p.observations, p.as_of).filter(status="confirmed")) for p in people]


@pytest.mark.parametrize("type", sorted({"temporal", "preference", "relationship", "workflow", "avoidance"}))
def test_planted_habits_are_found(creatures: list[tuple[Person, pl.DataFrame]], type: str) -> None:
    if type not in TYPES:
        pytest.skip(f"no detector of {type} patterns yet")
    missed = [
        (truth, found.filter(type=type).get_column("statement").to_list())
        for person, found in creatures
        for truth in person.truths
        if truth.type == type and not any(states(rule, truth) for rule in rules(found.filter(type=type)))
    ]
    assert len(missed) <= 1, missed


def states(rule: dict[str, Any], truth: Truth) -> bool:
    """Whether a rule says what was planted, be it about the same events by another name."""
    if any(rule.get(name) != value for name, value in truth.says.items()):
        return False
    if truth.minute is not None:
        middle = int(rule["time"][:2]) * 60 + int(rule["time"][3:])
        return abs(middle - truth.minute) <= 10
    where = rule["steps"][-1] if "steps" in rule else rule["where"]
    return bool(where["type"] == truth.where["type"])


def test_each_habit_is_said_once(creatures: list[tuple[Person, pl.DataFrame]]) -> None:
    """About as many patterns as habits: six truths a person, and hardly one more."""
    counts = [found.height for _, found in creatures]
    assert np.mean(counts) <= len(creatures[0][0].truths) + 0.7, counts


def test_people_without_habits_have_none() -> None:
    """The promise: at most one person in twenty about whom anything false is confirmed."""
    frame = concat_observations(
        [nobody_in_particular(seed, user=f"n{seed:02d}").observations for seed in range(24)]
    )
    confirmed = evaluate(frame).filter(status="confirmed")
    assert confirmed.get_column("user_id").n_unique() <= 2, confirmed.select(
        "type", "statement", "p_value"
    ).rows()

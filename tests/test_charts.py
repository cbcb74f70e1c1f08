"""Charts show the data: their marks, encodings and values, for people with known habits and for no one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import altair as alt
import orjson
import polars as pl
import pytest

from observations.ingest.toolkit.record_builder import RecordBuilder
from observations.schema import empty_observations
from patterns.explain import Explanation, explain
from patterns.pattern_frame import PATTERNS
from patterns.registry import rule_of
from patterns.rules.where import Where
from patterns.rules.workflow_rule import WorkflowRule
from pipelines import charts
from pipelines.charts.lifecycle_chart import status_spans
from pipelines.charts.pattern_timeline import outcomes_by_week
from pipelines.charts.people_chart import shares_of_people
from pipelines.charts.week_chart import avoided_slots, hours_of_the_week
from pipelines.charts.workflow_chart import lags_of
from tests import simulate
from tests.simulate import wall

PERSON = simulate.creature_of_habit(seed=3, weeks=16)
NO_PATTERNS = pl.DataFrame(schema=dict(PATTERNS))


@pytest.fixture(scope="module")
def explained() -> Explanation:
    return explain(PERSON.observations)


@pytest.fixture(scope="module")
def nobody() -> Explanation:
    return explain(empty_observations())


def the(explanation: Explanation, type: str, about: str = "") -> dict[str, Any]:
    """The most confident pattern of a type whose sentence has the word."""
    found = explanation.patterns.filter(
        pl.col("type") == type, pl.col("statement").str.to_lowercase().str.contains(about)
    )
    return found.sort("confidence", descending=True).row(0, named=True)


def marks(spec: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], list[dict[str, Any]]]]:
    """Every mark of a chart, with its encodings and its rows."""
    for part in ("layer", "vconcat", "hconcat"):
        for inner in spec.get(part, ()):
            yield from marks({"data": spec.get("data"), "datasets": spec["datasets"], **inner})
    if "mark" in spec:
        yield spec["mark"]["type"], spec.get("encoding", {}), spec["datasets"][spec["data"]["name"]]


def drawn(chart: Any) -> ET.Element:
    return ET.fromstring(charts.to_svg(chart))


def titles(svg: ET.Element) -> list[str]:
    return [title.text or "" for title in svg.iter("{http://www.w3.org/2000/svg}title")]


# --- the week -------------------------------------------------------------------------------------------------


def test_the_week_counts_each_hour_of_each_kind_of_activity() -> None:
    hours = hours_of_the_week(PERSON.observations)
    own = PERSON.observations.filter(pl.col("type") == "music")
    tuesday = hours.filter(pl.col("panel") == "Practised music events", pl.col("day") == "Tue")
    at_seven = own.filter(pl.col("local").dt.hour() == 19, pl.col("local").dt.weekday() == 2).height
    assert tuesday.filter(pl.col("hour") == 19)["a_week"].to_list() == [pytest.approx(at_seven / 16)]
    assert tuesday.filter(pl.col("hour") == 19)["share"].to_list() == [1.0]
    assert hours["share"].is_between(0, 1).all()


def test_the_week_leaves_out_what_has_no_hour_and_what_an_agent_did() -> None:
    records = RecordBuilder()
    for hour, features, actor in ((9, {}, "user"), (9, {}, "agent"), (0, {"all_day": True}, "user")):
        records.add(
            type="calendar",
            action="created",
            local=wall(f"2026-03-02 {hour:02}:00"),
            tz="UTC",
            features=features,
            actor=actor,
        )
    assert hours_of_the_week(simulate.observations(records)).select("day", "hour", "a_week").rows() == [
        ("Mon", 9, 1.0)
    ]


def test_the_week_frames_the_slots_that_are_avoided(explained: Explanation) -> None:
    slots = avoided_slots(explained.patterns)
    avoidance = the(explained, "avoidance", "wednesday")
    rule = orjson.loads(avoidance["rule"])
    mine = slots.filter(pl.col("text") == avoidance["statement"])
    assert mine["day"].to_list() == ["Wed"]
    assert mine["begin"].to_list() == [int(rule["from"][:2]) + int(rule["from"][3:]) / 60]
    found = list(marks(charts.week(PERSON.observations, explained.patterns).to_dict()))
    framed = [rows for mark, encoding, rows in found if "opacity" not in encoding]
    assert {row["text"] for rows in framed for row in rows} == set(slots["text"])
    assert all(mark == "rect" for mark, _, _ in found)


def test_a_slot_without_one_kind_of_thing_is_no_empty_slot(explained: Explanation) -> None:
    avoidance = the(explained, "avoidance")
    rule = orjson.loads(avoidance["rule"]) | {"where": {"type": "calendar", "title": "Swim"}}
    narrowed = pl.DataFrame([avoidance | {"rule": orjson.dumps(rule).decode()}], schema=dict(PATTERNS))
    assert avoided_slots(narrowed).is_empty()


def test_an_avoidance_of_a_type_concerns_all_its_panels(explained: Explanation) -> None:
    rule = {"where": {"type": "email"}, "days": ["sunday"], "from": "00:00", "to": "24:00"}
    never = the(explained, "avoidance") | {
        "rule": orjson.dumps(rule).decode(),
        "statement": "Never on Sundays",
    }
    chart = charts.week(PERSON.observations, pl.DataFrame([never], schema=dict(PATTERNS)))
    framed = [panel["title"] for panel in chart.to_dict()["vconcat"] if len(panel["layer"]) == 2]
    assert sorted(framed) == ["Received mail", "Sent mail"]


def test_every_hour_of_the_week_can_be_pointed_at(explained: Explanation) -> None:
    shown = titles(drawn(charts.week(PERSON.observations, explained.patterns)))
    assert set(hours_of_the_week(PERSON.observations)["text"]) <= set(shown)


# --- one pattern ----------------------------------------------------------------------------------------------


def test_the_course_counts_every_opportunity_once(explained: Explanation) -> None:
    pattern = the(explained, "temporal", "swim")
    seen = explained.opportunities.filter(pl.col("pattern_id") == pattern["id"])
    weeks = outcomes_by_week(seen)
    by = dict(weeks.group_by("outcome").agg(pl.col("count").sum()).iter_rows())
    assert by["kept"] == seen["kept"].sum()
    assert by.get("missed", 0) == (~seen["kept"]).sum()
    assert weeks.filter(pl.col("outcome") == "missed")["signed"].le(0).all()
    assert (weeks["begin"].dt.weekday() == 1).all()


def test_the_course_has_confidence_thresholds_and_transitions(explained: Explanation) -> None:
    pattern = the(explained, "temporal", "swim")
    spec = charts.course(explained, pattern["id"]).to_dict()
    by_mark = {
        (mark, encoding["y"].get("field")): rows for mark, encoding, rows in marks(spec) if "y" in encoding
    }
    assert by_mark["line", "confidence"][-1]["confidence"] == pytest.approx(pattern["confidence"], abs=0.02)
    assert [row["confidence"] for row in by_mark["rule", "confidence"]] == [0.7, 0.3]
    changes = explained.journal.filter(pl.col("pattern_id") == pattern["id"])
    assert [row["after"] for row in by_mark["point", None]] == changes["after"].to_list()
    assert pattern["statement"] in spec["description"]


def test_the_course_ends_with_the_confidence_of_today(explained: Explanation) -> None:
    pattern = the(explained, "temporal", "swim")
    spec = charts.course(explained, pattern["id"], as_of=wall("2030-01-01 12:00")).to_dict()
    (line,) = (rows for mark, _, rows in marks(spec) if mark == "line")
    assert line[-1]["local"] == "2030-01-01T12:00:00"
    assert line[-1]["confidence"] == pattern["confidence"]


def test_years_of_outcomes_are_counted_by_the_month() -> None:
    days = pl.datetime_range(wall("2020-01-01"), wall("2024-01-01"), "1d", eager=True)
    seen = pl.DataFrame({"local": days, "kept": [True] * len(days)})
    assert outcomes_by_week(seen).height == 49


# --- workflows ------------------------------------------------------------------------------------------------


def test_lags_of_a_workflow_stand_out_from_chance(explained: Explanation) -> None:
    pattern = the(explained, "workflow", "fetch")
    rule = rule_of("workflow", pattern["rule"])
    assert isinstance(rule, WorkflowRule)
    lags = lags_of(PERSON.observations, rule)
    within = lags.filter("within")
    assert within["followed"].sum() == pytest.approx(pattern["support"] / pattern["opportunities"], abs=0.05)
    assert within["followed"].sum() > 3 * within["chance"].sum()
    assert lags["high"].max() == 2 * rule.within_minutes


def test_a_lag_is_in_the_band_of_its_minutes() -> None:
    records = RecordBuilder()
    for day in range(1, 11):
        for minute, program in ((0, "first"), (7, "second")):
            records.add(
                type="command",
                action="ran",
                local=wall(f"2026-03-{day:02} 10:{minute:02}"),
                tz="UTC",
                features={"program": program},
            )
    steps: list[Where] = [{"type": "command", "program": "first"}, {"type": "command", "program": "second"}]
    lags = lags_of(simulate.observations(records), WorkflowRule(steps=steps, within_minutes=10))
    assert lags.filter(pl.col("followed") > 0).select("low", "high", "followed").rows() == [(7.0, 8.0, 1.0)]


def test_a_workflow_names_its_steps(explained: Explanation) -> None:
    pattern = the(explained, "workflow", "fetch")
    spec = charts.workflow(PERSON.observations, explained.patterns, pattern["id"]).to_dict()
    (names,) = (
        rows for mark, encoding, rows in marks(spec) if encoding.get("text", {}).get("field") == "step"
    )
    assert [row["step"] for row in names][-1] == "runs fetch"
    assert {mark for mark, _, _ in marks(spec)} == {"rect", "text", "rule"}


# --- relationships --------------------------------------------------------------------------------------------


def test_share_and_lift_of_a_person_are_those_of_the_observations(explained: Explanation) -> None:
    pattern = the(explained, "relationship", "omar")
    (row,) = (
        shares_of_people(PERSON.observations, explained.patterns)
        .filter(pl.col("pattern_id") == pattern["id"])
        .to_dicts()
    )
    mail = PERSON.observations.filter(pl.col("type") == "email", pl.col("cc:list").is_not_null())
    with_omar = pl.col("cc:list").list.contains("omar@example.org")
    inside = mail.filter(pl.col("category:text") == "tax").select(with_omar.mean()).item()
    outside = mail.filter(pl.col("category:text") != "tax").select(with_omar.mean()).item()
    assert row["share"] == pytest.approx(inside)
    assert row["times"] == pytest.approx(inside / outside)


def test_relationships_show_share_and_lift_side_by_side(explained: Explanation) -> None:
    spec = charts.relationships(PERSON.observations, explained.patterns).to_dict()
    fields = {(mark, encoding["x"].get("field")) for mark, encoding, _ in marks(spec) if "x" in encoding}
    assert {("bar", "share"), ("tick", "elsewhere"), ("point", "drawn")} <= fields


# --- lifecycle and calibration --------------------------------------------------------------------------------


def test_the_spans_of_a_pattern_follow_each_other_without_a_gap(explained: Explanation) -> None:
    spans = status_spans(explained)
    assert set(spans["pattern_id"]) == set(explained.patterns["id"])
    following = spans.with_columns(next=pl.col("begin").shift(-1).over("pattern_id")).drop_nulls("next")
    assert (following["end"] == following["next"]).all()
    last = dict(spans.group_by("pattern_id", maintain_order=True).agg(pl.col("status").last()).iter_rows())
    assert last == dict(explained.patterns.select("id", "status").iter_rows())


def test_the_lifecycle_has_a_bar_for_every_span_and_a_sentence_for_every_pattern(
    explained: Explanation,
) -> None:
    found = {mark: rows for mark, _, rows in marks(charts.lifecycle(explained).to_dict())}
    assert len(found["rect"]) == status_spans(explained).height
    assert len(found["text"]) == explained.patterns.height


BINS = pl.DataFrame(
    {
        "low": [0.7, 0.8, 0.9],
        "high": [0.8, 0.9, 1.0],
        "confidence": [0.75, None, 0.94],
        "patterns": [4, 0, 10],
        "held": [2, 0, 9],
        "rate": [0.5, None, 0.9],
        "rate_low": [0.15, None, 0.6],
        "rate_high": [0.85, None, 0.98],
    }
)


def test_calibration_sets_claimed_against_what_came_true() -> None:
    found = {mark: (encoding, rows) for mark, encoding, rows in marks(charts.calibration(BINS).to_dict())}
    encoding, rows = found["point"]
    assert (encoding["x"]["field"], encoding["y"]["field"], encoding["size"]["field"]) == (
        "confidence",
        "rate",
        "patterns",
    )
    assert [(row["confidence"], row["rate"]) for row in rows] == [(0.75, 0.5), (0.94, 0.9)]
    interval, _ = found["rule"]
    assert (interval["y"]["field"], interval["y2"]["field"]) == ("rate_low", "rate_high")


# --- all of them ----------------------------------------------------------------------------------------------


def every_chart(observations: pl.DataFrame, explanation: Explanation, bins: pl.DataFrame) -> dict[str, Any]:
    patterns = explanation.patterns
    first = {
        type: (patterns.filter(pl.col("type") == type)["id"].to_list() or ["none"])[0]
        for type in ("temporal", "workflow")
    }
    return {
        "week": charts.week(observations, patterns),
        "course": charts.course(explanation, first["temporal"]),
        "workflow": charts.workflow(observations, patterns, first["workflow"]),
        "relationships": charts.relationships(observations, patterns),
        "lifecycle": charts.lifecycle(explanation),
        "calibration": charts.calibration(bins),
    }


NAMES = ("week", "course", "workflow", "relationships", "lifecycle", "calibration")


@pytest.mark.parametrize("name", NAMES)
def test_of_nothing_a_chart_says_that_there_is_nothing(name: str, nobody: Explanation) -> None:
    chart = every_chart(empty_observations(), nobody, BINS.clear())[name]
    ((mark, encoding, rows),) = marks(chart.to_dict())
    assert (mark, encoding["text"]["field"], len(rows)) == ("text", "text", 1)
    assert len(list(drawn(chart).iter("{http://www.w3.org/2000/svg}text"))) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_drawn_chart_is_one_picture_with_a_description(name: str, explained: Explanation) -> None:
    svg = drawn(every_chart(PERSON.observations, explained, BINS)[name])
    assert svg.get("role") == "img"
    assert len(svg.get("aria-label", "")) > 20
    assert titles(svg)
    assert not [e for e in svg.iter() if e is not svg and (e.get("role") or e.get("aria-label"))]
    written = ET.tostring(svg, encoding="unicode")
    assert "NaN" not in written
    assert "http" not in written.replace("http://www.w3.org/", "")


def test_charts_can_be_put_together(explained: Explanation) -> None:
    both = charts.lifecycle(explained) & charts.calibration(BINS)
    assert len(both.to_dict()["vconcat"]) == 2


def test_what_comes_from_the_data_is_escaped(explained: Explanation) -> None:
    hostile = explained.patterns.with_columns(statement=pl.lit('<script>alert("x")</script> & co'))
    svg = charts.to_svg(charts.lifecycle(replace(explained, patterns=hostile)))
    assert "<script" not in svg
    assert any('<script>alert("x")</script> & co' in title for title in titles(ET.fromstring(svg)))


def test_a_notebook_is_given_a_picture_without_script() -> None:
    assert alt.renderers.active == "habitus"
    bundle = charts.calibration(BINS)._repr_mimebundle_()
    shown = bundle[0] if isinstance(bundle, tuple) else bundle
    assert shown is not None
    assert "<svg" in shown["text/html"]
    assert "<script" not in shown["text/html"]
    assert "Confidence against" in shown["text/plain"]

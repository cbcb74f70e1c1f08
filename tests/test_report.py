"""The report is complete and self-contained, reveals no name when redacted, and stays small."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import orjson
import polars as pl
import pytest
from click.testing import CliRunner
from lxml import html

from observations.export import to_ndjson
from observations.ingest.toolkit.record_builder import RecordBuilder
from observations.schema import empty_observations
from patterns.explain import Explanation, explain
from patterns.model import Pattern
from patterns.pattern_frame import PATTERNS
from patterns.registry import rule_of
from pipelines.cli.main import main
from pipelines.detection import Detection, detect_in_frame
from pipelines.report.page import LARGEST, Findings, report_html
from pipelines.report.redaction import Names
from pipelines.report.summary_facts import Gap, changes, coverage, nearly_confirmed, timetable
from tests.simulate import FRIENDS, creature_of_habit, observations, wall

PERSON = creature_of_habit(seed=3, weeks=16)
BRIEF = creature_of_habit(seed=3, weeks=4).observations
HOSTILE = "<script>alert('x')</script> & \"co\""


@pytest.fixture(scope="module")
def found() -> Detection:
    return detect_in_frame(PERSON.observations)


@pytest.fixture(scope="module")
def text(found: Detection) -> str:
    return report_html(found)


@pytest.fixture(scope="module")
def page(text: str) -> html.HtmlElement:
    page: html.HtmlElement = html.fromstring(text)
    return page


def text_of(element: html.HtmlElement) -> str:
    return " ".join(element.text_content().split())


# --- what it holds --------------------------------------------------------------------------------------------


def test_every_pattern_has_a_card_with_its_figures(found: Detection, page: html.HtmlElement) -> None:
    cards = {
        text_of(card.xpath("summary/span[@class='says']")[0]): card
        for card in page.xpath("//details[@class='card']")
    }
    assert len(page.xpath("//details[@class='card']")) == found.frame.height
    for pattern in found.patterns:
        declared = " (in the calendar)" if pattern.source == "declared" else ""
        summary = text_of(cards[pattern.statement + declared].xpath("summary")[0])
        assert f"{pattern.support} of {pattern.opportunities}" in summary
        assert summary.endswith(f"{pattern.confidence:.2f}")


def test_confirmed_patterns_are_grouped_by_type_sentences_first(
    found: Detection, page: html.HtmlElement
) -> None:
    groups = page.xpath("//section[@class='group']")
    types = [{card.get("data-type") for card in group.xpath(".//details[@class='card']")} for group in groups]
    assert all(len(kinds) == 1 for kinds in types)
    assert {kind for kinds in types for kind in kinds} == {p.type for p in found.confirmed}
    assert all(
        summary[0].get("class") == "says" for summary in page.xpath("//details[@class='card']/summary")
    )


def test_what_is_tracked_says_what_it_lacks(found: Detection, page: html.HtmlElement) -> None:
    lacks = {text_of(near) for near in page.xpath("//p[@class='lacks']")}
    assert lacks == {f"lacks: {'; '.join(pattern.lacks)}" for pattern in found.tracking}


def test_the_evidence_of_a_pattern_unfolds(found: Detection, page: html.HtmlElement) -> None:
    swim = next(p for p in found.confirmed if "Swim on" in p.statement)
    card = next(c for c in page.xpath("//details[@class='card']") if swim.statement in text_of(c))
    assert card.xpath(".//svg[@class='hb-strip']")
    assert '"rrule": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"' in text_of(card)
    assert "confirmed, " in text_of(card.xpath(".//ol[@class='changes']")[0])
    assert text_of(card).count("Swim (") == 5


def test_the_sources_and_what_was_not_read_are_listed(tmp_path: Path) -> None:
    export = tmp_path / "events.ndjson"
    export.write_bytes(to_ndjson(PERSON.observations) + b"{not json\n")
    output = tmp_path / "habits.html"
    result = CliRunner().invoke(main, ["report", str(export), "-o", str(output), "--tz", "UTC"])
    assert result.exit_code == 0, result.output
    table = text_of(html.fromstring(output.read_text(encoding="utf-8")).xpath("//section[@id='sources']")[0])
    assert str(export) in table
    assert f"{PERSON.observations.height:,}" in table
    assert "1 reject: bad line" in table
    assert f"{export}:{PERSON.observations.height + 1}: " in table
    assert "patterns, 0." in result.stderr
    assert not list(tmp_path.glob(".*"))


# --- facts ----------------------------------------------------------------------------------------------------


def test_the_timetable_has_each_habit_on_its_days(found: Detection) -> None:
    week = dict(timetable(found.patterns).days)
    assert ("06:30", "Swim") in [(entry.when, entry.what) for entry in week["Monday"]]
    assert "Swim" not in [entry.what for entry in week["Saturday"]]
    assert [entry.what for entry in week["Wednesday"] if entry.never] == ["No events"]


def test_what_follows_the_month_stands_beside_the_week(found: Detection) -> None:
    swim = next(p for p in found.confirmed if "Swim on" in p.statement)
    monthly = swim.model_copy(update={"rule": {**swim.rule, "rrule": "FREQ=MONTHLY;BYMONTHDAY=1"}})
    assert timetable([monthly]).beyond == (swim.statement,)
    assert not timetable([])
    assert timetable([monthly])


def test_what_was_confirmed_lately_is_new(found: Detection) -> None:
    swim = next(p for p in found.confirmed if "Swim on" in p.statement)
    assert swim.confirmed_at is not None
    confirmed = swim.confirmed_at.replace(tzinfo=None)
    for days, new in ((1, [f"confirmed on {confirmed.day} {confirmed:%B}"]), (29, [])):
        recent = [c.text for c in changes(found.explanation, [swim], confirmed + timedelta(days=days)).new]
        assert recent == new


def _changed(found: Detection, **fields: object) -> Pattern:
    return found.confirmed[0].model_copy(update=fields)


def test_a_habit_with_an_heir_has_moved(found: Detection) -> None:
    heir, old = (
        found.confirmed[0],
        _changed(found, id="old", status="expired", superseded_by=found.confirmed[0].id),
    )
    journal = _journal(found, ("old", "confirmed", "expired"), (heir.id, "tracking", "confirmed"))
    recent = changes(journal, [old, heir], wall("2026-03-16 20:00"))
    assert [change.id for change in recent.moved] == ["old"]
    assert not recent.new
    assert not recent.fading


def test_a_habit_that_is_overdue_or_gone_is_fading(found: Detection) -> None:
    gone = _changed(found, id="gone", status="expired")
    recent = changes(_journal(found, ("gone", "confirmed", "expired")), [gone], wall("2026-03-16 20:00"))
    assert [change.text for change in recent.fading] == ["expired since 10 March: for a reason"]
    outlook = found.explanation.outlook.with_columns(
        next_due=pl.lit(wall("2026-03-01 12:00")), if_missed=pl.lit("confirmed")
    )
    late = replace(found.explanation, outlook=outlook)
    assert (
        changes(late, [found.confirmed[0]], wall("2026-05-16 20:00"))
        .fading[0]
        .text.startswith("was due by 1 March, last seen on ")
    )


def _journal(found: Detection, *rows: tuple[str, str, str]) -> Explanation:
    explanation = found.explanation
    one = explanation.journal.head(1)
    parts = [
        one.with_columns(
            pattern_id=pl.lit(id), before=pl.lit(before), after=pl.lit(after), local=pl.lit(wall("2026-03-10 12:00")),
            reason=pl.lit("for a reason"),
        )
        for id, before, after in rows
    ]  # fmt: skip
    return replace(explanation, journal=pl.concat(parts), outlook=explanation.outlook.clear())


def test_what_one_more_time_would_confirm_comes_first(found: Detection) -> None:
    tracked = list(found.tracking)
    last = min(tracked, key=lambda p: p.confidence)
    status = pl.when(pl.col("pattern_id") == last.id).then(pl.lit("confirmed")).otherwise(pl.lit("tracking"))
    explained = replace(found.explanation, outlook=found.explanation.outlook.with_columns(if_kept=status))
    ordered = nearly_confirmed(explained, found.patterns)
    assert ordered[0].id == last.id
    assert {p.id for p in ordered} == {p.id for p in tracked}


def test_what_lacks_little_comes_before_what_chance_explains(found: Detection) -> None:
    lacks = {
        "few": ("2 more Tuesdays",),
        "many": ("about 40 more days to rule out chance",),
        "seldom": ("kept 5 of 9 times: not reliably more than 60%",),
        "chance": ("too close to chance: 100% against 93%",),
    }
    tracked = [_changed(found, id=id, status="tracking", lacks=said) for id, said in lacks.items()]
    assert [p.id for p in nearly_confirmed(found.explanation, tracked[::-1])] == list(lacks)


def test_days_without_a_trace_are_named_where_they_are_many() -> None:
    records = RecordBuilder()
    for day in (1, 2, 3, 5, 6, 7, 8, 20, 21):
        records.add(
            type="calendar", action="created", local=wall(f"2026-03-{day:02} 09:00"), tz="UTC", features={}
        )
    covered = coverage(observations(records))
    assert covered.gaps == (Gap(date(2026, 3, 9), date(2026, 3, 19)),)
    assert (covered.gaps[0].days, covered.active, covered.days) == (11, 9, 21)


# --- redaction ------------------------------------------------------------------------------------------------


def test_a_redacted_report_has_no_word_of_the_data(found: Detection) -> None:
    page = report_html(found, redact=True)
    shown = re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)
    for word in (*FRIENDS, "ada", "Swim", "choir", "Attic", "Cellar", "fetch", "parcel", "hiring talk"):
        assert not re.search(rf"\b{re.escape(word)}\b", shown, re.IGNORECASE), word
    assert "Person 1" in shown
    assert re.search(r"Title [A-Z] on weekdays at 06:30", shown)


def test_redaction_changes_no_figure(found: Detection) -> None:
    numbers = pl.exclude("user_id", "rule", "statement")
    findings = Findings.of(found)
    assert (
        findings.redacted()
        .explanation.patterns.select(numbers)
        .equals(findings.explanation.patterns.select(numbers))
    )


def test_the_same_person_has_the_same_name_everywhere() -> None:
    names = Names()
    rule: dict[str, object] = {
        "where": {"type": "email", "category": "tax"},
        "feature": "cc",
        "value": "Omar@example.org",
    }

    def renamed(type: str, rule: dict[str, object]) -> dict[str, object]:
        return names.rule(rule_of(type, rule)).to_json()

    first = renamed("relationship", rule)
    assert first == {
        "where": {"type": "email", "category": "Category A"},
        "feature": "cc",
        "value": "Person 1",
    }
    steps: dict[str, object] = {
        "steps": [{"type": "email", "from": "omar@example.org"}, {"program": "fetch"}],
        "within_minutes": 5,
    }
    assert renamed("workflow", steps)["steps"] == [
        {"type": "email", "from": "Person 1"},
        {"program": "Command A"},
    ]
    assert renamed("relationship", rule) == first
    assert names.of("location", "12 High Street") == "Place A"


def test_steps_of_a_process_are_titles() -> None:
    names = Names()

    def renamed(where: dict[str, str]) -> object:
        return names.rule(rule_of("temporal", {"where": where, "rrule": "FREQ=DAILY"})).to_json()["where"]

    assert renamed({"type": "process", "action": "Check ticket"}) == {"type": "process", "action": "Action A"}
    assert renamed({"type": "email", "action": "sent"}) == {"type": "email", "action": "sent"}


def test_sources_of_a_redacted_report_have_no_names(tmp_path: Path) -> None:
    export = tmp_path / "private-name.ndjson"
    export.write_bytes(to_ndjson(PERSON.observations))
    arguments = ["report", str(export), "-o", "-", "--redact", "--tz", "UTC"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0
    assert "private-name" not in result.stdout
    assert "Source 1" in result.stdout


# --- the page itself ------------------------------------------------------------------------------------------


def test_what_comes_from_the_data_is_escaped(found: Detection) -> None:
    explanation = found.explanation
    rule = orjson.dumps({"where": {"title": HOSTILE}, "feature": "x", "value": HOSTILE}).decode()
    chosen = explanation.patterns.filter(pl.col("type") == "preference")
    hostile = replace(explanation, patterns=chosen.with_columns(statement=pl.lit(HOSTILE), rule=pl.lit(rule)))
    seen = PERSON.observations.with_columns(pl.lit(HOSTILE).alias("title:text"))
    page = report_html(replace(Findings.of(found), explanation=hostile, observations=seen), title=HOSTILE)
    assert "<script>alert" not in page
    assert HOSTILE in html.fromstring(page).xpath("//h1")[0].text_content()


def test_the_page_refers_to_nothing_outside_itself(text: str) -> None:
    assert not re.search(r"(?:src|href)=\"(?!#|data:)", text)
    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org/2000/svg)", text)
    inner = html.fromstring(text)
    targets = {link.get("href")[1:] for link in inner.xpath("//a[starts-with(@href, '#')]")}
    assert targets <= {element.get("id") for element in inner.xpath("//*[@id]")}


def test_the_page_has_landmarks_headings_captions_and_descriptions(page: html.HtmlElement) -> None:
    assert len(page.xpath("//main")) == len(page.xpath("//header")) == len(page.xpath("//h1")) == 1
    levels = [int(heading.tag[1]) for heading in page.xpath("//h1|//h2|//h3|//h4")]
    assert all(below <= above + 1 for above, below in pairwise(levels))
    assert all(table.xpath("caption") for table in page.xpath("//table"))
    assert all(svg.get("role") == "img" and svg.get("aria-label") for svg in page.xpath("//svg"))
    ids = [element.get("id") for element in page.xpath("//*[@id]")]
    assert len(ids) == len(set(ids))


def test_many_patterns_fold_and_the_page_stays_small(found: Detection) -> None:
    explanation = found.explanation
    many = pl.concat(
        [
            explanation.patterns.with_columns(id=pl.format("{}{}", "id", pl.lit(n)))
            for n in range(1200 // found.frame.height)
        ]
    )
    page = report_html(replace(Findings.of(found), explanation=replace(explanation, patterns=many)))
    assert len(page.encode()) <= LARGEST
    folds = html.fromstring(page).xpath("//details[@class='fold']")
    assert folds
    assert all(fold.get("open") is None for fold in folds)
    assert "more patterns are omitted" in page


def test_a_page_that_would_be_too_large_says_less(
    found: Detection, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = len(text.encode())
    monkeypatch.setattr("pipelines.report.page.LARGEST", whole // 2)
    assert len(report_html(found).encode()) <= whole // 2


def test_ten_people_have_a_part_each() -> None:
    several = pl.concat([BRIEF.with_columns(user_id=pl.lit(f"person {n}")) for n in range(3)])
    page = html.fromstring(report_html(detect_in_frame(several)))
    assert len(page.xpath("//article[@class='person']")) == 3
    assert [option.text for option in page.xpath("//select[@id='person']/option")] == [
        "everybody",
        *(f"person {n}" for n in range(3)),
    ]
    assert len(page.xpath("//section[@id='people']//tbody/tr")) == 3


def test_of_very_many_people_those_with_most_habits_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.report.page.PEOPLE", 2)
    monkeypatch.setattr("pipelines.report.page.PEOPLE_WITH_PICTURES", 1)
    several = pl.concat([BRIEF.with_columns(user_id=pl.lit(f"person {n}")) for n in range(3)])
    page = html.fromstring(report_html(detect_in_frame(several)))
    assert len(page.xpath("//article")) == 2
    assert len(page.xpath("//svg[contains(@aria-label, 'The week by hour')]")) == 1
    assert "1 more person is not on this page" in text_of(page)


def test_what_comes_after_the_evaluation_time_is_not_shown() -> None:
    """Neither are people who were not there yet."""
    later = PERSON.observations.with_columns(
        pl.col("at") + timedelta(days=300), pl.col("local") + timedelta(days=300), user_id=pl.lit("later")
    )
    both = pl.concat([PERSON.observations, later])
    page = html.fromstring(report_html(detect_in_frame(both, as_of=PERSON.as_of)))
    assert [text_of(name) for name in page.xpath("//article/h2")] == ["ada"]


def test_the_same_observations_in_any_order_give_the_same_page(text: str) -> None:
    shuffled = detect_in_frame(PERSON.observations.sample(fraction=1, shuffle=True, seed=1))
    assert report_html(shuffled) == text


def test_of_nothing_there_is_a_page_that_says_so() -> None:
    nothing = Explanation(pl.DataFrame(schema=dict(PATTERNS)), *(f.clear() for f in _empty_frames()))
    page = report_html(
        replace(
            Findings.of(detect_in_frame(PERSON.observations)),
            explanation=nothing,
            observations=empty_observations(),
        )
    )
    assert "There are no observations" in page


def _empty_frames() -> tuple[pl.DataFrame, ...]:
    explained = explain(PERSON.observations.head(0))
    return explained.opportunities, explained.journal, explained.outlook


def test_the_report_of_the_store_is_that_of_its_observations(tmp_path: Path) -> None:
    from pipelines.store import Store

    place = str(tmp_path / "habits.db")
    with Store(place) as store:
        store.add(PERSON.observations)
    output = tmp_path / "habits.html"
    arguments = [
        "report",
        "--db",
        place,
        "-o",
        str(output),
        "--as-of",
        PERSON.as_of.isoformat(),
        "--all-users",
    ]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    expected = detect_in_frame(PERSON.observations, as_of=PERSON.as_of)
    cards = html.fromstring(output.read_text(encoding="utf-8")).xpath("//details[@class='card']")
    assert len(cards) == expected.frame.height


def test_an_output_has_to_be_named() -> None:
    result = CliRunner().invoke(main, ["report", "x.ics"])
    assert result.exit_code == 2
    assert "Missing option '-o'" in result.stderr

"""Results in a notebook: figures of each pattern, nothing from the network, all data escaped."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from lxml import html

from observations.errors import SettingError
from observations.schema import empty_observations
from pipelines.detection import Detection, detect_in_frame
from pipelines.pattern_detail import Explained
from pipelines.store import ALL_USERS
from pipelines.wall_clock import wall_clock
from tests.simulate import creature_of_habit, nobody_in_particular

PERSON = creature_of_habit(seed=3, weeks=10)
HOSTILE = "<script>alert('x')</script> & \"co\""


@pytest.fixture(scope="module")
def found() -> Detection:
    return detect_in_frame(PERSON.observations)


@pytest.fixture(scope="module")
def swim(found: Detection) -> Explained:
    return found.explain(next(p for p in found.confirmed if "Swim on" in p.statement))


def text_of(page: str) -> str:
    return " ".join(html.fromstring(page).text_content().split())


def test_a_detection_shows_each_pattern_with_its_figures(found: Detection) -> None:
    table = html.fromstring(found._repr_html_())
    rows = table.xpath("//tbody/tr[td]")
    assert len(rows) == found.frame.height
    for row, pattern in zip(rows, found.patterns, strict=True):
        cells = [" ".join(cell.text_content().split()) for cell in row.xpath("td")]
        assert cells[0].startswith(pattern.statement)
        assert cells[1] == pattern.type
        assert cells[2].endswith(f"{pattern.confidence:.2f}")
        assert cells[3] == f"{pattern.support} of {pattern.opportunities}"
        assert cells[5:] == [pattern.status, str(pattern.last_seen.date())]
        (bar,) = row.xpath(".//svg[@class='hb-bar']")
        assert bar.get("aria-label").startswith(f"confidence {pattern.confidence:.2f}: count ")
        assert row.xpath(".//svg[@class='hb-spark']")[0].get("aria-label").startswith("kept ")


def test_what_a_pattern_lacks_stands_below_it(found: Detection) -> None:
    page = text_of(found._repr_html_())
    assert found.tracking
    for pattern in found.tracking:
        assert f"lacks: {'; '.join(pattern.lacks)}" in page


def test_many_patterns_fold_and_very_many_are_counted(found: Detection) -> None:
    many = pl.concat([found.frame] * (250 // found.frame.height + 1)).head(250)
    page = html.fromstring(replace(found, frame=many, basis=None)._repr_html_())
    assert len(page.xpath("/div/table/tbody/tr | //body/div/table/tbody/tr | /div/div/table//tr[td]")) == 20
    assert page.xpath("//details/summary")[0].text_content() == "200 more"
    assert len(page.xpath("//details//tr[td]")) == 200
    assert "30 more" in page.text_content()


def test_people_are_told_apart(found: Detection) -> None:
    both = pl.concat([PERSON.observations, creature_of_habit(seed=4, weeks=8, user="bea").observations])
    page = html.fromstring(detect_in_frame(both)._repr_html_())
    assert {heading.text_content() for heading in page.xpath("//th[@scope='rowgroup']")} == {"ada", "bea"}
    assert "rowgroup" not in found._repr_html_()


def test_what_the_store_says_shows_itself_too(tmp_path: Path) -> None:
    from pipelines.store import Store

    with Store(str(tmp_path / "habits.db")) as store:
        store.add(PERSON.observations)
        said = store.patterns(ALL_USERS, as_of=PERSON.as_of)
        assert "hb-spark" in said._repr_html_().partition("</style>")[2]
        assert said.explain(said.patterns[0]).opportunities.height > 0


def test_without_its_observations_a_detection_shows_all_but_the_weeks(found: Detection) -> None:
    bare = replace(found, basis=None)
    assert "hb-spark" not in re.sub("<style>.*?</style>", "", bare._repr_html_(), flags=re.DOTALL)
    with pytest.raises(SettingError, match="no longer available"):
        bare.explain(found.patterns[0])


def test_nothing_found_says_so() -> None:
    nothing = detect_in_frame(empty_observations())
    assert "No pattern repeats often enough yet" in nothing._repr_html_()
    assert "No pattern repeats often enough yet" in nothing._repr_markdown_()
    assert "0 confirmed" in nothing._repr_html_()


def test_a_person_without_habits_shows() -> None:
    assert "0 confirmed" in detect_in_frame(nobody_in_particular(seed=1, weeks=6).observations)._repr_html_()


def test_markdown_has_the_sentences(found: Detection) -> None:
    written = found._repr_markdown_()
    assert written.count("\n- **") == found.frame.height


def test_one_pattern_shows_its_days_its_course_and_its_rule(swim: Explained) -> None:
    page = html.fromstring(swim._repr_html_())
    said = " ".join(page.text_content().split())
    assert f"kept {swim.pattern.support} of {swim.pattern.opportunities} times" in said
    assert '"rrule": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"' in said
    assert len(page.xpath("//ol/li")) == swim.journal.height
    days = page.xpath("//svg[@class='hb-strip']//title")
    assert len(days) == swim.opportunities["local"].dt.date().n_unique()
    assert page.xpath("//svg[contains(@aria-label, 'confidence')]")
    assert swim._repr_markdown_().startswith("## Temporal")


def test_the_evidence_is_what_was_counted(swim: Explained) -> None:
    kept = swim.evidence.filter("kept")
    assert kept["title:text"].unique().to_list() == ["Swim"]
    assert kept.height == swim.pattern.support
    assert set(swim.pattern.evidence) <= set(kept["id"])


@pytest.mark.parametrize("pages", ["detection", "pattern"])
def test_what_comes_from_the_data_is_escaped(pages: str, found: Detection, swim: Explained) -> None:
    hostile = found.frame.with_columns(statement=pl.lit(HOSTILE), user_id=pl.lit(HOSTILE))
    if pages == "detection":
        page = replace(found, frame=hostile)._repr_html_()
    else:
        own = hostile.filter(pl.col("id") == swim.pattern.id)
        page = replace(swim, explanation=replace(swim.explanation, patterns=own))._repr_html_()
    assert "<script" not in page
    assert HOSTILE in html.fromstring(page).text_content()


def test_what_is_shown_needs_no_script_and_no_network(found: Detection, swim: Explained) -> None:
    for page in (found._repr_html_(), swim._repr_html_()):
        assert "<script" not in page
        assert not re.search(r"https?://(?!www\.w3\.org)|@import|url\(", page)


def test_a_pattern_is_found_by_the_beginning_of_its_id(found: Detection, swim: Explained) -> None:
    assert found.explain(swim.pattern.id[:10]).pattern == swim.pattern
    with pytest.raises(SettingError, match=r"no pattern here whose id begins with 'zz'"):
        found.explain("zz")
    with pytest.raises(SettingError, match=rf"{found.frame.height} patterns here"):
        found.explain("")


def test_the_wall_clock_of_an_instant_is_that_of_the_person() -> None:
    """Lisbon is an hour ahead of UTC in March's last days."""
    newest = PERSON.observations.sort("at").row(-1, named=True)
    assert wall_clock(PERSON.observations, None) == newest["local"]
    assert wall_clock(PERSON.observations, newest["at"]) == newest["local"]

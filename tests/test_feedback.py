"""Feedback is stored beside observed patterns, takes precedence over them, and changes nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from observations.errors import SettingError
from observations.ingest.toolkit.record_builder import RecordBuilder
from observations.schema import concat_observations
from patterns.candidates import PatternType
from patterns.model import Pattern
from patterns.registry import rule_of
from pipelines import Store, detect
from pipelines.cli.main import main
from pipelines.store import ALL_USERS
from tests import simulate
from tests.simulate import START, every, observations

regular = partial(simulate.regular, user="me")

MONDAYS_AND_THURSDAYS = [day for day in every(1, 56) if day.weekday() in (0, 3)]
TEA = regular("Tea", MONDAYS_AND_THURSDAYS)
"""Confirmed, and the only pattern in it."""

RUN = regular("Run", every(1, 56), "12:00")

YOGA = regular("Yoga", every(7, 4, START + timedelta(days=1)), "18:00")
"""Four Tuesdays: not confirmed yet."""

END = datetime(2026, 3, 2, 8, tzinfo=UTC)


@dataclass
class Diary:
    """A store with a clock that is set by hand."""

    store: Store
    now: list[datetime] = field(default_factory=list)

    def at(self, moment: datetime) -> Store:
        self.now[0] = moment
        return self.store

    def one(self, sentence: str) -> Pattern:
        return next(p for p in self.store.patterns().patterns if sentence in p.statement)

    def sentences(self) -> list[str]:
        return [p.statement for p in self.store.patterns().patterns]


@pytest.fixture
def diary(tmp_path: Path) -> Iterator[Diary]:
    now = [END]
    with Store(tmp_path / "habits.db", clock=lambda: now[0]) as store:
        yield Diary(store, now)


def drinks(chosen: list[str], start: date = START) -> pl.DataFrame:
    """One drink a day."""
    records = RecordBuilder()
    for number, drink in enumerate(chosen):
        local = datetime.combine(start + timedelta(days=number), datetime.min.time()) + timedelta(
            hours=7 + number % 12, minutes=number * 7 % 60
        )
        records.add("drink", "had", local=local, tz="UTC", user_id="me", features={"beverage": drink})
    return observations(records)


COFFEE = drinks((["coffee"] * 9 + ["tea"]) * 5)


# --- remember -------------------------------------------------------------------------------------------------


def test_what_is_remembered_is_confirmed_and_does_not_decay(diary: Diary) -> None:
    diary.store.observe(TEA)
    said = diary.store.remember("prefers tea")
    assert (said.user_id, said.source, said.status, said.confidence) == ("me", "explicit", "confirmed", 1.0)
    assert said.statement == "Prefers tea"
    later = diary.at(END + timedelta(days=3_000)).patterns().patterns
    assert [p for p in later if p.source == "explicit"] == [said]


def test_it_ends_when_it_was_said_to(diary: Diary) -> None:
    diary.store.remember("no sugar", user="me", until=END + timedelta(days=10))
    assert diary.at(END + timedelta(days=9)).patterns("me").confirmed
    (over,) = diary.at(END + timedelta(days=10)).patterns("me").patterns
    assert (over.status, over.confidence) == ("expired", 0.0)
    assert over.expired_at == END + timedelta(days=10)


def test_a_notebook_shows_it(diary: Diary) -> None:
    diary.store.observe(TEA)
    diary.store.remember("prefers tea")
    assert "Prefers tea" in diary.store.patterns(ALL_USERS)._repr_html_()


def test_the_same_words_are_one_pattern_and_can_be_taken_back(diary: Diary) -> None:
    once = diary.store.remember("prefers tea", user="me")
    again = diary.store.remember("  Prefers\n TEA", user="me")
    assert once.id == again.id
    assert len(diary.store.patterns(ALL_USERS).patterns) == 1
    diary.store.remember("prefers tea", undo=True)
    assert diary.store.patterns(ALL_USERS).patterns == ()
    with pytest.raises(SettingError, match="has no pattern with an id that begins with"):
        diary.store.remember("prefers tea", undo=True)


def test_it_is_that_of_one_person(diary: Diary) -> None:
    diary.store.observe(concat_observations([TEA, regular("Tea", MONDAYS_AND_THURSDAYS, user="bea")]))
    before = [p for p in diary.store.patterns(ALL_USERS).patterns if p.user_id == "bea"]
    diary.store.remember("prefers tea", user="me")
    diary.store.dismiss(diary.one("Tea on").id)
    assert [p for p in diary.store.patterns(ALL_USERS).patterns if p.user_id == "bea"] == before
    assert [p.statement for p in diary.store.patterns("me").patterns] == ["Prefers tea"]


def test_a_secret_is_not_remembered(diary: Diary) -> None:
    said = diary.store.remember("logs in with --password hunter2", user="me")
    assert "hunter2" not in said.statement
    diary.store.close()
    assert all(
        b"hunter2" not in path.read_bytes() for path in Path(diary.store.database.place).parent.iterdir()
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text is empty"),
        (" \n\u200b", "the text is empty"),
        ("x" * 201, "has 201 char"),
    ],
)
def test_what_is_no_sentence_is_refused(diary: Diary, text: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        diary.store.remember(text)
    assert diary.store.people() == []


def test_an_end_in_the_past_is_refused(diary: Diary) -> None:
    with pytest.raises(SettingError, match=r"`until` 2026-03-01 08:00 is in the past"):
        diary.store.remember("prefers tea", until=END - timedelta(days=1))


@pytest.mark.parametrize(
    ("type", "rule", "message"),
    [
        ("preference", {"where": {}, "feature": "drink"}, "value: Field required"),
        ("preference", {"where": {}, "feature": "size", "min": 3.0, "max": 1.0}, "min is not above max"),
        ("preference", {"where": {}, "feature": "drink", "value": "tea", "more": 1}, "more: Extra inputs"),
        (
            "temporal",
            {"where": {}, "rrule": "FREQ=SECONDLY", "time": "07:00", "tolerance_minutes": 5},
            "FREQ is one of",
        ),
        (
            "temporal",
            {"where": {}, "rrule": "FREQ=DAILY", "time": "7", "tolerance_minutes": 5},
            "time: String should",
        ),
        (
            "avoidance",
            {"where": {}, "days": ["someday"], "from": "08:00", "to": "24:00"},
            r"days\.0: Input should",
        ),
        ("workflow", {"steps": [{}], "within_minutes": 5}, "steps: List should"),
        ("relationship", {"where": {}, "feature": "cc", "value": 5}, "value: Input should"),
    ],
)
def test_a_rule_that_is_none_is_refused_in_words(
    diary: Diary, type: PatternType, rule: dict[str, object], message: str
) -> None:
    with pytest.raises(SettingError, match=rf"`rule` is not an? {type} rule: {message}"):
        diary.store.remember("does so", type, rule=rule)


# --- doubts ---------------------------------------------------------------------------------------------------


def test_behaviour_doubts_a_preference_and_does_not_overrule_it(diary: Diary) -> None:
    diary.store.observe(COFFEE)
    rule = {"where": {"type": "drink"}, "feature": "beverage", "value": "tea"}
    said = diary.store.remember("prefers tea", rule=rule)
    assert said.status == "confirmed"
    assert said.doubts == (
        "kept 5 of 50 times in the last 90 days",
        "confirmed: Prefers beverage coffee for had drink events (45 of 50 times)",
    )


def test_words_without_a_rule_are_compared_with_the_choices_that_were_seen(diary: Diary) -> None:
    diary.store.observe(COFFEE)
    assert diary.store.remember("prefers tea").doubts == (
        "confirmed: Prefers beverage coffee for had drink events (45 of 50 times)",
    )
    assert diary.store.remember("prefers coffee").doubts == ()
    assert diary.store.remember("prefers tear-off calendars").doubts == ()
    assert diary.store.remember("prefers juice").doubts == ()  # never seen: nothing is known about it


def test_a_time_that_is_avoided_is_doubtful(diary: Diary) -> None:
    diary.store.observe(TEA)
    never = {"where": {"type": "calendar"}, "days": ["monday"], "from": "06:00", "to": "08:00"}
    said = diary.store.remember("never anything before eight on Mondays", "avoidance", rule=never)
    assert said.doubts[-1] == "confirmed: Tea on Mondays and Thursdays at 07:00 (16 of 16 times)"
    fine = {**never, "from": "08:00", "to": "09:00"}
    assert diary.store.remember("never anything after eight", "avoidance", rule=fine).doubts == ()


def test_what_agrees_is_not_doubtful(diary: Diary) -> None:
    diary.store.observe(TEA)
    rule = {
        "where": {"type": "calendar", "title": "Tea"},
        "rrule": "FREQ=WEEKLY;BYDAY=MO",
        "time": "07:05",
        "tolerance_minutes": 15,
    }
    assert diary.store.remember("tea on Mondays", "temporal", rule=rule).doubts == ()


# --- confirm --------------------------------------------------------------------------------------------------


def test_what_the_person_confirms_is_confirmed_whatever_the_count(diary: Diary) -> None:
    diary.at(datetime(2026, 1, 28, tzinfo=UTC)).observe(YOGA)
    tracked = diary.one("Yoga")
    assert tracked.status == "tracking"
    said = diary.store.confirm(tracked.id[:6])
    assert (said.status, said.source, said.words, said.lacks) == ("confirmed", "observed", ("confirmed",), ())
    assert (said.confidence, said.support, said.p_value) == (
        tracked.confidence,
        tracked.support,
        tracked.p_value,
    )
    assert said.confirmed_at == datetime(2026, 1, 28, tzinfo=UTC)
    assert "Yoga" in diary.store.profile().markdown()
    assert diary.store.confirm(tracked.id, undo=True) == tracked
    with pytest.raises(SettingError, match="is not confirmed; there is nothing to undo"):
        diary.store.confirm(tracked.id, undo=True)


def test_what_was_confirmed_and_does_not_stand_out_any_more_stays(diary: Diary) -> None:
    diary.at(datetime(2026, 1, 28, tzinfo=UTC)).observe(YOGA)
    said = diary.store.confirm(diary.one("Yoga").id)
    later = diary.at(datetime(2027, 1, 28, tzinfo=UTC))
    assert detect(YOGA, as_of=datetime(2027, 1, 28, tzinfo=UTC)).patterns == ()
    assert later.patterns(ALL_USERS).patterns == (said,)
    assert later.show(said.id).behind is None


def test_who_confirms_a_habit_does_not_say_that_it_never_ends(diary: Diary) -> None:
    diary.store.observe(TEA)
    diary.store.confirm(diary.one("Tea").id)
    diary.at(END + timedelta(days=200))
    assert diary.one("Tea").status == "expired"
    diary.store.confirm(diary.one("Tea").id)
    assert diary.one("Tea").status == "confirmed"


# --- dismiss --------------------------------------------------------------------------------------------------


def test_what_is_dismissed_is_in_no_answer(diary: Diary) -> None:
    diary.store.observe(TEA)
    tea = diary.one("Tea")
    assert diary.store.dismiss(tea.id).words == ("dismissed",)
    assert diary.store.patterns(ALL_USERS).patterns == ()
    assert "Tea" not in diary.store.profile().markdown()
    assert diary.store.predict(ALL_USERS) == []
    assert diary.store.show(tea.id).pattern.words == ("dismissed",)
    assert diary.store.dismiss(tea.id, undo=True) == tea
    assert diary.sentences() == [tea.statement]


def test_what_is_dismissed_is_not_told_in_the_stream(diary: Diary) -> None:
    diary.store.observe(concat_observations([TEA, RUN]))
    diary.store.dismiss(diary.one("Tea").id)
    diary.at(END + timedelta(days=200))
    assert [(change.statement.split()[0], change.after) for change in diary.store.changes()] == [
        ("Run", "expired")
    ]


def test_nor_is_it_reported_provisionally(diary: Diary) -> None:
    """Four Tuesdays of yoga: the fifth confirms it, which is reported at once unless it was dismissed."""
    days = every(1, 30)
    there = [regular(f"x{day}", [day], "12:00") for day in days]
    diary.at(datetime(2026, 1, 28, tzinfo=UTC)).observe(concat_observations([YOGA, *there]))
    fifth = regular("Yoga", [date(2026, 2, 3)], "18:00")
    diary.at(datetime(2026, 2, 3, 18, 5, tzinfo=UTC)).add(fifth)
    assert [change.after for change in diary.store.provisional_changes(fifth)] == ["confirmed"]
    diary.store.dismiss(diary.one("Yoga").id)
    assert diary.store.provisional_changes(fifth) == []


def test_it_is_not_proposed_again_from_the_same_evidence_under_another_id(diary: Diary) -> None:
    """An older calendar comes in: what the habit began with changes, and its id."""
    diary.store.observe(TEA)
    tea = diary.one("Tea")
    diary.store.dismiss(tea.id)
    older = [day - timedelta(days=56) for day in MONDAYS_AND_THURSDAYS]
    diary.store.observe(regular("Tea", older))
    known = detect(diary.store.observations(ALL_USERS), as_of=END).patterns
    assert [p.id != tea.id for p in known] == [True]
    assert diary.store.patterns(ALL_USERS).patterns == ()


def test_it_comes_back_when_what_came_after_would_confirm_it_alone(diary: Diary) -> None:
    diary.store.observe(TEA)
    diary.store.dismiss(diary.one("Tea").id)
    hidden = []
    for day in [day for day in every(1, 42, date(2026, 3, 5)) if day.weekday() in (0, 3)]:
        diary.at(datetime.combine(day, datetime.min.time(), UTC) + timedelta(hours=12))
        diary.store.observe(regular("Tea", [day]))
        hidden.append(diary.sentences() == [])
    alone = detect(diary.store.observations(ALL_USERS).filter(pl.col("at") > END))
    assert alone.confirmed
    assert hidden == sorted(hidden, reverse=True)  # hidden for a while, then not any more
    assert sum(hidden) >= 4
    assert not hidden[-1]


def test_a_changed_habit_is_another(diary: Diary) -> None:
    diary.store.observe(TEA)
    diary.store.dismiss(diary.one("Tea").id)
    later = [day + timedelta(days=56) for day in MONDAYS_AND_THURSDAYS]
    diary.at(END + timedelta(days=56)).observe(regular("Tea", later, "18:00"))
    assert "Tea on Mondays and Thursdays at 18:00" in diary.sentences()


def test_confirming_takes_a_dismissal_back_and_the_other_way_round(diary: Diary) -> None:
    diary.store.observe(TEA)
    tea = diary.one("Tea")
    diary.store.dismiss(tea.id)
    assert diary.store.confirm(tea.id).words == ("confirmed",)
    assert diary.store.dismiss(tea.id).words == ("dismissed",)


def test_what_was_remembered_can_be_dismissed(diary: Diary) -> None:
    diary.store.dismiss(diary.store.remember("prefers tea", user="me").id)
    assert diary.store.patterns("me").patterns == ()


# --- pin, time, nothing said ----------------------------------------------------------------------------------


def test_what_is_pinned_comes_first(diary: Diary) -> None:
    diary.store.observe(concat_observations([TEA, RUN]))
    assert diary.store.profile().entries[0].statement.startswith("Run")
    diary.store.pin(diary.one("Tea").id)
    assert [entry.statement.split()[0] for entry in diary.store.profile().entries] == ["Tea", "Run"]
    diary.store.remember("prefers tea")
    assert [e.statement.split()[0] for e in diary.store.profile().entries] == ["Prefers", "Tea", "Run"]
    diary.store.pin(diary.one("Tea").id, undo=True)
    assert diary.store.profile().entries[1].statement.startswith("Run")


def test_before_it_was_said_it_was_not_said(diary: Diary) -> None:
    diary.store.observe(TEA)
    yesterday = END - timedelta(days=1)
    before = diary.store.patterns(ALL_USERS, as_of=yesterday).to_ndjson()
    diary.store.dismiss(diary.one("Tea").id)
    diary.store.remember("prefers tea")
    assert diary.store.patterns(ALL_USERS, as_of=yesterday).to_ndjson() == before


def test_where_all_was_taken_back_the_answer_is_that_of_detect_to_the_byte(diary: Diary) -> None:
    diary.store.observe(TEA)
    tea = diary.one("Tea").id
    diary.store.pin(tea)
    diary.store.pin(tea, undo=True)
    diary.store.dismiss(tea)
    diary.store.dismiss(tea, undo=True)
    assert diary.store.patterns(ALL_USERS).to_ndjson() == detect(TEA, as_of=END).to_ndjson()


def test_words_stand_in_the_history(diary: Diary) -> None:
    diary.store.observe(TEA)
    tea = diary.one("Tea").id
    diary.at(END + timedelta(hours=1)).pin(tea)
    journal = diary.store.history(tea)
    assert journal.get_column("after").to_list() == ["tracking", "confirmed", "pinned"]
    assert journal.row(-1, named=True)["reason"] == "feedback of the user"


GYM = {"where": {"title": "Gym"}, "rrule": "FREQ=WEEKLY;BYDAY=MO", "time": "07:00", "tolerance_minutes": 10}
SLOT = {"where": {}, "days": ["friday"], "from": "12:00", "to": "18:00"}
BAND = {"where": {}, "feature": "size", "min": 1.0, "max": 3.0}


@pytest.mark.parametrize(
    ("type", "one", "change", "same"),
    [
        ("temporal", GYM, {"time": "07:20"}, True),
        ("temporal", GYM, {"time": "07:21"}, False),
        ("temporal", {**GYM, "time": "23:55"}, {"time": "00:05"}, True),
        ("temporal", GYM, {"rrule": "FREQ=DAILY"}, True),
        ("temporal", GYM, {"rrule": "FREQ=WEEKLY;BYDAY=TU"}, False),
        ("temporal", GYM, {"rrule": "FREQ=MONTHLY;BYDAY=-1MO"}, True),
        ("temporal", GYM, {"where": {"title": "Run"}}, False),
        ("avoidance", SLOT, {"from": "17:00", "to": "24:00"}, True),
        ("avoidance", SLOT, {"from": "18:00", "to": "24:00"}, False),
        ("avoidance", SLOT, {"days": ["monday"]}, False),
        ("preference", BAND, {"min": 3.0, "max": 9.0}, True),
        ("preference", BAND, {"min": 4.0, "max": 9.0}, False),
    ],
)
def test_rules_are_of_one_behaviour_where_what_may_drift_overlaps(
    type: str, one: dict[str, object], change: dict[str, object], same: bool
) -> None:
    before, after = rule_of(type, one), rule_of(type, {**one, **change})
    assert before.is_same(after) is same
    assert after.is_same(before) is same


# --- on the command line --------------------------------------------------------------------------------------


def run(folder: Path, *words: str) -> Result:
    when = ["--db", str(folder / "habits.db"), "--as-of", "2026-03-02T08:00Z"]
    return CliRunner().invoke(main, [words[0], *words[1:], *when])


def test_words_on_the_command_line(tmp_path: Path) -> None:
    with Store(tmp_path / "habits.db", clock=lambda: END) as store:
        store.observe(TEA)
    said = run(tmp_path, "remember", "prefers tea")
    assert said.exit_code == 0
    assert said.stdout.endswith("  Prefers tea: remembered\n")
    id = run(tmp_path, "patterns", "--type", "temporal").stdout.splitlines()[1].split()[0]
    for verb, done in (("pin", "pinned"), ("confirm", "confirmed"), ("dismiss", "dismissed")):
        assert run(tmp_path, verb, id).stdout.endswith(f"07:00: {done}\n")
    assert "Tea on" not in run(tmp_path, "patterns").stdout
    assert "(stated)" in run(tmp_path, "patterns").stdout
    assert run(tmp_path, "dismiss", id, "--undo").stdout.endswith(": no longer dismissed\n")
    assert "Tea on" in run(tmp_path, "patterns").stdout


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["remember"], 2, "Missing argument 'TEXT'"),
        (["remember", "x", "--type", "habit"], 2, "unknown pattern type 'habit'"),
        (
            ["remember", "x", "--rule", "{"],
            1,
            "Error: --rule is not a preference rule: unexpected end of data",
        ),
        (["remember", "x", "--until", "soon"], 1, "Error: --until takes a date or time"),
        (["dismiss", "zzz"], 1, "Error: user 'me' has no pattern with an id that begins with 'zzz'"),
        (
            ["pin", "zzz", "--user", "nobody"],
            1,
            "Error: user 'nobody' has no pattern with an id that begins with 'zzz'",
        ),
        (["confirm"], 2, "Missing argument 'ID'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path, words: list[str], status: int, message: str
) -> None:
    result = run(tmp_path, *words)
    assert result.exit_code == status
    assert message in result.stderr
    assert "Traceback" not in result.output


EVERY_DAY = {"where": {"title": "Tea"}, "rrule": "FREQ=WEEKLY;BYDAY=MO,TH"}


def test_a_remembered_rule_of_any_shape_is_counted_explained_and_predicted(tmp_path: Path) -> None:
    """No detector proposes days without a time; a stated rule is compared with behavior all the same."""
    with Store(tmp_path / "habits.db", clock=lambda: END) as store:
        store.observe(TEA)
        tea = store.remember("tea on Mondays and Thursdays", "temporal", rule=EVERY_DAY)
        assert (tea.support, tea.opportunities) == (16, 16)
        assert tea.rate_interval[0] > 0.8
        ahead = [p for p in store.predict("me", days=7) if p.pattern_id == tea.id]
        assert [f"{p.at:%a}" for p in ahead] == ["Thu", "Mon"]  # this Monday is kept already
    shown = run(tmp_path, "show", tea.id)
    assert shown.exit_code == 0, shown.output
    assert "the rule was kept 16 of 16 times" in " ".join(shown.stdout.split())

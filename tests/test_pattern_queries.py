"""Queries of the store: the patterns of ``detect``, the evidence and the history of one, at any time."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result
from freezegun import freeze_time

from observations.errors import SettingError
from observations.export import to_ndjson
from observations.ingest.toolkit.record_builder import RecordBuilder
from observations.schema import concat_observations
from pipelines import Store
from pipelines.cli.main import main
from pipelines.store import ALL_USERS
from tests.simulate import creature_of_habit, every, observations, regular

WHEN = "2026-03-02T08:00Z"
END = datetime.fromisoformat(WHEN)
ADA = creature_of_habit(1, weeks=6)
TEA = regular("Tea", [day for day in every(1, 56) if day.weekday() in (0, 3)])
TEA = TEA.filter(pl.col("local").dt.date() != pl.lit("2026-02-05").str.to_date())


GOLDEN_SHOW = """\
Tea on Mondays and Thursdays at 07:00
confirmed · temporal · observed · of ada · id 790ce2f9e1d4a5ec
"""


def run(folder: Path, *words: str, when: str = WHEN, **environment: str) -> Result:
    place = ["--db", str(folder / "habits.db")]
    return CliRunner().invoke(main, [*words, *place, "--as-of", when], env=environment, terminal_width=100)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store of two people and the same observations as a file."""
    both = concat_observations([ADA.observations.with_columns(user_id=pl.lit("bea")), TEA, _more_for_ada()])
    (tmp_path / "log.ndjson").write_bytes(to_ndjson(both))
    with Store(tmp_path / "habits.db", clock=lambda: END) as store:
        store.observe(both)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def _more_for_ada() -> pl.DataFrame:
    """Something on the Thursday on which there was no tea: a day without any trace would be no opportunity."""
    return regular("Dentist", [datetime(2026, 2, 5).date()], "15:00")  # noqa: DTZ001  a date


# --- patterns -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", [WHEN, "2026-02-01", "2026-05-01T12:00+02:00"])
@pytest.mark.parametrize("form", ["ndjson", "json", "markdown"])
def test_patterns_prints_what_detect_prints(folder: Path, when: str, form: str) -> None:
    asked = ["--status", "all", "--format", form, "--as-of", when]
    stored = CliRunner().invoke(main, ["patterns", "--db", "habits.db", "--all-users", *asked])
    read = CliRunner().invoke(main, ["detect", "log.ndjson", *asked])
    assert (stored.exit_code, read.exit_code) == (0, 0)
    assert stored.stdout == read.stdout
    assert stored.stdout
    assert stored.stderr.split(":")[-1] == read.stderr.split(":")[-1]  # so many of each status


def test_one_person_one_type_one_status(folder: Path) -> None:
    lines = run(folder, "patterns", "--user", "bea", "--type", "temporal", "--format", "ndjson").stdout
    found = [json.loads(line) for line in lines.splitlines()]
    assert {(p["user_id"], p["type"], p["status"]) for p in found} == {("bea", "temporal", "confirmed")}
    assert found


def test_a_table_begins_with_ids_that_tell_them_apart(folder: Path) -> None:
    lines = run(folder, "patterns", "--user", "bea", "--status", "all").stdout.splitlines()
    ids = [word for word in (line.split(" ")[0] for line in lines) if re.fullmatch("[0-9a-f]{6,}", word)]
    assert len(set(ids)) == len(ids) >= 10
    assert [run(folder, "show", id, "--user", "bea").exit_code for id in (ids[0], ids[-1])] == [0, 0]


def test_nothing_is_read_of_what_came_later(folder: Path) -> None:
    with Store(folder / "habits.db") as store:
        store.add(regular("Later", every(1, 30, END.date() + timedelta(days=1)), "20:00", user="ada"))
    assert "Later" not in run(folder, "patterns", "--user", "ada", "--status", "all").stdout
    assert "Later" in run(folder, "patterns", "--user", "ada", when="2026-04-02").stdout


@freeze_time("2026-03-02T08:00:00Z")
def test_now_is_the_machines(folder: Path) -> None:
    plain = CliRunner().invoke(main, ["patterns", "--db", "habits.db", "--all-users", "--format", "ndjson"])
    assert plain.stdout == run(folder, "patterns", "--all-users", "--format", "ndjson").stdout


# --- show -----------------------------------------------------------------------------------------------------


def test_golden_show(folder: Path) -> None:
    """Every figure of it can be worked out by hand: sixteen due days, one of them missed."""
    result = run(folder, "show", "790ce2", "--user", "ada")
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert "\n".join(lines[:2]) + "\n" == GOLDEN_SHOW
    text = "\n".join(lines)
    for said in (
        "consistency             0.94  × 0.3: 15 / 16",
        "span                    1.00  × 0.1: 52 days / 14, at most 1",
        "kept                 15 of 16  will be kept at a rate between 74% and 99% next time (95 % interval)",
        "evidence (the last 10 of 15)\n  Thu 2026-02-26 07:00  Tea\n",
        "counter-examples (1)\n  Thu 2026-02-05        nothing by 07:10\n",
        "was due by Monday 2 March 2026, 07:10",
    ):
        assert _squeezed(said) in _squeezed(text)
    assert any(line.startswith("  expires on") and line.endswith("March unless seen") for line in lines)
    assert [line for line in lines if line.startswith("Thu  ")] == ["Thu  ■■■■×■■■·"]
    assert [line for line in lines if line.startswith("Mon  ")] == ["Mon  ■■■■■■■■·"]


def _squeezed(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def test_the_confidence_is_the_sum_that_is_shown(folder: Path) -> None:
    for word in ("Swim", "omar", "fetch", "Attic"):
        found = run(folder, "patterns", "--user", "bea", "--format", "ndjson").stdout.splitlines()
        pattern = next(p for p in map(json.loads, found) if word in p["statement"])
        shown = run(folder, "show", pattern["id"], "--user", "bea").stdout
        line = next(line for line in shown.splitlines() if line.startswith("confidence"))
        total, terms = line.split()[1], line.split("(")[1]
        sum_shown, decay = terms.split(")")
        value = sum(
            float(a) * float(b) for a, b in (term.split(" × ") for term in sum_shown.split(" + "))
        ) * float(decay.replace("×", ""))
        assert float(total) == pytest.approx(value, abs=0.02)


def test_what_one_more_would_do_is_said(tmp_path: Path) -> None:
    """Four Tuesdays: the fifth confirms. (The person was there on other days as well.)"""
    days = every(1, 30)
    with Store(tmp_path / "habits.db", clock=lambda: END) as store:
        store.observe(
            concat_observations(
                [regular("Yoga", days[1::7][:4], "18:00"), *(regular(f"x{d}", [d], "12:00") for d in days)]
            )
        )
    when = "2026-01-28T08:00Z"
    listed = run(
        tmp_path, "patterns", "--user", "ada", "--status", "tracking", "--format", "ndjson", when=when
    ).stdout
    id = next(p["id"] for p in map(json.loads, listed.splitlines()) if "Yoga" in p["statement"])
    shown = run(tmp_path, "show", id, "--user", "ada", when=when).stdout
    assert "one more Tuesday confirms it" in shown
    assert "lacks 1 more Tuesday" in shown


def test_what_was_chosen_instead_is_shown(tmp_path: Path) -> None:
    records = RecordBuilder()
    for number, day in enumerate(every(1, 50)):
        room = "Loft" if number % 10 == 9 else "Attic"
        for name, where in (("budget", room), ("other", "Cellar" if number % 2 else "Garden")):
            local = datetime.combine(day, datetime.min.time()) + timedelta(hours=8 + number % 9)
            features = {"category": name, "title": f"{name} {number}", "location": where}
            records.add("calendar", "created", local=local, tz="UTC", user_id="ada", features=features)
    with Store(tmp_path / "habits.db", clock=lambda: END) as store:
        store.observe(observations(records))
    listed = run(
        tmp_path, "patterns", "--user", "ada", "--type", "preference", "--format", "ndjson"
    ).stdout.splitlines()
    id = next(p["id"] for p in map(json.loads, listed) if "Attic" in p["statement"])
    shown = run(tmp_path, "show", id, "--user", "ada").stdout
    assert "counter-examples (5)" in shown
    assert "budget 49 (location: Loft)" in shown


def test_show_as_json_has_all_of_it(folder: Path) -> None:
    said = json.loads(run(folder, "show", "790ce2", "--user", "ada", "--format", "json").stdout)
    assert list(said) == ["pattern", "opportunities", "journal", "outlook", "would_change"]
    assert sum(one["kept"] for one in said["opportunities"]) == said["pattern"]["support"] == 15
    assert said["pattern"]["p_value"] <= said["outlook"]["allowed"] < 0.05


def test_a_title_cannot_steer_the_terminal(tmp_path: Path) -> None:
    with Store(tmp_path / "habits.db", clock=lambda: END) as store:
        store.observe(regular("\x1b[31mTea\x07\x1b]0;owned\x07", every(1, 56)))
        id = store.patterns(ALL_USERS).confirmed[0].id
    for words in (
        ["patterns"],
        ["patterns", "--format", "markdown"],
        ["show", id],
        ["history", id],
        ["predict"],
    ):
        printed = run(tmp_path, *words, "--user", "ada").stdout
        assert printed.strip()
        assert "\x1b" not in printed
        assert "\x07" not in printed


def test_colours_are_for_terminals(folder: Path) -> None:
    assert "\x1b" not in run(folder, "show", "790ce2", "--user", "ada").stdout
    assert "\x1b[" in run(folder, "show", "790ce2", "--user", "ada", FORCE_COLOR="1", TERM="xterm").stdout
    without = run(
        folder, "show", "790ce2", "--user", "ada", FORCE_COLOR="1", TERM="xterm", NO_COLOR="1"
    ).stdout
    assert "\x1b[3" not in without  # no colour: bold and dim are none


# --- history --------------------------------------------------------------------------------------------------


def test_history_is_the_journal(folder: Path) -> None:
    lines = run(folder, "history", "790ce2", "--user", "ada", "--format", "ndjson").stdout.splitlines()
    assert [(e["before"], e["after"]) for e in map(json.loads, lines)] == [
        (None, "tracking"),
        ("tracking", "confirmed"),
    ]
    table = [line.split() for line in run(folder, "history", "790ce2", "--user", "ada").stdout.splitlines()]
    assert [row[3] for row in table] == ["to", "tracking", "confirmed"] or table[2][3] == "confirmed"
    early = run(
        folder, "history", "790ce2", "--user", "ada", "--format", "ndjson", when="2026-01-15T12:00Z"
    ).stdout.splitlines()
    assert early == lines[:1]
    late = run(
        folder, "history", "790ce2", "--user", "ada", "--format", "ndjson", when="2026-12-01"
    ).stdout.splitlines()
    assert json.loads(late[-1])["after"] == "expired"


# --- ids, people, and what is not there -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "when", "message"),
    [
        (
            ["show", "790ce2f9e1d4ffff", "--user", "ada"],
            WHEN,
            "user 'ada' has no pattern with an id that begins with '790ce2f9e1d4ffff'; did you mean 790c",
        ),
        (["show", "zz", "--user", "ada"], WHEN, "begins with 'zz'; see the list of all patterns"),
        (["history", "", "--user", "bea"], WHEN, "patterns have an id that begins with ''"),
        (
            ["show", "790ce2", "--user", "ada"],
            "2025-01-01",
            "has no pattern with an id that begins with '790ce2'",
        ),
        (["show", "790ce2", "--user", "bea"], WHEN, "has no pattern with an id that begins with '790ce2'"),
        (["show", "790ce2"], WHEN, "begins with '790ce2'; name another user with --user"),
        (["patterns", "--user", "ada"], "2025-01-01", "there is no observation up to --as-of 2025-01-01"),
        (["patterns"], "yesterday-ish", "--as-of takes a date or time"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(
    folder: Path, words: list[str], when: str, message: str
) -> None:
    result = run(folder, *words, when=when)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words", [["patterns"], ["predict"], ["profile"], ["audit"], ["patterns", "--user", "be"]]
)
def test_an_unknown_user_has_nothing_and_no_other_user_is_named(folder: Path, words: list[str]) -> None:
    command = [words[0], "--db", str(folder / "habits.db"), *words[1:]]
    result = CliRunner().invoke(main, command)
    asked = words[-1] if "--user" in words else "me"
    assert result.exit_code == 0
    assert f"no observations of user '{asked}'; name another with --user" in result.stderr
    assert "ada" not in result.output.replace(str(folder), "")
    assert "bea" not in result.output.replace(str(folder), "")


def test_an_empty_store_says_how_to_fill_it(tmp_path: Path) -> None:
    result = run(tmp_path, "patterns")
    assert (result.exit_code, result.stdout.strip()) == (0, "")
    assert "is empty; fill it with habitus observe or habitus sync" in result.stderr


def test_an_id_of_another_time_is_found(folder: Path) -> None:
    """What is stored of patterns is of the last evaluation; a pattern of the past need not be among them."""
    with Store(folder / "habits.db", clock=lambda: END + timedelta(days=900)) as store:
        store.changes()
        assert store.show("790ce2", "ada", as_of=END).pattern.status == "confirmed"


# --- in Python, on both databases -------------------------------------------------------------------------------


def test_the_verbs_in_python(place: str) -> None:
    with Store(place, clock=lambda: END) as store:
        store.observe(TEA)
        (tea,) = store.patterns("ada").confirmed
        assert store.profile("ada").entries[0].id == tea.id
        assert store.show(tea.id[:5], "ada").pattern == tea
        assert (
            store.show(tea.id, "ada", as_of=END.astimezone(UTC) - timedelta(days=7)).pattern.support
            == tea.support - 1
        )
        assert store.history(tea.id, "ada").height == 2
        assert store.predict(ALL_USERS, days=3)[0].pattern_id == tea.id
        assert store.backtest(ALL_USERS, days=14).get_column("predictions").sum() > 0
        store.pin(tea.id, "ada")
        store.confirm(tea.id, "ada")
        assert store.patterns(ALL_USERS).patterns[0].words == ("confirmed", "pinned")
        said = store.remember("prefers tea", user="ada")
        assert [e.id for e in store.profile("ada").entries] == [said.id, tea.id]
        store.dismiss(tea.id, "ada")
        assert [e.id for e in store.profile("ada").entries] == [said.id]
        with pytest.raises(SettingError, match="no observations are behind it"):
            store.patterns(ALL_USERS).explain(said)
        store.remember("prefers tea", user="ada", undo=True)
        store.dismiss(tea.id, "ada", undo=True)
        assert store.patterns(ALL_USERS).patterns == (tea,)

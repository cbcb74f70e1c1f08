"""``habitus sync``: reads the sources of habitus.toml into the store, and only those that changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from observations.export import to_ndjson
from pipelines import Store
from pipelines.cli.main import main
from pipelines.store import ALL_USERS
from tests.simulate import creature_of_habit, every, regular

ADA = creature_of_habit(1, weeks=6)
WHEN = "2026-03-01T00:00Z"

CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//test//test//EN
BEGIN:VEVENT
UID:choir
DTSTAMP:20260101T000000Z
DTSTART:20260105T190000Z
DTEND:20260105T200000Z
RRULE:FREQ=WEEKLY
SUMMARY:Choir
END:VEVENT
END:VCALENDAR
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two sources and a habitus.toml; the working folder is one below it."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "ada.ndjson").write_bytes(to_ndjson(ADA.observations))
    (tmp_path / "tea.ndjson").write_bytes(to_ndjson(regular("Tea", every(1, 40))) + b"nonsense\n")
    (tmp_path / "habitus.toml").write_text(
        'sources = ["logs", "tea.ndjson"]\ndb = "habits.db"\ntz = "UTC"\n', encoding="utf-8"
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.delenv("HABITUS_DB", raising=False)
    return tmp_path


def sync(*words: str) -> Result:
    return CliRunner().invoke(main, ["sync", "--as-of", WHEN, *words])


def rows(result: Result) -> dict[str, list[str]]:
    """The table, by the last part of the source's name."""
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["source", "read", "new", "rejects"]
    table = [line.split() for line in lines[1:3]]
    return {Path(words[0]).name: words[1:] for words in table}


def test_the_sources_are_read_and_what_changed_is_said(home: Path) -> None:
    result = sync()
    assert result.exit_code == 0
    assert rows(result) == {
        "logs": [str(ADA.observations.height)] * 2 + ["0"],
        "tea.ndjson": ["40", "40", "1"],
    }
    assert "tea.ndjson:41: the line is not a JSON object" in result.stderr
    assert "ada: Tea daily at 07:00: new → confirmed (kept often enough)" in result.stdout
    assert "status changes of patterns that are not confirmed" in result.stderr
    with Store(home / "habits.db") as store:
        assert store.observations(ALL_USERS).height == ADA.observations.height + 40


def test_what_did_not_change_is_not_read_again(home: Path) -> None:
    sync()
    result = sync()
    assert rows(result) == {"logs": ["unchanged", "0", "0"], "tea.ndjson": ["unchanged", "0", "0"]}
    with (home / "tea.ndjson").open("ab") as file:
        file.write(to_ndjson(regular("Tea", every(1, 41)[40:])))
    assert rows(sync())["tea.ndjson"] == ["41", "1", "1"]
    assert rows(sync("--user-field", "title"))["tea.ndjson"][0] == "41"


def test_a_calendar_is_read_again_for_its_series_go_on(home: Path) -> None:
    (home / "logs" / "ada.ndjson").write_text("{}\n")
    (home / "tea.ndjson").unlink()
    (home / "habitus.toml").write_text('sources = ["choir.ics", "logs"]\ndb = "habits.db"\ntz = "UTC"\n')
    (home / "choir.ics").write_text(CALENDAR)
    first, second = sync("--until", "2026-02-01"), sync("--until", "2026-02-10")
    assert rows(first)["choir.ics"] == ["4", "4", "0"]
    assert rows(second)["choir.ics"] == ["6", "2", "0"]


def test_a_source_that_cannot_be_read_keeps_no_other_from_it(home: Path) -> None:
    (home / "tea.ndjson").unlink()
    result = sync()
    assert result.exit_code == 1
    assert rows(result)["logs"][0] == str(ADA.observations.height)
    assert rows(result)["tea.ndjson"][0] == "failed"
    assert result.stderr.splitlines()[-1].startswith(f"Error: {home / 'tea.ndjson'}")


def test_a_second_sync_leaves_it_to_the_first(home: Path) -> None:
    with Store(home / "habits.db") as store, store.database.alone("sync"):
        result = sync()
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "another sync is running" in result.stderr
    assert rows(sync())["logs"][1] == str(ADA.observations.height)


def test_without_sources_it_says_what_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = sync("--db", str(tmp_path / "habits.db"))
    assert result.exit_code == 1
    assert result.stderr.startswith(
        'Error: no sources to sync; add sources = ["calendar.ics", "Mail/"] to habitus.toml'
    )


def test_the_store_is_where_the_environment_says(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "habitus.toml").write_text('sources = ["tea.ndjson"]\n')
    monkeypatch.setenv("HABITUS_DB", str(home / "other.db"))
    assert CliRunner().invoke(main, ["sync", "--as-of", WHEN, "--tz", "UTC"]).exit_code == 0
    with Store(home / "other.db") as store:
        assert store.observations(ALL_USERS).height == 40

"""``habitus detect``: output streams, formats, and messages for wrong input."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import tzlocal
from click.testing import CliRunner, Result
from freezegun import freeze_time
from rich.cells import cell_len

from patterns.model import Pattern
from pipelines.cli.main import main

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "fixtures" / "demo"
MAYA = ("--tz", "Europe/Berlin", "--me", "maya@example.com")
BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 1, 5, tzinfo=BERLIN)
WEEKS = 10

FIELDS = [
    *("id", "user_id", "type", "statement", "rule", "status", "confidence", "components", "support"),
    *("opportunities", "contradictions", "p_value", "rate_interval", "lacks", "first_seen", "last_seen"),
    *("confirmed_at", "expired_at", "evidence", "superseded_by", "source"),
]
"""Of a pattern, as the contract lists them."""

RULE_FIELDS = {
    "temporal": [{"where", "rrule", "time", "tolerance_minutes"}],
    "preference": [{"where", "feature", "value"}, {"where", "feature", "min", "max"}],
    "workflow": [{"steps", "within_minutes"}],
    "relationship": [{"where", "feature", "value"}],
    "avoidance": [{"where", "days", "from", "to"}],
}

SUMMARY = re.compile(
    r"[\d,]+ observations?, [\d,]+ rejects?, [\d,]+ (person|people), [\d,]+ patterns?: "
    r"[\d,]+ confirmed, [\d,]+ tracking, [\d,]+ expired"
)


# --- a small log: one habit of today, one that stopped, one that is beginning, and errands ----------------------


def small_log(user: str = "me") -> list[dict[str, object]]:
    """Ten weeks of one person: gym at 07:00 on weekdays, choir on five Tuesdays, piano on the last four, errands."""
    rng = random.Random(7)
    events = []
    for day in range(WEEKS * 7):
        if day % 7 < 5:
            events.append(_event(user, day, 7 * 60, "Gym"))
        if day % 7 == 1 and day // 7 != 5:
            events.append(_event(user, day, 19 * 60, "Choir" if day // 7 < 5 else "Piano"))
        events += [
            _event(user, day, rng.randrange(8 * 60, 22 * 60), f"{rng.choice('ABCDEF')} errand")
            for _ in range(2)
        ]
    return events


def _event(user: str, day: int, minute: int, title: str) -> dict[str, object]:
    start = MONDAY + timedelta(days=day, minutes=minute)
    features = {"title": title, "duration_minutes": 60}
    return {
        "id": f"{user}-{day}-{minute}-{title}",
        "user_id": user,
        "type": "calendar",
        "action": "created",
        "timestamp": start.isoformat(),
        "features": features,
    }


def write(path: Path, records: list[dict[str, object]]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("log") / "events.ndjson", small_log())


@pytest.fixture(scope="module")
def two_people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("log") / "team.ndjson", [*small_log("ana"), *small_log("bo")])


def detect(*arguments: str | Path, **environment: str) -> Result:
    """The command in this process; a terminal of no known width."""
    return CliRunner(env={"COLUMNS": None, **environment}).invoke(main, ["detect", *map(str, arguments)])


def patterns(*arguments: str | Path) -> list[dict[str, Any]]:
    """What it finds, as a program would read it."""
    result = detect(*arguments, "--format", "ndjson")
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@cache
def of_the_demo(*arguments: str) -> str:
    """What it prints about the demo."""
    result = detect(DEMO, *MAYA, *arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def process(*arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
    """The command as a process of its own, run on the code of this folder."""
    program = "import sys; sys.argv[0] = 'habitus'; from pipelines.cli.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", program, "detect", *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


# --- formats ------------------------------------------------------------------------------------------------------


def test_the_small_log_has_a_pattern_of_every_status(log: Path) -> None:
    """Otherwise the tests below would prove little."""
    found = patterns(log, "--status", "all")
    assert {pattern["status"] for pattern in found} == {"confirmed", "tracking", "expired"}
    assert "Gym on weekdays at 07:00" in [p["statement"] for p in found if p["status"] == "confirmed"]


def test_ndjson_is_one_pattern_a_line_as_the_contract_has_it() -> None:
    """Fields, their order, the rule of each type, and every value within its bounds, on the demo's five types."""
    lines = of_the_demo("--status", "all", "--format", "ndjson").splitlines()
    assert {json.loads(line)["type"] for line in lines} == set(RULE_FIELDS)
    for line in lines:
        record = json.loads(line)
        assert list(record) == FIELDS
        assert set(record["rule"]) - {"dtstart"} in RULE_FIELDS[record["type"]]
        pattern = Pattern.model_validate_json(line)
        assert pattern.support <= pattern.opportunities
        assert pattern.first_seen <= pattern.last_seen
        assert 0 <= pattern.rate_interval[0] <= pattern.rate_interval[1] <= 1
        assert pattern.evidence
        assert bool(pattern.lacks) == (pattern.status == "tracking")
        assert (pattern.expired_at is not None) == (pattern.status == "expired")


def test_json_is_an_array_of_what_ndjson_has_line_by_line(log: Path) -> None:
    array = json.loads(detect(log, "--status", "all", "--format", "json").stdout)
    assert array == patterns(log, "--status", "all")


def test_json_of_nothing_is_an_empty_array(log: Path) -> None:
    assert json.loads(detect(log, "--type", "workflow", "--format", "json").stdout) == []


def test_markdown_is_a_list_of_sentences_by_type(log: Path) -> None:
    text = detect(log, "--status", "all", "--format", "markdown").stdout
    found = patterns(log, "--status", "all")
    assert text.count("\n- **") == len(found)
    for pattern in found:
        line = next(row for row in text.splitlines() if row.startswith(f"- **{pattern['statement']}**"))
        assert f"kept {pattern['support']} of {pattern['opportunities']} times" in line
        assert f"confidence {pattern['confidence']:.2f}" in line
    headings = re.findall(r"^## (\w+)$", text, flags=re.MULTILINE)
    assert headings == sorted({pattern["type"].capitalize() for pattern in found})


@pytest.mark.parametrize("status", ["confirmed", "all"])
def test_the_table_fits_eighty_columns_and_says_the_sentence_first(status: str) -> None:
    lines = of_the_demo("--status", status).splitlines()
    found = [json.loads(line) for line in of_the_demo("--status", "all", "--format", "ndjson").splitlines()]
    assert max(cell_len(line) for line in lines) <= 80
    assert lines[0].startswith("pattern")
    width = lines[0].index("type")
    sentences = "".join("".join(line[:width].split()) for line in lines[1:])
    for pattern in found if status == "all" else [p for p in found if p["status"] == status]:
        assert "".join(pattern["statement"].split()) in sentences
        assert "".join("; ".join(pattern["lacks"]).split()) in sentences


def test_the_table_says_of_each_pattern_how_often_it_was_kept(log: Path) -> None:
    row = next(line for line in detect(log).stdout.splitlines() if line.startswith("Gym on"))
    gym = next(p for p in patterns(log) if p["statement"].startswith("Gym on"))
    assert row.split()[-3:] == [
        f"{gym['confidence']:.2f}",
        f"{gym['support']}/{gym['opportunities']}",
        gym["last_seen"][:10],
    ]


# --- options ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["confirmed", "tracking", "expired"])
def test_a_status_shows_the_patterns_that_have_it(log: Path, status: str) -> None:
    everything = patterns(log, "--status", "all")
    assert patterns(log, "--status", status) == [p for p in everything if p["status"] == status]


def test_confirmed_is_what_is_shown_unless_said_otherwise(log: Path) -> None:
    assert patterns(log) == patterns(log, "--status", "confirmed")


def test_a_tracked_pattern_says_what_it_lacks(log: Path) -> None:
    assert "lacks: " in detect(log, "--status", "tracking").stdout
    assert "lacks" not in detect(log, "--status", "confirmed").stdout


def test_types_can_be_chosen_and_named_more_than_once(log: Path) -> None:
    everything = patterns(log, "--status", "all")
    chosen = patterns(log, "--status", "all", "--type", "temporal", "--type", "avoidance")
    assert chosen == [p for p in everything if p["type"] in ("temporal", "avoidance")]
    assert chosen


def test_as_of_sees_nothing_of_what_came_later(tmp_path: Path) -> None:
    """The whole log evaluated in its fifth week is the log of five weeks evaluated then."""
    moment = (MONDAY + timedelta(days=33, hours=12)).isoformat()
    until = write(tmp_path / "cut.ndjson", [r for r in small_log() if str(r["timestamp"]) <= moment])
    whole = write(tmp_path / "whole.ndjson", small_log())
    options = ("--as-of", moment, "--status", "all")
    assert patterns(whole, *options) == patterns(until, *options) != patterns(whole, "--status", "all")


def test_a_habit_fades_when_the_evaluation_is_later_than_the_log(log: Path) -> None:
    def gym(*options: str) -> dict[str, Any]:
        found = patterns(log, "--status", "all", *options)
        return next(p for p in found if p["statement"] == "Gym on weekdays at 07:00")

    now, later = gym(), gym("--as-of", "2026-06-01")
    assert (now["status"], later["status"]) == ("confirmed", "expired")
    assert later["confidence"] < 0.3 < 0.7 <= now["confidence"]
    assert later["id"] == now["id"]


def test_as_of_without_an_offset_is_read_in_the_zone(log: Path) -> None:
    berlin = patterns(log, "--tz", "Europe/Berlin", "--status", "all", "--as-of", "2026-02-10")
    assert berlin == patterns(log, "--tz", "UTC", "--status", "all", "--as-of", "2026-02-09T23:00:00Z")


def test_records_that_name_no_user_are_of_the_one_named(tmp_path: Path) -> None:
    nameless = [{k: v for k, v in record.items() if k != "user_id"} for record in small_log()]
    path = write(tmp_path / "events.ndjson", nameless)
    assert {p["user_id"] for p in patterns(path)} == {"me"}
    assert {p["user_id"] for p in patterns(path, "--user", "ana")} == {"ana"}


def test_a_record_keeps_the_user_it_names(two_people: Path) -> None:
    assert {p["user_id"] for p in patterns(two_people, "--user", "me")} == {"ana", "bo"}


def test_a_feature_can_name_the_user(tmp_path: Path) -> None:
    records = small_log()
    for record in records:
        record["features"] = record["features"] | {"from": "bo@example.com"}  # type: ignore[operator]
    path = write(tmp_path / "events.ndjson", records)
    assert {p["user_id"] for p in patterns(path, "--user-field", "from")} == {"bo@example.com"}


def test_people_are_told_apart_in_every_format(two_people: Path) -> None:
    table, markdown = detect(two_people).stdout, detect(two_people, "--format", "markdown").stdout
    assert [line for line in table.splitlines() if line in ("ana", "bo")] == ["ana", "bo"]
    assert re.findall(r"^# (\w+)$", markdown, flags=re.MULTILINE) == ["ana", "bo"]
    statements = {
        user: [p["statement"] for p in patterns(two_people) if p["user_id"] == user] for user in ("ana", "bo")
    }
    assert statements["ana"] == statements["bo"], "the same log, the same habits"


# --- what goes where ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["table", "json", "ndjson", "markdown"])
def test_data_goes_to_standard_output_and_the_rest_to_standard_error(log: Path, form: str) -> None:
    result = detect(log, "--format", form)
    assert SUMMARY.search(result.stdout) is None
    assert SUMMARY.fullmatch(result.stderr.splitlines()[-1])


def test_the_last_line_counts_what_was_read_and_found(two_people: Path, tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    path.write_text(two_people.read_text() + '{"type": "calendar", "action": "created"}\n')
    result = detect(path, "--format", "ndjson", "--status", "all")
    found = [json.loads(line)["status"] for line in result.stdout.splitlines()]
    confirmed, tracking, expired = (found.count(s) for s in ("confirmed", "tracking", "expired"))
    assert result.stderr.splitlines()[-1] == (
        f"{2 * len(small_log())} observations, 1 reject, 2 people, {len(found)} patterns: "
        f"{confirmed} confirmed, {tracking} tracking, {expired} expired"
    )


def test_a_record_that_cannot_be_read_is_named_by_its_line_and_stops_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "events.ndjson", small_log())
    before = patterns(path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], '{"id": "half', *lines[3:]]) + "\n")
    result = detect(path, "--format", "ndjson")
    assert [json.loads(line) for line in result.stdout.splitlines()] == before
    assert f"{path}:4: " in result.stderr


def test_nothing_found_prints_nothing_and_says_so(tmp_path: Path) -> None:
    result = detect(write(tmp_path / "one.ndjson", small_log()[:1]))
    assert (result.exit_code, result.stdout) == (0, "")
    assert SUMMARY.fullmatch(result.stderr.splitlines()[-1])


COLOUR = re.compile(r"\x1b\[[\d;]*3[0-7]")


def test_colours_are_for_terminals_and_for_those_who_want_them(log: Path) -> None:
    assert COLOUR.search(detect(log, "--status", "all", FORCE_COLOR="1", TERM="xterm").stdout)
    assert not COLOUR.search(
        detect(log, "--status", "all", FORCE_COLOR="1", TERM="xterm", NO_COLOR="1").stdout
    )
    assert "\x1b" not in detect(log, "--status", "all").output


@pytest.mark.parametrize("form", ["table", "ndjson"])
def test_a_reader_that_leaves_early_is_no_fault(tmp_path: Path, form: str) -> None:
    """``habitus detect … | head -1``, with far more output than a pipe holds."""
    people = [record for n in range(80) for record in small_log(f"person-{n:02}")]
    path = write(tmp_path / "town.ndjson", people)
    with process(path, "--status", "all", "--format", form) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline()
        running.stdout.close()
        said = running.stderr.read()
    assert all(SUMMARY.fullmatch(line) for line in said.splitlines()), said


# --- wrong input --------------------------------------------------------------------------------------------------


def missing(folder: Path) -> list[str | Path]:
    return [folder / "missing.ics"]


def empty(folder: Path) -> list[str | Path]:
    path = folder / "empty.ndjson"
    path.touch()
    return [path]


def empty_folder(folder: Path) -> list[str | Path]:
    return [folder]


def nothing_readable(folder: Path) -> list[str | Path]:
    (folder / "notes.docx").write_bytes(b"\xd0\xcf\x11\xe0" + bytes(600))
    return [folder]


def binary(folder: Path) -> list[str | Path]:
    path = folder / "calendar.ics"
    path.write_bytes(random.Random(1).randbytes(5_000))
    return [path]


def unknown_zone(folder: Path) -> list[str | Path]:
    return [write(folder / "events.ndjson", small_log()), "--tz", "Europe/Berln"]


def as_of_too_early(folder: Path) -> list[str | Path]:
    return [write(folder / "events.ndjson", small_log()), "--as-of", "2020-01-01"]


def as_of_no_time(folder: Path) -> list[str | Path]:
    return [write(folder / "events.ndjson", small_log()), "--as-of", "yesterday"]


def mapping_of_nothing(folder: Path) -> list[str | Path]:
    return [write(folder / "events.ndjson", small_log()), "--map", "timestamp"]


WRONG: tuple[tuple[Callable[[Path], list[str | Path]], str], ...] = (
    (missing, "no such file or folder"),
    (empty, "is empty"),
    (empty_folder, "contains nothing to read"),
    (nothing_readable, "contains no file in a supported format: .*iCalendar"),
    (binary, "unrecognized format; supported formats: .*iCalendar"),
    (unknown_zone, r"unknown time zone 'Europe/Berln'; did you mean Europe/Berlin\?"),
    (as_of_too_early, "no observation up to --as-of 2020-01-01 00:00"),
    (as_of_no_time, "--as-of takes a date or time such as .*'yesterday'"),
    (mapping_of_nothing, "--map takes FIELD=COLUMN.*'timestamp'"),
)


WRONG_CASES = [pytest.param(wrong, said) for wrong, said in WRONG]


@pytest.mark.parametrize(("wrong", "said"), WRONG_CASES, ids=[wrong.__name__ for wrong, _ in WRONG])
def test_wrong_input_is_one_clear_line(
    tmp_path: Path, wrong: Callable[[Path], list[str | Path]], said: str
) -> None:
    result = detect(*wrong(tmp_path))
    assert result.exit_code == 1, result.stderr
    assert result.stdout == ""
    assert re.fullmatch(f"Error: .*{said}.*\n", result.stderr), result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument 'SOURCE…'"),
        (["x.ics", "--format", "xml"], "'xml' is not one of 'table', 'json', 'ndjson', 'markdown'"),
        (["x.ics", "--status", "dead"], "'dead' is not one of 'confirmed', 'tracking', 'expired', 'all'"),
        (["x.ics", "--type", "habit"], "unknown pattern type 'habit'; there are temporal, "),
        (["x.ics", "--sinse", "2026-01-01"], "No such option '--sinse'.*--since"),
    ],
)
def test_wrong_usage_says_what_there_is(arguments: list[str], said: str) -> None:
    result = detect(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.match(f"Error: .*{said}", result.stderr.splitlines()[-1]), result.stderr


def test_a_mistyped_command_gets_a_hint() -> None:
    result = CliRunner().invoke(main, ["detekt", "x.ics"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no command 'detekt'; did you mean detect?" in result.stderr


def test_a_process_shows_no_traceback(tmp_path: Path) -> None:
    with process(*missing(tmp_path)) as running:
        printed, said = running.communicate()
    assert (running.returncode, printed, said.count("\n")) == (1, "", 1)
    assert said.startswith("Error: ")


@pytest.mark.parametrize(
    ("file", "wrong_name"),
    [
        ("calendar.ics", "calendar.mbox"),
        ("calendar.ics", "calendar"),
        ("mail/sent.mbox", "sent.ics"),
        ("mail/sent.mbox", "sent.csv"),
    ],
)
def test_a_file_is_known_by_what_is_in_it(tmp_path: Path, file: str, wrong_name: str) -> None:
    path = tmp_path / wrong_name
    path.write_bytes((DEMO / file).read_bytes())
    assert patterns(path, "--tz", "Europe/Berlin") == patterns(DEMO / file, "--tz", "Europe/Berlin")


def test_ndjson_under_the_name_of_a_calendar_is_read(tmp_path: Path, log: Path) -> None:
    path = tmp_path / "events.ics"
    path.write_bytes(log.read_bytes())
    assert patterns(path) == patterns(log)


def test_a_zip_and_what_ingest_wrote_give_the_patterns_of_the_exports(tmp_path: Path) -> None:
    exports = [DEMO / name for name in ("calendar.ics", "mail", "zsh_history")]
    arguments = ("--status", "all", "--format", "ndjson")
    archive = tmp_path / "exports.zip"
    with zipfile.ZipFile(archive, "w") as target:
        for file in (file for export in exports for file in (export, *export.glob("*")) if file.is_file()):
            target.write(file, file.relative_to(DEMO))
    written = tmp_path / "observations.parquet"
    ingested = CliRunner().invoke(main, ["ingest", *map(str, exports), *MAYA, "-o", str(written)])
    assert ingested.exit_code == 0
    for source in (archive, written):
        assert detect(source, *MAYA, *arguments).stdout == of_the_demo(*arguments) != ""


# --- the same answer, always --------------------------------------------------------------------------------------


def test_the_clock_changes_nothing_when_the_evaluation_time_is_given() -> None:
    def at(clock: str) -> str:
        with freeze_time(clock):
            result = detect(DEMO, *MAYA, "--as-of", "2026-06-01", "--status", "all", "--format", "ndjson")
        assert result.exit_code == 0
        return result.stdout

    assert at("2026-06-02T10:00:00Z") == at("2031-12-31T23:59:59Z") != ""


def test_another_process_gives_the_same_bytes() -> None:
    """For any hash seed of Python, number of threads and time zone of the machine."""
    surroundings = {"PYTHONHASHSEED": "5", "POLARS_MAX_THREADS": "1", "TZ": "America/New_York"}
    with process(DEMO, *MAYA, "--status", "all", "--format", "ndjson", **surroundings) as running:
        printed, said = running.communicate()
    assert running.returncode == 0, said
    assert printed == of_the_demo("--status", "all", "--format", "ndjson") != ""


def test_a_machine_without_a_zone_is_told_so(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tzlocal, "get_localzone_name", lambda: "Mars/Olympus")
    result = detect(log)
    assert result.exit_code == 0
    assert "times are read as UTC (--tz ZONE sets it)" in result.stderr
    assert result.stdout == detect(log, "--tz", "UTC").stdout

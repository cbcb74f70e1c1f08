"""``habitus ingest`` from the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from pipelines.cli.main import main
from pipelines.cli.options import parse_mapping


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no settings file of the developer's is found."""
    monkeypatch.chdir(tmp_path)


def run(*arguments: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["ingest", *map(str, arguments)], input=stdin, catch_exceptions=False)


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


LOG = (
    '{"id": "1", "type": "work", "action": "did", "timestamp": "2026-03-02T09:30:00Z", "title": "a"}\n'
    '{"id": "2", "type": "work", "action": "did", "timestamp": "2026-03-03T09:30:00Z", "title": "b"}\n'
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.ndjson"
    path.write_text(LOG)
    return path


def test_observations_go_to_standard_output(log: Path) -> None:
    """And notes to standard error."""
    result = run(log, "--tz", "Europe/Berlin")
    assert result.exit_code == 0
    assert [line["timestamp"] for line in lines(result.stdout)] == [
        "2026-03-02T10:30:00+01:00",
        "2026-03-03T10:30:00+01:00",
    ]
    assert result.stderr == "2 observations from 1 source\n"


@pytest.mark.parametrize("name", ["out.ndjson", "out.parquet"])
def test_observations_go_to_a_file(log: Path, tmp_path: Path, name: str) -> None:
    """In the format of its extension; reading the output again adds nothing."""
    assert run(log, "-o", tmp_path / name).exit_code == 0
    again = run(log, tmp_path / name)
    assert len(lines(again.stdout)) == 2
    assert "2 left out" in again.stderr
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_file_of_another_name_is_refused(log: Path, tmp_path: Path) -> None:
    """Before anything is read."""
    result = run(log, "-o", tmp_path / "out.xlsx")
    assert result.exit_code == 1
    assert result.stderr == f"Error: {tmp_path / 'out.xlsx'}: the name must end in .ndjson or .parquet\n"


def test_an_error_leaves_the_old_file_alone(log: Path, tmp_path: Path) -> None:
    """The new one appears only when it is whole."""
    output = tmp_path / "out.ndjson"
    output.write_text("old")
    (tmp_path / "bad.csv").write_text("timestamp,a\n03/04/2026,1\n")
    result = run(log, tmp_path / "bad.csv", "-o", output)
    assert result.exit_code == 1
    assert re.fullmatch(r"Error: .*bad\.csv:2: .*--day-first or --month-first decides\n", result.stderr)
    assert output.read_text() == "old"
    assert run(log, tmp_path / "bad.csv", "--day-first", "-o", output).exit_code == 0


def test_rejects_are_named_up_to_a_limit_and_counted(tmp_path: Path) -> None:
    """File, line and reason, on one line each."""
    (tmp_path / "log.ndjson").write_text(LOG + "bad\n" * 30)
    result = run("log.ndjson")
    said = result.stderr.splitlines()
    assert said[0] == "log.ndjson:3: the line is not a JSON object"
    assert len(said) == 22
    assert said[-2:] == ["log.ndjson: … and 10 more", "2 observations from 1 source; 30 could not be read"]


def test_what_is_the_same_everywhere_is_counted(tmp_path: Path) -> None:
    """A folder of a hundred files with the same flaw makes no hundred lines."""
    Path("logs").mkdir()
    for number in range(100):
        Path(f"logs/{number:03}.ndjson").write_text(LOG.replace('"1"', f'"{number}"') + "bad\nbad\n")
    said = run("logs").stderr.splitlines()
    assert said[0] == "logs/000.ndjson:3: the line is not a JSON object"
    assert said[-2:] == [
        "… and 192 more in 96 other sources: the line is not a JSON object",
        "100 observations from 100 sources; 200 could not be read; 100 left out",
    ]
    assert len(said) == 10


def test_explain_says_what_became_of_everything(tmp_path: Path) -> None:
    """On standard output, in place of the observations."""
    with zipfile.ZipFile("takeout.zip", "w") as archive:
        archive.writestr("a/log.ndjson", LOG)
        archive.writestr("a/x.html", "<html>")
        archive.writestr("../evil.ics", "x")
    result = run("takeout.zip", "--explain", "--since", "2026-03-03")
    assert result.exit_code == 0
    table = " ".join(result.stdout.split())
    assert "newline-delimited JSON 1 1 left out: is earlier than --since" in table
    assert "1 left out: unrecognized format, skipped" in table
    assert "1 assumed: points outside the archive; skipped" in table
    assert '{"id"' not in result.stdout
    assert "takeout.zip!../evil.ics: points outside the archive; skipped" in result.stderr


def test_explain_is_readable_on_a_narrow_screen(log: Path) -> None:
    """Nothing is wider than 80 columns: names are shortened in their middle, sentences go on in the next line."""
    deep = Path("a" * 30, "b" * 30, "c" * 30)
    deep.mkdir(parents=True)
    long = deep / "the-log-of-march.ndjson"
    long.write_text(LOG + "bad\nbad\n")
    arguments = ["ingest", str(log), str(long), "--until", "2026-03-02T12:00Z", "--explain"]
    printed = CliRunner(env={"COLUMNS": "80"}).invoke(main, arguments).stdout.splitlines()
    assert max(map(len, printed)) <= 80
    assert any("a" * 10 in line and "…" in line and "march.ndjson  newline" in line for line in printed)
    assert printed[2] == "    1 left out: is later than --until (now, unless given); --allow-future keeps"
    assert printed[3] == "        it"
    assert "    2 not read, such as: the line is not a JSON object" in printed


def test_explain_goes_with_an_output(log: Path, tmp_path: Path) -> None:
    """Both are given."""
    result = run(log, "--explain", "-o", tmp_path / "out.parquet")
    assert "newline-delimited JSON" in " ".join(result.stdout.split())
    assert pl.read_parquet(tmp_path / "out.parquet").height == 2


def test_sources_are_read_from_a_pipe() -> None:
    """Under the name -."""
    result = run("-", stdin=LOG.encode())
    assert len(lines(result.stdout)) == 2


def test_the_options_reach_the_readers(tmp_path: Path) -> None:
    """Users, names, zones, windows."""
    Path("times.csv").write_text(
        "Start,Label,Who\n2026-03-02 09:30,gym,ada\n2026-03-04 09:30,work,bo\n2026-03-09 09:30,x,\n"
    )
    result = run(
        *(
            "times.csv",
            "--tz",
            "Asia/Tokyo",
            "--map",
            "timestamp=Start,category=Label",
            "--map",
            "type=Label",
        ),
        *("--user", "cy", "--user-field", "Who", "--since", "2026-03-01", "--until", "2026-03-08T00:00:00Z"),
    )
    assert result.exit_code == 0
    assert [(line["user_id"], line["timestamp"], line["type"]) for line in lines(result.stdout)] == [
        ("ada", "2026-03-02T09:30:00+09:00", "gym"),
        ("bo", "2026-03-04T09:30:00+09:00", "work"),
    ]


def test_the_future_is_left_out_unless_asked_for(tmp_path: Path) -> None:
    """De-identified logs are often shifted."""
    Path("log.ndjson").write_text(LOG.replace("2026-", "2184-"))
    result = run("log.ndjson")
    assert result.stdout == ""
    assert "log.ndjson: 2 left out: is later than --until" in result.stderr
    assert len(lines(run("log.ndjson", "--allow-future").stdout)) == 2


def test_settings_are_found_and_options_win(log: Path) -> None:
    """In the working folder or above it."""
    Path("habitus.toml").write_text('tz = "Asia/Tokyo"\nuser = "ada"\n')
    Path("below").mkdir()
    os.chdir("below")
    (line, _) = lines(run(log, "--user", "bo").stdout)
    assert (line["user_id"], line["timestamp"]) == ("bo", "2026-03-02T18:30:00+09:00")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.ics"], "missing.ics: no such file or folder"),
        (
            ["log.ndjson", "--tz", "Europe/Berln"],
            "unknown time zone 'Europe/Berln'; did you mean Europe/Berlin?",
        ),
        (["log.ndjson", "--since", "yesterday"], "--since takes a date or time such as 2026-03-01"),
        (["log.ndjson", "--until", "03/04/2026"], "--until takes a date or time such as 2026-03-01"),
        (
            ["log.ndjson", "--map", "timestamp"],
            "--map takes FIELD=COLUMN, such as timestamp=Start, not 'timestamp'",
        ),
        (["log.ndjson", "-o", "no/such/folder/x.ndjson"], "no/such/folder"),
    ],
)
def test_what_can_be_mended_is_one_line(log: Path, arguments: list[str], message: str) -> None:
    """With exit status 1."""
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ingst", "x"], "no command 'ingst'; did you mean ingest?"),
        (["frobnicate"], "no command 'frobnicate'; there are "),
        (["ingest", "--usr", "x"], "No such option '--usr'"),
        (["ingest"], "Missing argument"),
    ],
)
def test_wrong_usage_is_status_2(arguments: list[str], message: str) -> None:
    """With a suggestion where there is one."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_help_ends_with_an_example() -> None:
    """For the group and each of its commands."""
    for arguments in ([], *([name] for name in main.commands)):
        result = CliRunner().invoke(main, [*arguments, "--help"])
        assert result.exit_code == 0
        assert "Example:\n  habitus " in re.sub(r"\n {2,}", "\n  ", result.stdout)


def test_an_unknown_zone_of_the_machine_is_utc_with_a_word(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a guess in silence."""

    def unknown() -> str:
        raise ValueError("no zone")

    monkeypatch.setattr("tzlocal.get_localzone_name", unknown)
    result = run(log)
    assert lines(result.stdout)[0]["timestamp"] == "2026-03-02T09:30:00+00:00"
    assert "times are read as UTC (--tz ZONE sets it)" in result.stderr


def test_a_mapping_is_spelled_in_every_way() -> None:
    """Repeated, joined by commas, with a comma in a column's name."""
    assert parse_mapping(["timestamp=Start,category=Label", "features.title=Name, full"]) == {
        "timestamp": "Start",
        "category": "Label",
        "title": "Name, full",
    }


# A shell without job control has its background jobs ignore interrupts; here they are wanted.
_START = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
HABITUS = [sys.executable, "-c", f"{_START}; from pipelines.cli.main import main; main()"]
ROOT = Path(__file__).parents[1]


def test_a_reader_that_goes_away_is_no_error(log: Path) -> None:
    """As ``| head -1`` does: no word, no traceback."""
    log.write_text("".join(LOG.replace('"1"', f'"{n}"') for n in range(20_000)))
    process = subprocess.Popen(
        [*HABITUS, "ingest", str(log)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read().decode()
    process.stderr.close()
    process.wait(timeout=60)
    assert "Traceback" not in said
    assert "Error" not in said


def test_an_interrupt_ends_it_cleanly(tmp_path: Path) -> None:
    """Without a traceback, and without half a file."""
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [*HABITUS, "ingest", str(fifo), "-o", str(tmp_path / "out.ndjson")], stderr=subprocess.PIPE, cwd=ROOT
    )
    with fifo.open("w") as writer:  # opens when the other side has
        writer.write(LOG)
        writer.flush()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        said = process.stderr.read().decode()
        process.stderr.close()
        assert process.wait(timeout=60) != 0
    assert "Traceback" not in said
    assert not (tmp_path / "out.ndjson").exists()


def failed(*arguments: str | Path) -> str:
    """The output of a failing run: one line."""
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    return result.stderr.rstrip()


@pytest.mark.parametrize("command", ["ingest", "detect"])
def test_an_empty_name_is_no_folder(command: str, log: Path) -> None:
    """An unset variable in a script must not read the working folder."""
    result = CliRunner().invoke(main, [command, ""])
    assert result.exit_code == 1
    assert result.stderr == "Error: '': the name is empty; use . for the current folder\n"
    assert log.exists()


@pytest.mark.parametrize("option", ["--user", "--user-field", "--me"])
def test_an_option_without_a_value_is_an_error(option: str, log: Path) -> None:
    assert failed(log, option, "") == f"Error: {option} is empty; give a value or leave it out"


@pytest.mark.parametrize("option", ["--since", "--until"])
def test_an_empty_time_is_an_error(option: str, log: Path) -> None:
    assert failed(log, option, "").startswith(f"Error: {option} takes a date or time")


def test_a_window_that_ends_before_it_begins_is_an_error(log: Path) -> None:
    said = failed(log, "--since", "2026-04-01", "--until", "2026-03-01", "--tz", "UTC")
    assert said == (
        "Error: --since 2026-04-01 00:00 UTC is later than --until 2026-03-01 00:00 UTC; nothing lies between them"
    )


@pytest.mark.parametrize("command", ["ingest", "detect"])
def test_a_user_field_that_no_record_has_is_an_error(command: str, log: Path) -> None:
    """The message lists the existing choices, and no file is written."""
    arguments = [command, str(log), "--user-field", "titel"]
    result = CliRunner().invoke(main, arguments + (["-o", "out.ndjson"] if command == "ingest" else []))
    assert result.exit_code == 1
    assert result.stderr == ("Error: --user-field titel: no record has this feature; did you mean title?\n")
    assert not Path("out.ndjson").exists()
    assert failed(log, "--user-field", "from").endswith("no record has this feature; the features are title")


def test_a_user_field_that_some_records_lack_is_fine(log: Path) -> None:
    """Those are the records of --user."""
    other = LOG.replace(', "title": "b"', "").replace('"title"', '"who"').replace('"id": "', '"id": "x')
    log.write_text(LOG + other)
    users = {line["user_id"] for line in lines(run(log, "--user-field", "who", "--user", "ada").stdout)}
    assert users == {"a", "ada"}


def test_a_named_file_of_which_nothing_can_be_read_is_an_error(tmp_path: Path) -> None:
    """One that was only found in a folder is not; nor is one whose records were left out by rule."""
    event = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:a\nDTSTART:{}\nEND:VEVENT\nEND:VCALENDAR\n"
    Path("folder").mkdir()
    bad = Path("folder/bad.ics")
    bad.write_text(event.format("2026-99-99"))
    assert failed(bad).startswith(
        "Error: folder/bad.ics:2: its one record cannot be read: an event was left out:"
    )
    bad.write_text(event.format("2026-99-99") * 3)
    assert failed(bad, "-o", "out.ndjson").startswith(
        "Error: folder/bad.ics:2: none of its 3 records can be read: "
    )
    assert not Path("out.ndjson").exists()
    assert run("folder").exit_code == 0
    bad.write_text(event.format("2026-99-99") + event.format("20260302T090000\nSTATUS:CANCELLED"))
    assert run(bad).exit_code == 0


def test_an_assumption_is_said_once_however_many_files_it_was_made_for(log: Path) -> None:
    """Mails one by one among other files; what comes behind the first is counted."""
    for number in range(3):
        mail = f"From: a@example.com\nMessage-ID: <{number}@x>\nDate: Mon, 2 Mar 2026 09:00:00 +0100\n\nx\n"
        Path(f"{number}.eml").write_text(mail)
    said = run("0.eml", log, "1.eml", "2.eml").stderr.splitlines()
    message = "cannot tell sent from received without --me or a folder; read as received"
    assert [line for line in said if message in line] == [
        f"0.eml:1: {message} (<0@x>)",
        f"… and 2 more in 1 other source: {message}",
    ]


def test_the_password_in_a_meeting_link_is_nowhere(tmp_path: Path) -> None:
    """In titles, locations, categories and subjects, and in notes about unreadable records."""
    link = "https://zoom.example/j/988?pwd=hunter2"
    event = "BEGIN:VEVENT\nUID:{}\nDTSTART{}\nSUMMARY:sync {}\nLOCATION:{}\nCATEGORIES:{}\nEND:VEVENT\n"
    Path("a.ics").write_text(
        "BEGIN:VCALENDAR\n"
        + event.format("a", ":20260302T090000Z", link, link, link)
        + event.format(link, ":2026-99-99", link, link, link)
        + event.format("c", f';TZID="{link}":20260303T090000', link, link, link)
        + "END:VCALENDAR\n"
    )
    mail = (
        f"From a@b Mon Mar  2 09:00:00 2026\nFrom: a@example.com\nSubject: {link}\nMessage-ID: <1@x>\nDate: "
    )
    Path("a.mbox").write_text(mail + f"Mon, 2 Mar 2026 09:00:00 +0100\n\nx\n\n{mail}{link}\n\nx\n")
    feature = {"title": link, "location": link, "password": "hunter2"}
    Path("a.ndjson").write_text(json.dumps({"timestamp": "2026-03-02T09:00:00Z", "features": feature}) + "\n")
    Path("a.csv").write_text(f"timestamp,title,location\n2026-03-02 09:00,{link},{link}\n{link},{link},x\n")
    result = run("a.ics", "a.mbox", "a.ndjson", "a.csv")
    assert len(lines(result.stdout)) == 5
    assert result.stdout.count("zoom.example/j/988") >= 8
    assert "could not be read" in result.stderr
    assert "hunter2" not in result.stdout + result.stderr
    assert "hunter2" not in run("a.ics", "a.mbox", "a.ndjson", "a.csv", "--explain").stdout

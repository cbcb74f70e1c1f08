"""Forgotten data leaves no byte in the store, patterns equal those of a store without it, and it is not read again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from pathlib import Path

import orjson
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.errors import SettingError, StoreError
from observations.ingest.toolkit.record_builder import RecordBuilder
from observations.schema import concat_observations
from pipelines import Store, detect
from pipelines.cli.main import main
from pipelines.store import ALL_USERS
from pipelines.store.forget.observation_filter import filter_observations
from pipelines.store.forget.suppression import DigestKey
from tests.simulate import creature_of_habit, every, nobody_in_particular, observations, regular

ADA = creature_of_habit(1, weeks=6)
BEA = nobody_in_particular(2, weeks=4, user="bea", tz="Asia/Tokyo")
BOTH = concat_observations([ADA.observations, BEA.observations])
OMAR = "omar@example.org"
SEAL = DigestKey(bytes(32))


def open_store(place: str, now: datetime = ADA.as_of) -> Store:
    return Store(place, clock=lambda: now)


def record(day: int = 1, user: str = "ada", **features: object) -> pl.DataFrame:
    """One observation with these features; a trailing underscore is left off their names."""
    records = RecordBuilder()
    said = {name.rstrip("_"): value for name, value in features.items()}
    moment = datetime.combine(date(2026, 1, day), time(9))
    records.add("note", "made", local=moment, tz="UTC", user_id=user, features=said)  # type: ignore[arg-type]
    return observations(records)


def files_of(place: str) -> list[Path]:
    """Every file of a store."""
    return [path for path in Path(place).parent.rglob("*") if path.is_file()]


def texts_in(path: Path) -> list[bytes]:
    """The bytes of a file, decompressed if necessary."""
    raw = path.read_bytes()
    if path.suffix != ".parquet":
        return [raw]
    return [raw, str(pl.read_parquet(path).to_dicts()).encode()]


def where_is(place: str, *words: str) -> list[str]:
    """The files of a store in which one of these words is, whatever its case."""
    return [
        path.name
        for path in files_of(place)
        for text in texts_in(path)
        if any(word.casefold().encode() in text.lower() for word in words)
    ]


def dump_of(store: Store) -> str:
    """The rows of all tables."""
    from pipelines.store.database.schema import metadata

    with store.database.reading() as connection:
        return repr([connection.execute(table.select()).all() for table in metadata.sorted_tables])


def expected(frame: pl.DataFrame) -> str:
    return detect(frame, as_of=ADA.as_of).to_ndjson()


@cache
def expected_of_ada(*, without_omar: bool) -> str:
    return expected(
        filter_observations(ADA.observations, SEAL.person(OMAR), SEAL).kept
        if without_omar
        else ADA.observations
    )


def test_a_user_is_forgotten_and_the_others_are_what_they_were(place: str) -> None:
    with open_store(place) as store:
        store.observe(BOTH)
        done = store.forget(user="ada")
        assert {count.place: count.gone for count in done.counts}["observations"] == ADA.observations.height
        assert store.people() == ["bea"]
        # A random key in hex may contain "ada" by chance.
        assert re.search("(?<![0-9a-f])ada(?![0-9a-f])", dump_of(store)) is None
        assert store.patterns(ALL_USERS).to_ndjson() == expected(BEA.observations)


def test_no_byte_of_a_user_is_left_in_the_files(tmp_path: Path) -> None:
    place = str(tmp_path / "habitus.db")
    with open_store(place) as store:
        store.observe(
            concat_observations([regular("Secret garden", every(1, 30), user="adaline"), BEA.observations])
        )
        store.archive(timedelta(days=20))
        assert len(where_is(place, "adaline")) > 1
        assert len(where_is(place, "secret garden")) > 1
        done = store.forget(user="adaline")
        assert done.left == ()
        assert where_is(place, "adaline", "secret garden") == []
    assert where_is(place, "adaline", "secret garden") == []


def test_a_person_is_gone_from_every_place(place: str, tmp_path: Path) -> None:
    frame = concat_observations(
        [BOTH, record(title=f"Call {OMAR}!"), record(user="bea", link=f"mailto:{OMAR.replace('@', '%40')}")]
    )
    with open_store(place) as store:
        store.observe(frame)
        assert OMAR in dump_of(store)
        store.archive(timedelta(days=20), tmp_path / "old")
        shown = store.forget(user=ALL_USERS, people=[OMAR], dry_run=True)
        assert shown.only_shown
        done = store.forget(user=ALL_USERS, people=[OMAR])
        assert done.counts == shown.counts
        assert done
        assert "omar" not in dump_of(store)
        left = filter_observations(frame, SEAL.person(OMAR), SEAL).kept
        assert left.height < frame.height
        assert store.observations(ALL_USERS).equals(concat_observations([left.sort("user_id", "at", "id")]))
        assert store.patterns(ALL_USERS).to_ndjson() == expected(left)
        with store.database.reading() as connection:
            from sqlalchemy import select

            from pipelines.store.database.schema import journal, notified, patterns

            believed = set(connection.execute(select(patterns.c.person, patterns.c.id)))
            assert set(connection.execute(select(journal.c.person, journal.c.pattern))) == believed
            assert set(connection.execute(select(notified.c.person, notified.c.pattern))) == believed
    if "://" not in place:
        assert where_is(place, "omar") == []
        assert where_is(str(tmp_path / "old" / "any"), "omar") == []


def test_nothing_is_done_when_it_is_only_shown(place: str) -> None:
    with open_store(place) as store:
        store.observe(BOTH)
        before = dump_of(store)
        assert store.forget(user="ada", dry_run=True)
        assert store.forget(user=ALL_USERS, people=[OMAR], dry_run=True)
        assert dump_of(store) == before


def test_what_the_store_believes_is_as_if_it_had_never_been_seen(place: str, tmp_path: Path) -> None:
    """The same tables as in a store that never had the data, except for the log of erasures."""
    from sqlalchemy import select

    from pipelines.store.database.schema import journal, patterns

    def believed(store: Store) -> list[object]:
        with store.database.reading() as connection:
            return [
                connection.execute(
                    select(patterns.c.id, patterns.c.place, patterns.c.json).order_by("id")
                ).all(),
                connection.execute(
                    select(journal.c.pattern, journal.c.number, journal.c.json).order_by("pattern", "number")
                ).all(),
            ]

    since, until = date(2026, 1, 15), date(2026, 1, 28)
    left = ADA.observations.filter(~pl.col("local").dt.date().is_between(since, until))
    with open_store(place) as store, Store(tmp_path / "other.db", clock=lambda: ADA.as_of) as other:
        store.observe(ADA.observations)
        store.forget(user=ALL_USERS, since=since, until=until)
        other.observe(left)
        assert believed(store) == believed(other)
        assert store.patterns(ALL_USERS).to_ndjson() == expected(left)


def test_a_span_is_that_of_the_users_own_days(place: str) -> None:
    """07:00 in Tokyo on the 5th is still the 4th in UTC."""
    frame = regular("Tea", every(1, 5), user="bea", tz="Asia/Tokyo")
    with open_store(place) as store:
        store.observe(frame)
        store.forget(user="bea", since=date(2026, 1, 6), until=date(2026, 1, 7))
        assert store.observations(ALL_USERS).get_column("local").dt.day().to_list() == [5, 8, 9]


@pytest.mark.parametrize(
    "wish", [{"user": "ada"}, {"people": [OMAR]}, {"since": date(2026, 1, 15)}, {"pattern": ""}]
)
def test_reading_the_same_export_again_does_not_bring_it_back(place: str, wish: dict[str, object]) -> None:
    with open_store(place) as store:
        store.observe(BOTH)
        if "pattern" in wish:
            wish = {"pattern": next(p.id for p in store.patterns("ada").confirmed if p.evidence)}
        store.forget(**{"user": ALL_USERS, **wish})  # type: ignore[arg-type]
        left = store.observations(ALL_USERS)
        assert left.height < BOTH.height or not left.equals(BOTH.sort("user_id", "at", "id"))
        again = store.add(BOTH)
        assert not again.new
        assert again.forgotten
        assert store.observations(ALL_USERS).equals(left)
        assert store.allow_again(user=ALL_USERS)
        assert store.add(BOTH).new
        assert store.observations(ALL_USERS).height == BOTH.height


def test_what_a_forgotten_user_does_later_is_new(place: str) -> None:
    later = regular("Chess", every(1, 3, start=date(2027, 1, 1)))
    with open_store(place) as store:
        store.observe(ADA.observations)
        store.forget(user="ada")
        assert len(store.add(concat_observations([ADA.observations, later]))) == later.height


def test_a_person_stays_out_of_what_comes_later(place: str) -> None:
    with open_store(place) as store:
        store.observe(record(1, participants=[OMAR, "jon@example.org"]))
        store.forget(user=ALL_USERS, people=[OMAR])
        store.observe(record(2, participants=[OMAR.upper(), "jon@example.org"]))
        assert (
            store.observations(ALL_USERS).get_column("participants:list").to_list()
            == [["jon@example.org"]] * 2
        )
        assert store.allow_again(user=ALL_USERS, people=[OMAR])
        store.observe(record(3, participants=[OMAR]))
        assert OMAR in dump_of(store)


def test_a_pattern_goes_with_what_it_rests_on(place: str) -> None:
    with open_store(place) as store:
        store.observe(ADA.observations)
        pattern = next(p for p in store.patterns(ALL_USERS).confirmed if p.type == "temporal")
        shown = store.forget(user=ALL_USERS, pattern=pattern.id[:8], dry_run=True)
        done = store.forget(user=ALL_USERS, pattern=pattern.id)
        assert shown.counts == done.counts
        counts = {count.place: count.gone for count in done.counts}
        assert counts["observations"] >= pattern.support
        assert counts["patterns"] >= 1
        ids = set(ADA.observations.get_column("id")) - set(store.observations(ALL_USERS).get_column("id"))
        assert set(pattern.evidence) <= ids
        assert pattern.id not in {p.id for p in store.patterns(ALL_USERS).patterns}
        left = ADA.observations.filter(~pl.col("id").is_in(list(ids)))
        assert store.patterns(ALL_USERS).to_ndjson() == expected(left)


@pytest.mark.parametrize(
    ("features", "left"),
    [
        ({"participants": [OMAR, "jon"], "title": "Plans"}, {"participants": ["jon"], "title": "Plans"}),
        ({"participants": [OMAR]}, None),
        ({"to": [OMAR], "cc": ["jon"], "subject": "Hi"}, None),
        ({"to": ["jon"], "cc": [OMAR], "subject": "Hi"}, {"to": ["jon"], "subject": "Hi"}),
        ({"from_": f"Omar <{OMAR}>", "to": ["me", "jon"]}, None),
        ({"organizer": OMAR, "participants": ["jon"]}, {"participants": ["jon"]}),
        ({"organizer": OMAR}, None),
        ({"title": f"Lunch with {OMAR}", "program": "x"}, {"program": "x"}),
        ({"labels": ["a", OMAR]}, {"labels": ["a"]}),
        ({"labels": [OMAR], "n": 2.0}, {"n": 2.0}),
        ({OMAR: 3.0, "n": 2.0}, {"n": 2.0}),
        ({"link": "x?to=OMAR%40Example.org", "n": 2.0}, {"n": 2.0}),
        ({"participants": ["anna.omar@example.org"]}, {"participants": ["anna.omar@example.org"]}),
        ({"title": "kalomar@example.org"}, {"title": "kalomar@example.org"}),
    ],
    ids=str,
)
def test_an_observation_loses_the_person_or_goes(
    features: dict[str, object], left: dict[str, object] | None
) -> None:
    found = filter_observations(record(1, "ada", **features), SEAL.person(OMAR), SEAL)
    said = [
        {name.rpartition(":")[0]: value for name, value in row.items() if ":" in name and value is not None}
        for row in found.kept.iter_rows(named=True)
    ]
    assert said == ([] if left is None else [left])


@pytest.mark.parametrize(
    ("name", "text", "is_found"),
    [
        ("Omar Said", "with OMAR SAID.", True),
        ("Omar Said", "omar_said@example.org", True),
        ("Omar Said", "omar.said", True),
        ("Omar", "Omar's", True),
        ("Omar", "Kalomar", False),
        ("Omar", "omars", False),
        ("Zoë", "zoe\u0308 and", True),
        ("ZOË", "zoë", True),
        ("李雷", "和 李雷", True),
        ('O"Neil \\ Sons', 'o"neil \\ sons', True),
    ],
)
def test_a_name_is_found_by_whole_words_whatever_their_form(name: str, text: str, is_found: bool) -> None:
    found = filter_observations(record(title=text, n=1.0), SEAL.person(name), SEAL)
    assert ("title:text" in concat_observations([found.kept]).columns) is not is_found


def test_an_observation_whose_id_names_the_person_goes() -> None:
    frame = record(title="x").with_columns(id=pl.lit(f"<17.{OMAR}>"))
    assert filter_observations(frame, SEAL.person(OMAR), SEAL).kept.is_empty()


def test_a_person_is_forgotten_in_one_users_records_alone(place: str) -> None:
    frame = concat_observations([record(1, user, participants=[OMAR, "jon"]) for user in ("ada", "bea")])
    with open_store(place) as store:
        store.observe(frame)
        store.forget(user="ada", people=[OMAR])
        assert store.observations("ada").get_column("participants:list").to_list() == [["jon"]]
        assert store.observations("bea").get_column("participants:list").to_list() == [[OMAR, "jon"]]
        assert not store.add(frame).new


def test_somebody_who_is_a_user_too_is_not_forgotten_by_half(place: str) -> None:
    with open_store(place) as store:
        store.observe(record(1, OMAR, title="x"))
        with pytest.raises(SettingError, match=f"{OMAR} is also a user"):
            store.forget(user=ALL_USERS, people=[OMAR])


def test_a_wish_that_means_nothing_is_refused(place: str) -> None:
    with open_store(place) as store:
        store.observe(record())
        for wish, said in [
            ({}, "nothing to forget; name it"),
            ({"people": ["x"], "pattern": "1"}, "name only one of"),
            ({"people": ["@"]}, "takes addresses or names"),
            ({"pattern": "nope"}, "no pattern has an id that begins with 'nope'"),
            ({"since": date(2026, 2, 1), "until": date(2026, 1, 1)}, "is later than `until`"),
        ]:
            with pytest.raises(SettingError, match=said):
                store.forget(**{"user": ALL_USERS, **wish})  # type: ignore[arg-type, dict-item]


def test_two_do_not_forget_at_once(place: str) -> None:
    with open_store(place) as store, store.database.alone("tidying"):
        store.observe(record())
        with open_store(place) as other, pytest.raises(StoreError, match="try again when it is done"):
            other.forget(user="ada")


def test_what_was_forgotten_is_noted_without_its_content(place: str) -> None:
    with open_store(place) as store:
        store.observe(BOTH)
        store.forget(user=ALL_USERS, people=[OMAR])
        (noted,) = store.audit(ALL_USERS).forgotten
        assert noted.kind == "person"
        assert noted.at == ADA.as_of.astimezone(UTC)
        assert sum(noted.counts["observations"]) > 0
        assert store.audit(ALL_USERS).kept_out == {"person": 1}


def test_what_was_said_of_it_goes_too(place: str) -> None:
    with open_store(place) as store:
        store.observe(ADA.observations)
        store.remember(f"writes to {OMAR} first", user="ada")
        store.remember("prefers tea", user="ada")
        store.confirm(
            next(
                p.id
                for p in store.patterns(ALL_USERS).confirmed
                if p.source == "observed" and OMAR in str(p.rule)
            ),
            "ada",
        )
        done = store.forget(user=ALL_USERS, people=[OMAR])
        assert {count.place: count.gone for count in done.counts}["feedback"] == 2
        assert OMAR not in dump_of(store)
        assert [p.statement for p in store.patterns(ALL_USERS).patterns if p.source == "explicit"] == [
            "Prefers tea"
        ]


def test_a_word_on_what_nobody_believes_any_more_goes(place: str) -> None:
    """It would reveal the pattern."""
    with open_store(place) as store:
        store.observe(regular("Therapy", every(7, 12)))
        (pattern,) = (p for p in store.patterns(ALL_USERS).patterns if p.type == "temporal")
        store.confirm(pattern.id, "ada")
        store.forget(user=ALL_USERS, since=date(2026, 1, 1), until=date(2026, 12, 31))
        assert "therapy" not in dump_of(store).lower()
        assert not store.patterns(ALL_USERS).patterns


def test_the_profile_says_nothing_of_it(place: str) -> None:
    with open_store(place) as store:
        store.observe(ADA.observations)
        assert "omar" in store.profile("ada").markdown().lower()
        store.forget(user=ALL_USERS, people=[OMAR])
        assert "omar" not in store.profile("ada").markdown().lower()


def test_what_comes_in_meanwhile_does_not_stay(place: str) -> None:
    """Others go on writing records of the person, before, while and after they are forgotten."""
    pieces = [BOTH[start : start + 40] for start in range(0, BOTH.height, 40)]
    with open_store(place) as store:
        store.observe(BOTH[:200])

        def write() -> None:
            with open_store(place) as other:
                for piece in pieces:
                    other.add(piece)

        writer = threading.Thread(target=write)
        writer.start()
        store.forget(user=ALL_USERS, people=[OMAR])
        writer.join()
        assert OMAR not in dump_of(store)
        left = filter_observations(BOTH, SEAL.person(OMAR), SEAL).kept
        assert store.observations(ALL_USERS).equals(concat_observations([left.sort("user_id", "at", "id")]))


_TEXTS = st.sampled_from(
    [OMAR, OMAR.upper(), f"<{OMAR}>", f"to:{OMAR}, jon", "jon", "omar", "example.org", "", "x@y.z"]
)
_VALUES = st.one_of(_TEXTS, st.lists(_TEXTS, max_size=3), st.floats(0, 9), st.booleans())
_NAMES = st.sampled_from(["participants", "to", "cc", "from", "organizer", "title", "labels", "n"])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.dictionaries(_NAMES, _VALUES, max_size=4), min_size=1, max_size=6))
def test_nothing_names_them_afterwards_and_nobody_else_is_touched(said: list[dict[str, object]]) -> None:
    frame = concat_observations([record(day, "ada", **features) for day, features in enumerate(said, 1)])
    before = frame.clone()
    found = filter_observations(frame, SEAL.person(OMAR), SEAL)
    assert frame.equals(before)
    assert OMAR not in str(found.kept.to_dicts()).lower()
    assert filter_observations(found.kept, SEAL.person(OMAR), SEAL).is_untouched
    assert found.kept.height + found.gone.height == frame.height
    for row in frame.iter_rows(named=True):
        if OMAR not in str(row).lower():
            assert row in found.kept.to_dicts()


KILLED = """
    import os, signal, sys
    from datetime import datetime
    from pipelines import Store
    from pipelines.store import ALL_USERS, forgetting
    from pipelines.store.forget import erase

    def die(*_, **__):
        os.kill(os.getpid(), signal.SIGKILL)

    home, _, name = sys.argv[2].rpartition(".")
    owner = {"erase": erase, "forgetting": forgetting, "database": forgetting.Database}[home]
    setattr(owner, name, die)
    moment = datetime.fromisoformat(sys.argv[3])
    with Store(sys.argv[1], clock=lambda: moment) as store:
        store.forget(user=ALL_USERS, people=["omar@example.org"])
"""

STEPS = {
    "when a new archive is written": ("erase.write_file", False),
    "before the rules are kept": ("forgetting._suppress", False),
    "when it is out and nobody evaluated": ("forgetting.evaluate_people", True),
    "before the old files are gone": ("forgetting.sweep", True),
    "before the database is written anew": ("database.scrub", True),
}


@pytest.mark.parametrize("step", STEPS)
def test_killed_on_the_way_it_is_forgotten_wholly_or_not_at_all(step: str, tmp_path: Path) -> None:
    place, (name, is_out) = str(tmp_path / "habitus.db"), STEPS[step]
    frame = ADA.observations
    with open_store(place) as store:
        store.add(frame)
        store.archive(timedelta(days=20))
    words = [sys.executable, "-c", textwrap.dedent(KILLED), place, name, ADA.as_of.isoformat()]
    assert subprocess.run(words, cwd=Path(__file__).parents[1]).returncode == -signal.SIGKILL
    left = filter_observations(frame, SEAL.person(OMAR), SEAL).kept
    with open_store(place) as store:
        now = left if is_out else frame
        assert store.observations(ALL_USERS).equals(concat_observations([now.sort("user_id", "at", "id")]))
        assert store.patterns(ALL_USERS).to_ndjson() == expected_of_ada(without_omar=is_out)
        if is_out:
            assert store.finish_forgetting() == ()
        else:
            assert store.finish_forgetting() is None
            store.forget(user=ALL_USERS, people=[OMAR])
        assert store.finish_forgetting() is None
        assert store.patterns(ALL_USERS).to_ndjson() == expected_of_ada(without_omar=True)
        assert where_is(place, "omar") == []


def test_a_reader_that_holds_the_log_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader in another process prevents truncating the log; a warning is printed, and the next run does it."""
    monkeypatch.setattr("pipelines.store.database.connection.PATIENCE_SECONDS", 0.2)
    place = str(tmp_path / "habitus.db")
    with open_store(place) as store:
        store.observe(record(title="Secret"))
        with open_store(place) as other, other.database.reading() as reading:
            reading.exec_driver_sql("SELECT count(*) FROM people").scalar()
            (left,) = store.forget(user="ada").left
            assert left.startswith(f"{place}-wal, because another process is reading")
        assert store.finish_forgetting() == ()
        assert where_is(place, "secret") == []


def run(*words: str) -> str:
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command_shows_and_then_does(tmp_path: Path) -> None:
    place = str(tmp_path / "habitus.db")
    with open_store(place) as store:
        store.observe(
            concat_observations([record(1, participants=[OMAR]), record(2, participants=[OMAR, "jon"])])
        )
    wish = ["forget", "--db", place, "--user", "ada", "--person", OMAR]
    shown = run(*wish, "--dry-run")
    assert "would go" in shown
    assert re.search(r"observations +1 +1$", shown, flags=re.MULTILINE)
    assert where_is(place, OMAR)
    assert re.search(r"observations +1 +1$", run(*wish), flags=re.MULTILINE)
    assert where_is(place, OMAR) == []
    assert run(*wish) == "nothing found\n"
    assert orjson.loads(run(*wish, "--format", "json"))["kind"] == "person"
    assert run("forget", "--db", place, "--user", "ada", "--allow-again").startswith("2 rules removed")


@pytest.mark.parametrize("answer", ["n\n", "y\n"])
def test_a_terminal_is_asked_first(answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = str(tmp_path / "habitus.db")
    with open_store(place) as store:
        store.observe(record())
    monkeypatch.setattr("pipelines.cli.forget_commands._is_terminal", lambda: True)
    result = CliRunner().invoke(main, ["forget", "--db", place, "--user", "ada"], input=answer)
    assert "Forget this for good?" in result.output
    with open_store(place) as store:
        assert store.people() == ([] if answer == "y\n" else ["ada"])


def test_the_user_of_the_settings_is_not_whom_to_forget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "habitus.toml").write_text('user = "ada"\ndb = "habitus.db"\n')
    with open_store("habitus.db") as store:
        store.observe(record())
    result = CliRunner().invoke(main, ["forget"])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: nothing to forget; name it with")


def test_the_commands_of_the_privacy_page_run_and_she_is_gone(tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    (tmp_path / "fixtures").symlink_to(root / "fixtures")
    section = (root / "docs" / "privacy.md").read_text(encoding="utf-8").split("\n## Forget\n")[1]
    lines = section.split("```sh\n")[1].split("```")[0].splitlines()
    path = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for number, line in enumerate(lines):
        done = subprocess.run(line, shell=True, cwd=tmp_path, env=path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        if number == 1:
            assert "would go" in done.stdout
            assert "demo.db" in where_is(str(tmp_path / "demo.db"), "sarah")
    assert where_is(str(tmp_path / "demo.db"), "sarah") == []
    assert "on the suppression list: 2 persons" in done.stdout

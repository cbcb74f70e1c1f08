"""Any form of calendar file gives its components, and a broken line affects only itself."""

from __future__ import annotations

import codecs

import pytest

from observations.ingest.ical.parser import Component, Damage, Property, parse_calendars

WHOLE = "BEGIN:VCALENDAR\nX-WR-TIMEZONE:Europe/Oslo\nBEGIN:VEVENT\nUID:a\nSUMMARY:Tea\nEND:VEVENT\nEND:VCALENDAR\n"


def parse(content: str | bytes) -> tuple[list[Component], Damage]:
    """The calendars and the damage."""
    return parse_calendars(content.encode() if isinstance(content, str) else content)


def titles(content: str | bytes) -> list[str]:
    """The SUMMARY of every event, in order."""
    calendars, _ = parse(content)
    return [c.text("SUMMARY") for calendar in calendars for c in calendar.inside if c.name == "VEVENT"]


def ends(content: str | bytes) -> list[str]:
    """How every event ended."""
    calendars, _ = parse(content)
    return [c.end for calendar in calendars for c in calendar.inside if c.name == "VEVENT"]


# --- encodings and line ends ----------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n", "\n\n"])
def test_lines_end_in_any_way(end: str) -> None:
    calendars, damage = parse(WHOLE.replace("\n", end))
    assert [c.name for c in calendars[0].inside] == ["VEVENT"]
    assert calendars[0].text("X-WR-TIMEZONE") == "Europe/Oslo"
    assert damage == Damage()


def test_line_ends_may_be_mixed() -> None:
    assert titles(WHOLE.replace("\n", "\r\n", 2).replace("SUMMARY", "\rLOCATION:x\rSUMMARY")) == ["Tea"]


@pytest.mark.parametrize(
    "content",
    [
        codecs.BOM_UTF8 + WHOLE.encode(),
        codecs.BOM_UTF16_LE + WHOLE.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + WHOLE.encode("utf-16-be"),
        WHOLE.encode("utf-16-le"),
        WHOLE.encode("utf-16-be"),
        (codecs.BOM_UTF8 + WHOLE.encode()) * 2,  # two exports joined by cat
    ],
)
def test_marks_and_utf_16_are_known(content: bytes) -> None:
    assert set(titles(content)) == {"Tea"}


@pytest.mark.parametrize("size", range(1, 12))
@pytest.mark.parametrize("fold", ["\r\n ", "\n\t", "\r "])
def test_a_fold_may_stand_anywhere_also_within_a_character(size: int, fold: str) -> None:
    text = "SUMMARY:Größe 🙂 ok".encode()
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    end = fold[:-1].encode()
    content = (
        b"BEGIN:VCALENDAR\nBEGIN:VEVENT\n" + fold.encode().join(pieces) + end + b"END:VEVENT\nEND:VCALENDAR\n"
    )
    assert titles(content) == ["Größe 🙂 ok"]
    assert parse(content)[1] == Damage()


def test_text_that_is_not_utf_8_is_read_as_windows_1252_and_told() -> None:
    calendars, damage = parse(WHOLE.encode().replace(b"Tea", b"Caf\xe9"))
    assert calendars[0].inside[0].text("SUMMARY") == "Café"
    assert (damage.undecodable.count, damage.undecodable.first) == (1, 5)


def test_nuls_are_taken_out() -> None:
    assert titles(WHOLE.replace("Tea", "T\0ea\0")) == ["Tea"]


def test_separators_that_only_python_knows_are_no_line_ends() -> None:
    assert titles(WHOLE.replace("Tea", "a\u2028b\x0bc\x85d")) == ["a\u2028b\x0bc\x85d"]


# --- structure ------------------------------------------------------------------------------------------------


def test_text_before_between_and_after_calendars_is_told() -> None:
    calendars, damage = parse(f"---\nlayout: none\n\n---\n{WHOLE}\nand\n{WHOLE}\nend")
    assert len(calendars) == 2
    assert (damage.leading.count, damage.leading.first) == (3, 1)
    assert (damage.stray.count, damage.stray.first) == (2, 13)


def test_events_without_a_calendar_are_in_one_that_is_supplied() -> None:
    calendars, damage = parse("BEGIN:VEVENT\nSUMMARY:a\nEND:VEVENT\nBEGIN:VEVENT\nSUMMARY:b\nEND:VEVENT\n")
    assert [c.text("SUMMARY") for c in calendars[0].inside] == ["a", "b"]
    assert calendars[0].end == "given"
    assert damage == Damage()


def test_what_stands_in_an_alarm_is_not_the_events() -> None:
    alarm = "BEGIN:VALARM\nSUMMARY:Reminder\nDURATION:PT5M\nEND:VALARM\n"
    assert titles(WHOLE.replace("SUMMARY", alarm + "SUMMARY")) == ["Tea"]


@pytest.mark.parametrize("lost", ["END:VALARM\n", "END:VEVENT\n", "END:VALARM\nEND:VEVENT\n"])
def test_an_end_that_is_missing_costs_no_neighbour(lost: str) -> None:
    one = "BEGIN:VEVENT\nSUMMARY:{}\nBEGIN:VALARM\nACTION:AUDIO\nEND:VALARM\nEND:VEVENT\n"
    events = "".join(one.format(name) for name in "abc")
    content = f"BEGIN:VCALENDAR\n{events.replace(lost, '', 1)}END:VCALENDAR\n"
    assert titles(content) == ["a", "b", "c"]
    assert ends(content) == ["missing" if "VEVENT" in lost else "given", "given", "given"]


def test_a_begin_that_is_missing_is_counted_where_its_end_is() -> None:
    _, damage = parse(WHOLE.replace("BEGIN:VEVENT\n", ""))
    assert (damage.headless.count, damage.headless.first) == (1, 5)


def test_names_are_known_in_any_letter_case_and_lines_that_are_none_are_told() -> None:
    calendars, damage = parse(
        WHOLE.replace("SUMMARY", "garbage\n: x\nSu mmary:y\nsummary").replace("BEGIN:VE", "begin:ve")
    )
    assert calendars[0].inside[0].text("SUMMARY") == "Tea"
    assert (damage.bad.count, damage.bad.first) == (3, 5)


def test_a_file_cut_within_a_line_says_so_and_drops_that_line() -> None:
    whole = WHOLE.replace("SUMMARY:Tea", "SUMMARY:Tea\nLOCATION:Rome").rstrip("\n")
    cut = whole[: whole.index("me\nEND")]
    calendars, _ = parse(cut)
    event = calendars[0].inside[0]
    assert (event.end, event.text("SUMMARY"), event.text("LOCATION")) == ("cut", "Tea", "")
    assert calendars[0].end == "cut"


@pytest.mark.parametrize("rest", ["END:VEVENT", "END:VEV", "E", "END:VEVENT\n", "END:VEVENT\nEND:VCALE"])
def test_a_file_cut_after_an_events_last_property_has_the_whole_event(rest: str) -> None:
    content = WHOLE[: WHOLE.index("END:VEVENT")] + rest
    assert (titles(content), ends(content)) == (["Tea"], ["given"])


def test_line_numbers_count_folds_and_old_line_ends() -> None:
    calendars, _ = parse(
        WHOLE.replace("Europe/Oslo", "Eur\r ope/O\n slo").replace("\nBEGIN:VE", "\r\nBEGIN:VE")
    )
    assert calendars[0].inside[0].line == 5


def test_no_depth_of_nesting_is_a_danger() -> None:
    content = "BEGIN:VCALENDAR\n" + "BEGIN:X\n" * 50_000 + "END:Y\n" * 50_000
    _, damage = parse(content)
    assert damage.bad.count > 99_000


# --- properties -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "name", "expected", "value"),
    [
        ('ATTENDEE;CN="Okafor, Ada: 1":mailto:a@x', "CN", "Okafor, Ada: 1", "mailto:a@x"),
        ("ATTENDEE;CN=Bo;PARTSTAT=DECLINED:mailto:b@x", "PARTSTAT", "DECLINED", "mailto:b@x"),
        ('ATTENDEE;cn="a;b" ; cutype=ROOM:x', "CUTYPE", "ROOM", "x"),
        ("ATTENDEE:mailto:b@x", "CN", None, "mailto:b@x"),
        ('ATTENDEE;CN="never closed:mailto:b@x', "PARTSTAT", None, "mailto:b@x"),
    ],
)
def test_parameters(line: str, name: str, expected: str | None, value: str) -> None:
    calendars, _ = parse(f"BEGIN:VEVENT\n{line}\nEND:VEVENT\n")
    found = calendars[0].inside[0].all("ATTENDEE")[0]
    assert (found.parameter(name), found.value) == (expected, value)


def test_the_first_property_that_says_anything_counts() -> None:
    calendars, _ = parse(WHOLE.replace("SUMMARY:Tea", 'SUMMARY: \nSUMMARY;X="1":Tea\nSUMMARY:Cake'))
    event = calendars[0].inside[0]
    assert event.text("SUMMARY") == "Tea"
    assert event.first("SUMMARY") == Property('SUMMARY;X="1"', "Tea")
    assert event.first("LOCATION") is None

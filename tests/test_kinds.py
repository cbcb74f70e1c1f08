"""Titles of one kind of activity give the same kind; titles of different activities do not."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.titles.normalize import kinds_of

WORDS = ("planning", "harvest", "dentist", "zoë", "会議", "встреча", "naïve", "k8s", "straße")

names = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)
days = st.dates(date(1990, 1, 1), date(2040, 1, 1))


def kind(title: str | None) -> str | None:
    """The kind of one title."""
    only: str | None = kinds_of(pl.Series([title], dtype=pl.String)).item()
    return only


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("1:1 Ana (week 12)", "1:1 ana"),
        ("1:1 Ana (week 13)", "1:1 ana"),
        ("1-on-1 Ana", "1:1 ana"),
        ("1-1 Ana, 2026-1-1", "1:1 ana"),
        ("1:1 March planning", "1:1 march planning"),
        ("Ana's weekly 1:1s", "anas weekly 1:1"),
        ("Re: Invoice 2026-118", "invoice"),
        ("RE[2]: AW: Fwd: [Twisted-Python] Invoice #7", "invoice"),
        ("WG: SV: TR: invoice", "invoice"),
        ("[owner/repo] Fix login (#123)", "fix login"),
        ("ABC-123 fix login", "fix login"),
        ("fix login, abc1234def", "fix login"),
        ("fix login 550e8400-e29b-41d4-a716-446655440000", "fix login"),
        ("Release v1.2.3", "release"),
        ("Release 2.0.0-rc1", "release"),
        ("Planning – Mon, 2 March 2026", "planning"),
        ("Planning Apr 3, 2025", "planning"),
        ("Planung Mo., 2. März", "planung"),
        ("Planung KW12/2026", "planung"),
        ("Reunión 5 de mayo de 2026", "reunión"),
        ("2026年3月2日 会議", "会議"),
        ("会議12", "会議"),
        ("10:30 Standup", "standup"),
        ("Standup 9:30am-10", "standup"),
        ("Yoga (60min)", "yoga"),
        ("Sprint12 planning", "sprint planning"),
        ("Payment €120,00 due", "payment due"),
        ("backup 2026-03-02T10:00:00Z done", "backup done"),
        ("https://example.com/j/123?x=1 Sync", "sync"),
        ("Weekly-Sync w/ team", "weekly sync with team"),
        ("🎂 Ana’s Birthday 🎉", "anas birthday"),
        ("STRASSE ｆｅｇｅｎ", "strasse fegen"),
    ],
)
def test_what_changes_from_one_time_to_the_next_falls_away(title: str, expected: str) -> None:
    assert kind(title) == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Friday drinks", "friday drinks"),
        ("May planning", "may planning"),
        ("do 3 things", "do things"),
        ("B2 exam", "b2 exam"),
        ("k8s upgrade", "k8s upgrade"),
        ("5k run", "5k run"),
        ("café rené", "café rené"),
        ("regarding: review", "regarding review"),
    ],
)
def test_words_stay(title: str, expected: str) -> None:
    assert kind(title) == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Week 12", "week"),
        ("3 March", "march"),
        ("2026-118", "2026 118"),
        ("12:30", "12 30"),
        ("[123]", "123"),
        ("Re:", "re"),
        ("🎉  🎉", "🎉 🎉"),
        ("!!!", "!!!"),
        ("", None),
        (" \t", None),
        (None, None),
    ],
)
def test_a_title_with_nothing_else_keeps_what_it_has(title: str | None, expected: str | None) -> None:
    assert kind(title) == expected


@settings(deadline=None, max_examples=100)
@given(
    names, st.integers(0, 10**9), st.sampled_from(["{} {}", "{} #{}", "({1}) {0}", "{}: {}", "{}, no. {}"])
)
def test_numbers_do_not_matter(words: list[str], number: int, form: str) -> None:
    title = " ".join(words)
    assert kind(form.format(title, number)) == kind(title)


@settings(deadline=None, max_examples=100)
@given(
    names,
    days,
    st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%B %d, %Y", "%a %d %b", "%d %B", "%A, %d/%m/%y", "%b %Y"]),
)
def test_dates_do_not_matter(words: list[str], day: date, form: str) -> None:
    title = " ".join(words)
    assert kind(f"{title} ({day.strftime(form)})") == kind(title) == kind(f"{day.strftime(form)} {title}")


@settings(deadline=None, max_examples=100)
@given(
    names, st.sampled_from([" ", "-", " – ", "_", ", ", "  "]), st.sampled_from(["", "!", " …", "?", " 🙂"])
)
def test_case_and_punctuation_do_not_matter(words: list[str], between: str, end: str) -> None:
    assert kind(between.join(words).upper() + end) == kind(" ".join(words))


@settings(deadline=None, max_examples=100)
@given(
    names,
    st.lists(
        st.sampled_from(["Re:", "Fwd: ", "AW:", "RE[3]: ", "Re (2):", "[list-name] ", "回复："]), max_size=4
    ),
)
def test_prefixes_do_not_matter(words: list[str], prefixes: list[str]) -> None:
    title = " ".join(words)
    assert kind("".join(prefixes) + title) == kind(title)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.text(max_size=40), max_size=8))
def test_the_kind_of_a_kind_is_itself(titles: list[str]) -> None:
    kinds = kinds_of(pl.Series(titles, dtype=pl.String))
    assert kinds_of(kinds).equals(kinds)


PARTS = (
    "re",
    ":",
    "1",
    "1:1",
    "march",
    "mon",
    "12",
    "-",
    "week",
    "[x]",
    "abc-12",
    " ",
    "v2",
    "月",
    "'",
    "会",
    "10:30",
    "no",
)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.lists(st.sampled_from(PARTS), max_size=9).map("".join), max_size=8))
def test_the_kind_of_a_kind_is_itself_where_rules_meet(titles: list[str]) -> None:
    kinds = kinds_of(pl.Series(titles, dtype=pl.String))
    assert kinds_of(kinds).equals(kinds)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.text(max_size=20), min_size=1, max_size=8))
def test_a_title_is_judged_by_itself(titles: list[str]) -> None:
    """Neighbours and order change no title's kind."""
    kinds = kinds_of(pl.Series(titles)).to_list()
    assert kinds == [kind(title) for title in titles]


def test_every_character_can_be_read() -> None:
    """Every character of the planes in which scripts live, and every seventh beyond."""
    codes = [*range(0xD800), *range(0xE000, 0x12000), *range(0x12000, 0x110000, 7)]
    kinds = kinds_of(pl.Series([f"a{chr(code)}1" for code in codes]))
    assert kinds_of(kinds).equals(kinds)

"""Titles that differ slightly are one kind; other titles and other people stay separate."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from observations.titles import similarity as similar
from observations.titles.similarity import join_near_identical


def kinds(*counted: tuple[str, int], user: str = "me", type: str = "calendar") -> pl.DataFrame:
    """A frame of kinds with how often each occurred."""
    return pl.DataFrame(
        {
            "user_id": [user] * len(counted),
            "type": [type] * len(counted),
            "kind": [kind for kind, _ in counted],
            "count": [count for _, count in counted],
        },
        schema={"user_id": pl.String, "type": pl.String, "kind": pl.String, "count": pl.UInt32},
    )


def joins(frame: pl.DataFrame) -> dict[str, str]:
    """What is joined to what, of one user and type."""
    found = join_near_identical(frame)
    return dict(zip(found.get_column("kind"), found.get_column("joined"), strict=True))


@pytest.mark.parametrize(
    ("usual", "variant"),
    [
        ("weekly sync", "weekly synch"),
        ("weekly sync", "weekly sync with team"),
        ("weekly sync", "our weekly sync meeting"),
        ("weekly sync", "sync weekly"),
        ("sprint planning", "sprint planing"),
        ("sprint planning", "sprint plannign"),
        ("standup", "stand up"),
        ("design review", "design reviews"),
        ("café rené", "cafe rene"),
        ("1:1 ana", "1:1 with ana"),
        ("planungsrunde vertrieb", "planungsrunde mit dem vertrieb"),
        ("встреча команды", "встреча комманды"),
    ],
)
def test_the_same_in_slightly_other_words_is_joined(usual: str, variant: str) -> None:
    assert joins(kinds((usual, 9), (variant, 1))) == {variant: usual}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("design review", "budget review"),
        ("design review with the team", "budget review with the team"),
        ("1:1 ana", "1:1 anna"),
        ("1:1 daniel", "1:1 daniela"),
        ("lunch with maria", "lunch with marie"),
        ("sprint planning", "spring planning"),
        ("sprint review", "sprint preview"),
        ("team a sync", "team b sync"),
        ("board", "board meeting"),
        ("board meeting", "board meeting prep"),
        ("planning", "sprint planning"),
        ("exam1234", "exam12345"),
        ("週次会議", "週次会議室"),
    ],
)
def test_different_things_stay_apart(one: str, other: str) -> None:
    assert joins(kinds((one, 9), (other, 9))) == {}


def test_all_are_joined_to_the_most_frequent_and_no_chain_is_formed() -> None:
    """ "planninga" is a slip of "planningab" alone, which is itself a slip."""
    frame = kinds(("planningabc", 9), ("planningbc", 5), ("planningc", 2), ("planningabbc", 1))
    assert joins(frame) == {"planningbc": "planningabc", "planningabbc": "planningabc"}


def test_of_equals_the_first_in_the_alphabet_stays() -> None:
    assert joins(kinds(("weekly synch", 4), ("weekly sync", 4))) == {"weekly synch": "weekly sync"}


def test_nothing_is_joined_to_what_hardly_occurred() -> None:
    assert joins(kinds(("weekly sync", 2), ("weekly synch", 1))) == {}


def test_types_stay_apart() -> None:
    mail = kinds(("weekly sync", 9), type="email")
    assert join_near_identical(pl.concat([mail, kinds(("weekly synch", 9))])).is_empty()


def test_only_the_most_frequent_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = kinds(
        ("weekly sync", 9), ("garden", 8), ("weekly synch", 7), ("design review", 6), ("design reviews", 1)
    )
    monkeypatch.setattr(similar, "VOCABULARY", 3)
    assert joins(frame) == {"weekly synch": "weekly sync"}
    monkeypatch.setattr(similar, "VOCABULARY", 5)
    monkeypatch.setattr(similar, "ANCHORS", 3)
    assert joins(frame) == {"weekly synch": "weekly sync"}


@pytest.mark.parametrize(
    "frame", [kinds(), kinds(("a", 9)), kinds(("\x1c", 9), ("🎉", 9)), kinds(("", 9), ("b", 9))]
)
def test_little_or_odd_input_gives_no_joins(frame: pl.DataFrame) -> None:
    found = join_near_identical(frame)
    assert found.is_empty()
    assert found.schema == {"user_id": pl.String, "type": pl.String, "kind": pl.String, "joined": pl.String}


WORDS = (
    "planning",
    "plannign",
    "sprint",
    "sync",
    "synch",
    "weekly",
    "review",
    "with",
    "team",
    "café",
    "cafe",
)
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)
counted = st.dictionaries(
    st.one_of(words.map(" ".join), st.text(min_size=1, max_size=9)), st.integers(1, 9), max_size=14
)


@settings(deadline=None, max_examples=60)
@given(counted, counted, st.randoms(use_true_random=False))
def test_neither_order_nor_other_people_matter(
    mine: dict[str, int], theirs: dict[str, int], random: Random
) -> None:
    own = kinds(*mine.items())
    both = pl.concat([own, kinds(*theirs.items(), user="other")])
    order = random.sample(range(both.height), both.height)
    found = join_near_identical(both[order]).filter(pl.col("user_id") == "me")
    assert_frame_equal(found, join_near_identical(own), check_row_order=False)


@settings(deadline=None, max_examples=60)
@given(counted)
def test_what_others_are_joined_to_is_joined_to_nothing(mine: dict[str, int]) -> None:
    found = joins(kinds(*mine.items()))
    assert not set(found.values()) & set(found)
    assert all((-mine[usual], usual) < (-mine[variant], variant) for variant, usual in found.items())


@settings(deadline=None, max_examples=100)
@given(st.text("bcdfghklmnprst", min_size=8, max_size=14), st.data())
def test_a_slip_in_a_long_word_is_always_seen(word: str, data: st.DataObject) -> None:
    """The letters never fail to propose what the words would join."""
    at = data.draw(st.integers(1, len(word) - 2))
    for slip in (word[:at] + word[at + 1 :], word[:at] + word[at + 1] + word[at] + word[at + 2 :]):
        if slip != word:
            assert joins(kinds((word, 9), (slip, 1))) == {slip: word}


def slowly(counts: Sequence[tuple[str, int]]) -> dict[str, str]:
    """The definition, pair by pair, without letters proposing anything."""
    ranked = sorted(counts, key=lambda item: (-item[1], item[0]))
    target: dict[str, str] = {}
    for row, (kind, _) in enumerate(ranked):
        for usual, count in ranked[:row]:
            same = similar._same_wording(similar._wording(kind), similar._wording(usual))
            if usual not in target and count >= similar.ANCHOR_COUNT and same:
                target[kind] = usual
                break
    return target


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(words.map(" ".join), st.integers(1, 9), max_size=14))
def test_the_fast_way_agrees_with_the_slow_one(mine: dict[str, int]) -> None:
    assert joins(kinds(*mine.items())) == slowly(list(mine.items()))

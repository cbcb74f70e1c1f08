"""Derived features describe the time and kind of an observation, and change nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from observations.features import FEATURES, with_features
from observations.schema import BASE, empty_observations

MONDAY = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def observations(**columns: Sequence[object]) -> pl.DataFrame:
    """An observation frame, one row a minute from Monday 09:30, with these feature columns."""
    height = len(next(iter(columns.values())))
    at = [MONDAY + timedelta(minutes=row) for row in range(height)]
    base: dict[str, Sequence[object]] = {
        "id": [str(row) for row in range(height)],
        "user_id": ["me"] * height,
        "type": ["calendar"] * height,
        "action": ["created"] * height,
        "at": list(at),
        "local": [moment.replace(tzinfo=None) for moment in at],
        "tz": [None] * height,
        "actor": ["user"] * height,
    }
    base.update(columns)
    kinds = {"text": pl.String(), "flag": pl.Boolean()}
    schema = {name: BASE.get(name) or kinds[name.rpartition(":")[2]] for name in base}
    return pl.DataFrame(base, schema=schema)


def test_time_is_read_off_the_local_clock() -> None:
    sunday = MONDAY.replace(day=29, hour=23, minute=59, second=30, tzinfo=None)
    row = with_features(observations(local=[sunday])).row(0, named=True)
    assert (row["minute"], row["day"], row["weekday"]) == (23 * 60 + 59.5, date(2026, 3, 29), 6)


def test_a_thing_of_the_whole_day_has_no_minute() -> None:
    frame = with_features(observations(**{"all_day:flag": [True, False, None]}))
    assert frame.get_column("minute").to_list() == [None, 571.0, 572.0]


def test_the_kind_is_read_off_title_subject_or_command() -> None:
    frame = observations(
        **{
            "title:text": ["1:1 Ana (week 12)", None, None, None, None, " ", None],
            "subject:text": [None, "Re: Invoice 7", None, None, None, None, None],
            "subcommand:text": [None, None, "git commit", None, None, None, None],
            "program:text": [None, None, "git", "make", None, None, None],
            "command:text": [None, None, "git commit -m x", "make -C src", "  ls -l", None, None],
            "category:text": [None, None, None, None, None, "gym", None],
        }
    )
    kinds = with_features(frame).get_column("kind:text").to_list()
    assert kinds == ["1:1 ana", "invoice", "git commit", "make", "ls", None, None]


def test_a_kind_given_by_the_source_stays_where_nothing_else_says() -> None:
    frame = observations(**{"kind:text": ("walk", "walk"), "title:text": (None, "Dentist")})
    assert with_features(frame).get_column("kind:text").to_list() == ["walk", "dentist"]


@pytest.mark.parametrize("column", FEATURES)
def test_an_empty_frame_gets_the_same_columns(column: str) -> None:
    assert with_features(empty_observations()).schema[column] == FEATURES[column]


def test_slightly_other_words_are_joined_within_one_user_and_type() -> None:
    titles = ["Weekly sync"] * 4 + ["Weekly synch", "Weekly-Sync w/ team", "Weekly synch", "Weekly synch"]
    users, types = ["me"] * 6 + ["other", "me"], ["calendar"] * 7 + ["email"]
    frame = observations(**{"title:text": titles, "user_id": users, "type": types})
    assert (
        with_features(frame).get_column("kind:text").to_list() == ["weekly sync"] * 6 + ["weekly synch"] * 2
    )
    apart = with_features(frame, join_similar=False).get_column("kind:text").to_list()
    assert apart[4:6] == ["weekly synch", "weekly sync with team"]


def test_what_an_agent_wrote_does_not_decide_which_wording_stays() -> None:
    titles = ["Weekly sync"] * 3 + ["Weekly synch"] * 9
    frame = observations(**{"title:text": titles, "actor": ["user"] * 4 + ["agent"] * 8})
    assert with_features(frame).get_column("kind:text").unique().to_list() == ["weekly sync"]


def test_commands_are_never_joined() -> None:
    frame = observations(**{"subcommand:text": ["docker image"] * 5 + ["docker images"]})
    assert with_features(frame).get_column("kind:text").n_unique() == 2


TEXTS = ("Re: Invoice 7", "1:1 Ana", "git push", "Weekly sync", "Weekly synch", "weekly sync w/ team")
texts = st.one_of(st.none(), st.text(max_size=12), st.sampled_from(TEXTS))
frames = st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=12).map(
    lambda rows: observations(
        **{
            "title:text": [row[0] for row in rows],
            "subject:text": [row[1] for row in rows],
            "command:text": [row[2] for row in rows],
        }
    )
)


@settings(deadline=None, max_examples=60)
@given(frames)
def test_once_is_enough_and_the_input_stays(frame: pl.DataFrame) -> None:
    before = frame.clone()
    once = with_features(frame)
    assert_frame_equal(frame, before)
    assert_frame_equal(once.select(frame.columns), frame)
    assert_frame_equal(with_features(once), once)


@settings(deadline=None, max_examples=60)
@given(frames, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(frame: pl.DataFrame, random: object) -> None:
    order = list(range(frame.height))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert_frame_equal(with_features(frame[order]), with_features(frame)[order])


@settings(deadline=None, max_examples=60)
@given(frames, frames)
def test_another_users_rows_change_nothing(mine: pl.DataFrame, theirs: pl.DataFrame) -> None:
    both = pl.concat([mine, theirs.with_columns(user_id=pl.lit("other"))])
    assert_frame_equal(with_features(both).filter(pl.col("user_id") == "me"), with_features(mine))

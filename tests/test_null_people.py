"""The promise on people without habits: about at most one in twenty is anything confirmed, whatever shape a life has.

Everybody is evaluated in one call. The shapes, and what they have in common, are described in `tests.nulls`.
"""

from __future__ import annotations

import polars as pl
import pytest
from scipy import stats

from patterns.evaluate import evaluate
from patterns.registry import PATTERN_TYPES
from patterns.settings import Settings
from tests.nulls import BURSTY, SHAPES, ZONES, Shape, crowd

PROMISED = Settings().false_confirmation_rate
PEOPLE = 12
"""Of each shape: 240 people whose events come one by one, and 24 whose events come in bursts."""


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return crowd(PEOPLE, seed=2, shapes=SHAPES + BURSTY).with_columns(shape=shape_of())


@pytest.fixture(scope="module")
def confirmed(people: pl.DataFrame) -> pl.DataFrame:
    """Everything that is confirmed about anybody, all of it false."""
    return evaluate(people.drop("shape")).filter(status="confirmed").with_columns(shape=shape_of())


def shape_of() -> pl.Expr:
    return pl.col("user_id").str.split("/").list.first()


def named(shapes: tuple[Shape, ...]) -> list[str]:
    return [shape.name for shape in shapes]


def told(patterns: pl.DataFrame) -> list[tuple[object, ...]]:
    """For the message of a test that fails: what was said of whom."""
    return patterns.select("user_id", "statement", "support", "opportunities", "p_value").rows()


def surely_at_most(false: int, people: int) -> float:
    """The rate that lies above the truth with 95 % certainty (Clopper & Pearson 1934, one-sided)."""
    return float(stats.beta.ppf(0.95, false + 1, people - false))  # type: ignore[attr-defined]


def refutes(false: int, people: int) -> bool:
    """Whether so many are too many for the promise: at the promised rate they come once in a thousand times."""
    return bool(stats.binomtest(false, people, PROMISED, alternative="greater").pvalue < 0.001)  # type: ignore[attr-defined]


@pytest.mark.parametrize("type", PATTERN_TYPES)
def test_each_type_keeps_the_promise(confirmed: pl.DataFrame, type: str) -> None:
    """With 95 % certainty the true share of people with a false pattern of the type is below the promised one."""
    false = confirmed.filter(pl.col("shape").is_in(named(SHAPES)), type=type)
    assert surely_at_most(false.get_column("user_id").n_unique(), PEOPLE * len(SHAPES)) <= PROMISED, told(
        false
    )


def test_all_types_together_keep_the_promise(confirmed: pl.DataFrame) -> None:
    false = confirmed.filter(pl.col("shape").is_in(named(SHAPES)))
    assert false.get_column("user_id").n_unique() <= PROMISED * PEOPLE * len(SHAPES), told(false)


@pytest.mark.parametrize("shape", named(SHAPES))
def test_no_shape_of_life_breaks_it(confirmed: pl.DataFrame, shape: str) -> None:
    false = confirmed.filter(shape=shape)
    assert not refutes(false.get_column("user_id").n_unique(), PEOPLE), told(false)


@pytest.mark.parametrize("type", PATTERN_TYPES)
def test_bursts_do_not_break_it(confirmed: pl.DataFrame, type: str) -> None:
    false = confirmed.filter(pl.col("shape").is_in(named(BURSTY)), type=type)
    assert not refutes(false.get_column("user_id").n_unique(), PEOPLE * len(BURSTY)), told(false)


# --- the crowd is what it says ----------------------------------------------------------------------------------


def test_there_are_two_hundred_people_of_many_shapes(people: pl.DataFrame) -> None:
    counts = people.group_by("shape").agg(pl.col("user_id").n_unique())
    assert set(counts.rows()) == {(name, PEOPLE) for name in named(SHAPES + BURSTY)}
    assert PEOPLE * len(SHAPES) >= 200
    assert set(people.get_column("tz")) == set(ZONES)
    assert people.select(pl.struct("user_id", "id").is_unique().all()).item()


def test_the_shapes_are_what_they_say(people: pl.DataFrame) -> None:
    def of(shape: str) -> pl.DataFrame:
        return people.filter(shape=shape)

    assert set(of("twenty in all").group_by("user_id").len().get_column("len")) == {20}
    assert set(of("one source").get_column("type")) == {"calendar"}
    hours = of("night owls").get_column("local").dt.hour()
    assert hours.is_between(4, 18).sum() == 0
    assert (hours < 3).mean() == pytest.approx(3 / 8, abs=0.03)
    days = of("one busy day").group_by("user_id", pl.col("local").dt.date()).len()
    assert days.group_by("user_id").agg(pl.col("len").max()).select(pl.col("len").min()).item() >= 200
    weekend = of("quiet weekends").get_column("local").dt.weekday() > 5
    assert weekend.mean() == pytest.approx(0.3 / 5.3, abs=0.01)
    gaps = of("bursts").sort("user_id", "local").get_column("local").diff().dt.total_minutes()
    assert gaps.filter(gaps >= 0).to_frame("gap").select(pl.col("gap").median()).item() < 10
    growth = of("ever more").get_column("local").dt.ordinal_day()
    assert growth.to_frame("day").select((pl.col("day") > pl.col("day").min() + 42).mean()).item() > 0.65

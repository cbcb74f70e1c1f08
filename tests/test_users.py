"""Methods of the store act for one user: what they return is of that user alone, and nobody else's data changes."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from observations.errors import HabitusError
from observations.schema import concat_observations
from pipelines import Detection, Store
from pipelines.memory.profile import Profile
from pipelines.store.database.schema import metadata, people
from pipelines.store.pattern_queries import Shown
from tests.simulate import every, regular

NOW = datetime(2026, 2, 10, 12, tzinfo=UTC)
TEA, RUN = regular("Tea", every(1, 40)), regular("Run", every(7, 6), "12:00")
ADA = concat_observations([TEA, RUN])
BEA = concat_observations(
    [
        ADA.with_columns(user_id=pl.lit("beatrix"), id=pl.format("b-{}", "id")),
        regular("Private Garden", every(1, 40), "21:00", user="beatrix"),
    ]
)
FOREIGN = ("beatrix", "Private Garden", "private garden", "b-")
"""Words of the other user: her name, what only she does, the ids of her observations."""

Call = Callable[[Store, str], object]

OF_ONE_USER: dict[str, Call] = {
    "observations": lambda store, _: store.observations("ada"),
    "patterns": lambda store, _: store.patterns("ada"),
    "show": lambda store, id: store.show(id, "ada"),
    "history": lambda store, id: store.history(id, "ada"),
    "profile": lambda store, _: store.profile("ada"),
    "predict": lambda store, _: store.predict("ada", days=14),
    "backtest": lambda store, _: store.backtest("ada", days=7),
    "remember": lambda store, _: store.remember("prefers tea", user="ada"),
    "confirm": lambda store, id: store.confirm(id, "ada"),
    "dismiss": lambda store, id: store.dismiss(id, "ada"),
    "pin": lambda store, id: store.pin(id, "ada"),
    "audit": lambda store, _: store.audit("ada").to_json().replace(store.database.place, ""),
    "forget": lambda store, _: store.forget(user="ada", since=date(2026, 1, 10), until=date(2026, 1, 12)),
    "allow_again": lambda store, _: store.allow_again(user="ada"),
}
"""A call of every method that takes a user, for the user ada; with the id of one of her patterns."""


def test_every_method_that_takes_a_user_is_here() -> None:
    methods = inspect.getmembers(Store, inspect.isfunction)
    takes = {
        name for name, f in methods if "user" in inspect.signature(f).parameters and not name.startswith("_")
    }
    assert takes == set(OF_ONE_USER)


def open_store(path: Path) -> Store:
    return Store(path / "habits.db", clock=lambda: NOW)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of two users whose data are much alike, and in `alone` one that has only ada."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "alone").mkdir()
    with open_store(folder) as store, open_store(folder / "alone") as alone:
        alone.observe(ADA)
        store.observe(concat_observations([ADA, BEA]))
        garden = next(p for p in store.patterns("beatrix").patterns if "Garden" in p.statement)
        store.pin(garden.id, "beatrix")
        store.remember("hates private garden parties", user="beatrix")
        store.profile("beatrix")
    return folder


@pytest.fixture
def both(made: Path, tmp_path: Path) -> Iterator[Store]:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    with open_store(tmp_path) as store:
        yield store


def rows_of(store: Store, name: str) -> dict[str, list[object]]:
    """Every row of every table that belongs to a user."""
    with store.database.reading() as connection:
        number = connection.execute(people.select().where(people.c.name == name)).one().number
        return {
            table.name: [
                tuple(row)
                for row in connection.execute(
                    table.select().where((table.c.number if table is people else table.c.person) == number)
                )
            ]
            for table in metadata.sorted_tables
            if table is people or "person" in table.c
        }


def text_of(answer: object) -> str:
    """Everything that an answer says."""
    if isinstance(answer, Detection):
        return (
            answer.to_ndjson() + str(answer.observed.to_dicts()) + str((answer.people, answer.observations))
        )
    if isinstance(answer, pl.DataFrame):
        return str(answer.to_dicts())
    if isinstance(answer, Shown):
        behind = (
            "" if answer.behind is None else text_of(answer.behind.observed) + text_of(answer.behind.journal)
        )
        return f"{answer.pattern!r}{behind}"
    if isinstance(answer, Profile):
        return answer.markdown() + answer.json() + answer.to_text()
    if isinstance(answer, list):
        return "".join(map(text_of, answer))
    return str(asdict(answer)) if is_dataclass(answer) and not isinstance(answer, type) else repr(answer)


@pytest.mark.parametrize("method", OF_ONE_USER)
def test_nothing_of_another_user_is_returned_or_changed(both: Store, tmp_path: Path, method: str) -> None:
    """Beside the words of the other, the whole answer is that of a store that never knew her."""
    before, audited = rows_of(both, "beatrix"), both.audit("beatrix").observations
    with open_store(tmp_path / "alone") as alone:
        id = alone.patterns("ada").confirmed[0].id
        answer, expected = (OF_ONE_USER[method](store, id) for store in (both, alone))
        if method != "audit":  # the size of the file is that of the whole store
            assert text_of(answer) == text_of(expected)
        for word in FOREIGN:
            assert word not in text_of(answer)
        assert rows_of(both, "beatrix") == before
        assert both.audit("beatrix").observations == audited


@pytest.mark.parametrize("method", ["show", "history", "confirm", "dismiss", "pin"])
@pytest.mark.parametrize("which", ["whole", "prefix", "misspelt", "any"])
def test_a_pattern_of_another_user_is_as_unknown_as_one_that_does_not_exist(
    both: Store, method: str, which: str
) -> None:
    garden = next(p for p in both.patterns("beatrix").patterns if "Garden" in p.statement)
    id = {"whole": garden.id, "prefix": garden.id[:6], "misspelt": f"{garden.id[:-1]}x", "any": ""}[which]
    before = rows_of(both, "beatrix")
    with suppress(HabitusError):
        try:
            answer = OF_ONE_USER[method](both, id)
        except HabitusError as error:
            said = str(error).replace(repr(id), "")
            assert garden.id not in said
            for word in FOREIGN:
                assert word not in said
            raise
        assert "Garden" not in text_of(answer)
        assert which == "any"  # no id at all: one of ada's own, if she had a single one
    assert rows_of(both, "beatrix") == before


def test_an_unknown_user_has_nothing(both: Store) -> None:
    before = rows_of(both, "beatrix")
    assert both.observations("nobody").is_empty()
    found = both.patterns("nobody")
    assert (found.patterns, found.people, found.observations) == ((), 0, 0)
    assert both.profile("nobody") == Profile(None, ())
    assert both.predict("nobody") == []
    assert both.backtest("nobody").get_column("predictions").sum() == 0
    assert both.audit("nobody").observations == ()
    assert not both.forget(user="nobody")
    assert both.people() == ["ada", "beatrix"]
    assert rows_of(both, "beatrix") == before


def test_without_a_name_it_is_me_and_never_the_only_one_there_is(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.observe(ADA)
        assert store.patterns().patterns == ()
        assert store.profile().entries == ()
        assert store.observations().is_empty()
        assert store.remember("prefers tea").user_id == "me"
        assert store.people() == ["ada", "me"]


def test_what_one_user_forgot_another_keeps(both: Store) -> None:
    count = both.observations("beatrix").height
    both.forget(user="ada", since=date(2026, 1, 1))
    assert both.observations("ada").is_empty()
    assert both.observations("beatrix").height == count
    again = both.add(BEA)
    assert (again.new, again.forgotten) == (frozenset(), 0)
    assert both.changes() == [] or {change.user_id for change in both.changes()} <= {"ada"}
    both.archive(timedelta(days=15))
    assert both.observations("beatrix").height == count

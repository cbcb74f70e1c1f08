"""For any input and any chunks, the stream ends with the patterns of batch, and reports changes on the way."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from observations.export import to_ndjson
from observations.schema import concat_observations
from pipelines import Store, detect
from pipelines.store import ALL_USERS
from pipelines.store.context import clock_at
from pipelines.store.database.schema import journal, notified, patterns, shapes
from pipelines.streaming.line_sources import Pipe
from pipelines.streaming.stream import Stream
from tests.simulate import creature_of_habit, every, nobody_in_particular, regular, somebody_untidy
from tests.streams import OPTIONS, OwnEvaluator, stream_chunks

PEOPLE = concat_observations(
    [
        creature_of_habit(4, weeks=6).observations,
        nobody_in_particular(5, weeks=3, user="bea", tz="Asia/Tokyo").observations,
        somebody_untidy(6, weeks=4).observations.with_columns(user_id=pl.lit("cyd")),
    ]
)
AS_OF = creature_of_habit(4, weeks=6).as_of
LINES = to_ndjson(PEOPLE).splitlines(keepends=True)
EXPECTED = detect(PEOPLE.filter(pl.col("at") <= AS_OF), as_of=AS_OF).to_ndjson()


def contents(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """The journal, and the statuses last reported, by name."""
    with store.database.reading() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(select(*columns))))
            for table, columns in (
                (journal, (journal.c.pattern, journal.c.number, journal.c.json)),
                (notified, (notified.c.pattern, notified.c.status)),
            )
        }


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[object, ...]]]:
    """The content of a store to which everything was added at once."""
    with Store(tmp_path_factory.mktemp("once") / "habitus.db", clock=clock_at(AS_OF)) as store:
        store.observe(PEOPLE)
        return contents(store)


def test_one_by_one_and_all_at_once_end_the_same(
    place: str, once: dict[str, list[tuple[object, ...]]]
) -> None:
    with Store(place, clock=clock_at(AS_OF)) as store:
        run = stream_chunks(store, LINES)
        assert run.result.read == run.result.new == len(LINES)
        assert store.patterns(ALL_USERS).to_ndjson() == EXPECTED
        assert contents(store) == once


@given(data=st.data())
@settings(deadline=None, max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_order_any_chunks_and_doubles_end_the_same(
    tmp_path_factory: pytest.TempPathFactory, once: dict[str, list[tuple[object, ...]]], data: st.DataObject
) -> None:
    lines = data.draw(st.permutations(LINES))
    lines += data.draw(st.lists(st.sampled_from(LINES), max_size=50))
    text = b"".join(lines)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=12)) | {0, len(text)})
    chunks = [text[a:b] for a, b in pairwise(cuts)]
    with Store(tmp_path_factory.mktemp("any") / "habitus.db", clock=clock_at(AS_OF)) as store:
        stream_chunks(store, chunks, gap_seconds=data.draw(st.sampled_from([0, 0.06])))
        assert store.patterns(ALL_USERS).to_ndjson() == EXPECTED
        assert contents(store) == once


def test_a_run_told_again_tells_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "habitus.db", clock=clock_at(AS_OF)) as store:
        first = stream_chunks(store, [b"".join(LINES)])
        again = stream_chunks(store, [b"".join(LINES)])
    assert first.result.changes == len(first.changes) > 0
    assert (again.result.read, again.result.new, again.changes) == (len(LINES), 0, [])


def test_what_was_found_and_not_told_is_told_by_the_next_run(tmp_path: Path) -> None:
    """As after a kill between the two: the change is reported without waiting for the next observation."""
    with Store(tmp_path / "habitus.db", clock=clock_at(AS_OF)) as store:
        store.add(PEOPLE)
        found = [change for changes in store.evaluate() for change in changes]
        assert sorted(stream_chunks(store, []).changes, key=str) == sorted(found, key=str) != []
        assert stream_chunks(store, []).changes == []


def test_a_warm_up_leaves_nothing_behind(place: str) -> None:
    reading, writing = os.pipe()
    os.close(writing)
    with Store(place, clock=clock_at(AS_OF)) as store:
        before = contents(store)
        Stream(store, Pipe(reading), OPTIONS, OwnEvaluator(store), print, print).warm_up()  # type: ignore[arg-type]
        assert (store.people(), store.observations(ALL_USERS).height, contents(store)) == ([], 0, before)
        with store.database.reading() as connection:
            assert connection.execute(select(shapes)).all() == []
    os.close(reading)


def test_a_bad_line_is_named_and_its_neighbours_are_taken(tmp_path: Path) -> None:
    bad = [*LINES[:3], b"{broken\n", b'{"type": "tea", "timestamp": "yesterday"}\n', b"\n", *LINES[3:5]]
    with Store(tmp_path / "habitus.db", clock=clock_at(AS_OF)) as store:
        run = stream_chunks(store, bad, gap_seconds=0.01)
        assert store.observations(ALL_USERS).height == 5
    assert [(note.level, note.line) for note in run.notes if note.level == "reject"] == [
        ("reject", 4),
        ("reject", 5),
    ]
    assert (run.result.read, run.result.rejects, run.result.last_line) == (5, 2, 8)


def test_an_id_that_no_database_can_keep_is_a_reject(place: str) -> None:
    odd = [
        f'{{"id": "{id}", "type": "tea", "action": "brewed", "timestamp": "2026-01-05T07:00:00Z"}}\n'.encode()
        for id in ("x" * 601, "a\\u0000b", "é" * 600)
    ]
    with Store(place, clock=clock_at(AS_OF)) as store:
        run = stream_chunks(store, [*odd, LINES[0]], gap_seconds=0.01)
        assert store.observations(ALL_USERS).height == 2
    assert run.result.rejects == 2
    assert all(
        "has a NUL in it or more than 600 characters" in note.message
        for note in run.notes
        if note.level == "reject"
    )


# --- what is provisional -----------------------------------------------------------------------------------------

TEA = every(1, 14)
"""Tea at seven every morning."""


def tea_lines(days: list[date], at: str = "07:00") -> list[bytes]:
    return to_ndjson(regular("Tea", days, at)).splitlines(keepends=True)


@pytest.fixture
def almost(tmp_path: Path) -> tuple[Store, list[bytes]]:
    """A store in which a habit is one occasion away from being confirmed, and the lines still to come."""
    lines = tea_lines(TEA)
    for known in range(4, len(lines)):
        now = datetime.fromisoformat(f"{TEA[known - 1]}T12:00:00+00:00")
        time = [now]
        store = Store(tmp_path / f"{known}.db", clock=lambda time=time: time[0])  # type: ignore[misc]
        stream_chunks(store, lines[:known])
        with store.database.reading() as connection:
            soon = connection.execute(
                select(patterns.c.id).where(
                    patterns.c.status == "tracking", patterns.c.if_kept == "confirmed"
                )
            ).all()
        if soon:
            time[0] += timedelta(days=1)
            return store, lines[known:]
        store.close()
    raise AssertionError("the habit was never one occasion away")


def test_the_observation_that_confirms_is_answered_before_anything_is_evaluated(
    almost: tuple[Store, list[bytes]],
) -> None:
    store, lines = almost
    run = stream_chunks(store, lines[:1])
    first = run.changes[0]
    assert (first.before, first.after, first.provisional) == ("tracking", "confirmed", True)
    assert first.type == "temporal"
    assert first.at == f"{first.at[:10]}T07:00:00+00:00"
    # The evaluation at the end agrees, so it says no more about it.
    assert [c for c in run.changes[1:] if c.id == first.id] == []
    assert first.id in {p.id for p in store.patterns(ALL_USERS).confirmed}
    store.close()


def test_a_provisional_change_that_turns_out_different_is_put_right(
    almost: tuple[Store, list[bytes]],
) -> None:
    store, lines = almost
    provisional = stream_chunks(store, lines[:1]).changes[0]
    store.mark_notified([replace(provisional, after="expired")])  # as if it had been provisional wrongly
    store.add(regular("Coffee", [TEA[0]], "10:00"))
    changes = store.changes()
    assert [(c.before, c.after) for c in changes if c.id == provisional.id] == [("expired", "confirmed")]
    store.close()


def test_nothing_is_provisional_from_another_time_of_day(almost: tuple[Store, list[bytes]]) -> None:
    store, _ = almost
    day = store.clock().date()
    run = stream_chunks(store, tea_lines([day], "10:30"))
    assert [c for c in run.changes if c.provisional] == []
    store.close()


def test_a_history_that_doubles_is_evaluated_though_input_never_rests(tmp_path: Path) -> None:
    with Store(tmp_path / "habitus.db", clock=clock_at(AS_OF)) as store:
        run = stream_chunks(
            store, (b"".join(LINES[at : at + 40]) for at in range(0, 400, 40)), gap_seconds=0.01
        )
    assert True in run.evaluations

"""The profile that is read with `sqlite3` alone is the one that `Store.profile` returns; where it cannot tell, it says `None`."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines import Store
from pipelines.store.fast_profile import read_cached_profile
from tests.simulate import every, regular

END = datetime(2026, 3, 2, 8, tzinfo=UTC)
STEPS = st.lists(
    st.sampled_from(
        ["observe", "late", "ahead", "remember", "until", "dismiss", "pin", "ask", "changes", "wait"]
    ),
    max_size=6,
)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS, st.sampled_from([-400, -1, 0, 1, 30]), st.sampled_from(["me", "bea", "nobody"]))
def test_it_gives_the_answer_of_the_store_or_none(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], days: int, user: str
) -> None:
    """Whatever happened to the store, and at whatever time it is asked about."""
    path = tmp_path_factory.mktemp("store") / "habits.db"
    now = [END]
    with Store(path, clock=lambda: now[0]) as store:
        store.observe(regular("Tea", every(1, 56), user="me"))
        for step in steps:
            apply(store, step, now)
        moment = now[0] + timedelta(days=days)
        fast = read_cached_profile(path, user, moment)
        assert fast is None or fast == store.profile(user, as_of=moment)
        store.profile("me")
        assert read_cached_profile(path, "me", now[0]) == store.profile("me")


def apply(store: Store, step: str, now: list[datetime]) -> None:
    """Change the store in one of the ways that can make a cached profile wrong."""
    if step == "observe":
        store.observe(regular("Run", every(1, 50), "12:00", user="me"))
    elif step == "late":
        store.add(regular("Swim", every(7, 8), "18:00", user="me"))
    elif step == "ahead":
        store.observe(regular("Dentist", every(1, 1, now[0].date() + timedelta(days=1)), "09:00", user="me"))
    elif step == "remember":
        store.remember("prefers tea")
    elif step == "until":
        store.remember("is on holiday", until=now[0] + timedelta(days=10))
    elif step in ("dismiss", "pin"):
        patterns = [p for p in store.patterns().patterns if p.source == "observed"]
        if patterns:
            getattr(store, step)(patterns[0].id)
    elif step == "ask":
        store.profile()
    elif step == "changes":
        store.changes()
    else:
        now[0] += timedelta(days=20)


def test_what_it_cannot_read_is_left_to_the_store(tmp_path: Path) -> None:
    missing = tmp_path / "missing.db"
    assert read_cached_profile(missing, "me") is None
    assert not missing.exists()
    assert read_cached_profile("postgresql+psycopg://127.0.0.1:1/none", "me") is None
    text = tmp_path / "letter.txt"
    text.write_text("Dear Ada, " * 500)
    assert read_cached_profile(text, "me") is None
    older = tmp_path / "older.db"
    with Store(older, clock=lambda: END) as store:
        store.observe(regular("Tea", every(1, 56), user="me"))
    assert read_cached_profile(older, "me", END) is not None
    with sqlite3.connect(older) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    connection.close()
    assert read_cached_profile(older, "me", END) is None


def test_it_imports_nothing_that_is_slow_to_import() -> None:
    code = (
        "import sys, pipelines.store.fast_profile\n"
        "print([m for m in ('sqlalchemy', 'polars', 'numpy', 'scipy', 'patterns', 'alembic', 'rich') if m in sys.modules])"
    )
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

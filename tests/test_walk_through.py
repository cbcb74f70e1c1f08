"""The commands of `docs/walkthrough.md` print what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doc_pages import Step, first_difference, run_page

PAGE = "docs/walkthrough.md"
Printed = list[tuple[Step, tuple[str, ...]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("walk")


@pytest.fixture(scope="module")
def session(folder: Path) -> Printed:
    return list(run_page(PAGE, folder))


def printed_by(session: Printed, beginning: str) -> str:
    """What the first command that begins so prints."""
    return next("\n".join(printed) for step, printed in session if step.command.startswith(beginning))


def test_each_command_prints_what_is_shown(session: Printed) -> None:
    for step, printed in session:
        difference = first_difference(step.shown, printed)
        assert difference is None, f"$ {step.command}\n{difference}"


def test_the_sources_are_read(session: Printed) -> None:
    read = printed_by(session, "habitus sync")
    assert "2,419  2,419        0" in read
    assert "CCs sarah@example.com on legal mail: new → confirmed" in read


def test_the_stream_prints_the_new_habit(session: Printed) -> None:
    assert "invoices" in printed_by(session, "cut").splitlines()[0].casefold()
    assert '"before":"tracking","after":"confirmed"' in printed_by(session, "cut").splitlines()[0]


def test_the_profile_has_the_habits(session: Printed) -> None:
    profile = printed_by(session, "habitus profile").casefold()
    assert "gym" in profile
    assert "sarah@example.com" in profile


def test_the_prediction_has_the_next_dates(session: Printed) -> None:
    assert "Wed 2026-07-01 07:00" in printed_by(session, "habitus predict")


def test_a_forgotten_person_is_gone_from_every_file(session: Printed, folder: Path) -> None:
    assert session
    written = [path for path in (folder / "walk").iterdir() if path.name not in ("changes", "notes")]
    assert "walk.db" in {path.name for path in written}
    assert [path for path in written if b"sarah" in path.read_bytes().lower()] == []

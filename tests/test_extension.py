"""A source and a detector are added to a copy of the repository exactly as CONTRIBUTING.md says; every command runs on them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.doc_pages import ROOT, files, text

PAGE = "CONTRIBUTING.md"
CHANGES = re.findall(r"^Change `([\w./]+)`:\n\n```diff\n(.*?)^```$", text(PAGE), re.MULTILINE | re.DOTALL)


def changed(content: str, diff: str) -> str:
    """The content with each hunk of a diff applied; a hunk's old lines stand exactly once in it."""
    for hunk in re.split(r"^@@\n", diff, flags=re.MULTILINE):
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        new = "".join(line[1:] for line in lines if line[0] in " +")
        assert content.count(old) == 1, f"stands {content.count(old)} times:\n{old}"
        content = content.replace(old, new)
    return content


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the code with the toy source and the toy detector, and a diary beside it."""
    folder = tmp_path_factory.mktemp("clone")
    for package in ("observations", "patterns", "pipelines", "habitus"):
        if (ROOT / package).is_dir():
            shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    added = files(PAGE)
    assert len(added) == len(CHANGES) == 2
    for name, content in added.items():
        assert not (folder / name).exists()
        (folder / name).write_text(content, encoding="utf-8")
    for name, diff in CHANGES:
        path = folder / name
        path.write_text(changed(path.read_text(encoding="utf-8"), diff), encoding="utf-8")
    (folder / "life.diary").write_text(diary(), encoding="utf-8")
    return folder


def diary() -> str:
    """Four months of meetings at half past nine or at two, and of walks at odd minutes at any hour."""
    lines = ["#diary", "whenever Nothing"]
    for number in range(120):
        day = date(2026, 1, 1) + timedelta(days=number)
        lines.append(f"{day} {8 + number * 7 % 12:02}:{1 + number * 11 % 29:02} Walk")
        if number % 3 == 0:
            lines.append(f"{day} {('09:30', '14:00')[number % 2]} Meeting")
    return "\n".join(lines) + "\n"


def run(clone: Path, *words: str, stdin: str | None = None) -> str:
    """What a command of the changed program prints on standard output."""
    code = "from pipelines.cli.main import main; main(prog_name='habitus')"
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    ours = {"PYTHONPATH": str(clone), "HABITUS_DB": str(clone / "toy.db"), "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=clone,
        env=inherited | ours,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def observations(clone: Path) -> str:
    return run(clone, "ingest", "life.diary", "--tz", "Europe/Berlin")


@pytest.fixture(scope="module")
def stored(clone: Path, observations: str) -> list[dict[str, object]]:
    """The patterns of the toy type in a store that observed the diary."""
    changes = run(clone, "observe", "--as-of", "2026-04-30", stdin=observations)
    assert "round_time" in {json.loads(line)["type"] for line in changes.splitlines()}
    return toys(run(clone, "patterns", "--as-of", "2026-04-30", "--format", "ndjson", "--status", "all"))


def toys(ndjson: str) -> list[dict[str, object]]:
    found = [json.loads(line) for line in ndjson.splitlines()]
    return [pattern for pattern in found if pattern["type"] == "round_time"]


def test_the_source_is_read(clone: Path, observations: str) -> None:
    titles = [json.loads(line)["features"]["title"] for line in observations.splitlines()]
    assert (titles.count("Meeting"), titles.count("Walk")) == (40, 120)
    explained = run(clone, "ingest", "life.diary", "--tz", "Europe/Berlin", "--explain")
    assert re.search(r"life\.diary +diary +160", explained)
    assert "1 not read: the time cannot be read" in explained


def test_the_habit_is_detected(clone: Path) -> None:
    lines = run(
        clone, "detect", "life.diary", "--tz", "Europe/Berlin", "--type", "round_time", "--format", "ndjson"
    )
    (pattern,) = toys(lines)
    assert pattern["rule"] == {"where": {"type": "diary", "title": "Meeting"}} or pattern["support"] == 40
    assert "on the hour or half hour" in str(pattern["statement"])
    assert "on the hour or half hour" in run(clone, "detect", "life.diary", "--tz", "Europe/Berlin")


def test_the_store_answers(clone: Path, stored: list[dict[str, object]]) -> None:
    id = str(stored[0]["id"])
    assert "on the hour or half hour" in run(clone, "show", id, "--as-of", "2026-04-30")
    assert "confirmed" in run(clone, "history", id, "--as-of", "2026-04-30")
    assert "on the hour or half hour" in run(clone, "profile", "--as-of", "2026-04-30")
    run(clone, "predict", "--as-of", "2026-04-30", "--days", "3")
    run(clone, "predict", "--as-of", "2026-04-30", "--backtest", "--days", "7")


@pytest.mark.usefixtures("stored")
def test_the_report_has_its_heading(clone: Path) -> None:
    run(clone, "report", "-o", "page.html", "--as-of", "2026-04-30")
    page = (clone / "page.html").read_text(encoding="utf-8")
    assert "Round times" in page
    assert "on the hour or half hour" in page


@pytest.mark.usefixtures("stored")
def test_the_person_can_state_it(clone: Path) -> None:
    rule = '{"where": {"title": "Walk"}}'
    words = (
        "remember",
        "walks at round times",
        "--type",
        "round_time",
        "--rule",
        rule,
        "--as-of",
        "2026-04-30",
    )
    assert "remembered" in run(clone, *words)
    found = toys(run(clone, "patterns", "--as-of", "2026-04-30", "--format", "ndjson"))
    (stated,) = [pattern for pattern in found if pattern["source"] == "explicit"]
    assert stated["doubts"]
    run(clone, *words, "--undo")


def test_it_is_forgotten(clone: Path, stored: list[dict[str, object]]) -> None:
    run(clone, "forget", "--pattern", str(stored[0]["id"]), "--yes")
    run(clone, "forget", "--user", "me", "--yes")
    assert run(clone, "patterns", "--format", "ndjson", "--status", "all") == ""

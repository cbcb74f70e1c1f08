"""The walk through the store that the README shows, step by step as it is typed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

ROOT = Path(__file__).parents[1]
WALK = (ROOT / "README.md").read_text().partition("\n### A walk through it\n")[2].partition("\n### ")[0]
BIN = Path(sys.executable).parent


def block(kind: str) -> str:
    found = re.search(rf"^```{kind}\n(.*?)^```$", WALK, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each command prints, by its verb."""
    root = tmp_path_factory.mktemp("walk")
    (root / "fixtures").symlink_to(ROOT / "fixtures")
    folder = root / "walk"
    folder.mkdir()
    (folder / "habitus.toml").write_text(block("toml"))
    first, *commands = block("sh").splitlines()
    assert first == "cd walk"
    shown = {}
    for command in commands:
        environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        shown[re.findall(r"habitus (\w+)", command)[-1]] = done.stdout
    shown["files"] = "".join(
        p.read_bytes().decode("latin-1") for p in folder.iterdir() if p.name != "habitus.toml"
    )
    return shown


def test_the_sources_are_taken_in(printed: dict[str, str]) -> None:
    assert re.search(r"fixtures/demo +2,419 +2,419 +0", printed["sync"])
    assert "me: CCs sarah@example.com on legal mail: new → confirmed" in printed["sync"]


def test_the_stream_tells_what_changes(printed: dict[str, str]) -> None:
    changes = [orjson.loads(line) for line in printed["observe"].splitlines()]
    assert ("Has invoices at 12:00 on the 1st of the month", "tracking", "confirmed") in [
        (change["statement"], change["before"], change["after"]) for change in changes
    ]


def test_the_profile_says_it(printed: dict[str, str]) -> None:
    assert "- Has gym at 07:00 on Mondays, Wednesdays and Fridays\n" in printed["profile"]
    assert "- CCs sarah@example.com on legal mail\n" in printed["profile"]


def test_the_prediction_says_what_comes_next(printed: dict[str, str]) -> None:
    assert re.search(r"Wed 2026-07-01 07:00 +\d\d% +Gym", printed["predict"])


def test_what_was_forgotten_is_gone(printed: dict[str, str]) -> None:
    assert re.search(r"observations +\d+", printed["forget"])
    assert "Has gym at 07:00" in printed["patterns"]
    assert "sarah" not in printed["patterns"].casefold()
    assert "sarah" not in printed["files"].casefold()

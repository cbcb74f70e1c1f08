"""The configuration file habitus.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from observations.errors import SettingError
from pipelines.cli.config import Settings, find_settings, read_settings
from pipelines.cli.ingest_command import ingest


def test_the_nearest_file_upward_is_used(tmp_path: Path) -> None:
    """And none where there is none."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "habitus.toml").write_text('tz = "Asia/Tokyo"')
    assert find_settings(inner).tz == "Asia/Tokyo"
    (tmp_path / "a" / "habitus.toml").write_text('tz = "Europe/Berlin"')
    assert find_settings(inner).tz == "Europe/Berlin"


def test_names_are_those_of_the_options(tmp_path: Path) -> None:
    """With either sign between their words, and a mark at the beginning of the file."""
    path = tmp_path / "habitus.toml"
    path.write_text(
        'me = ["ada@x.org"]\nuser-field = "from"\nday_first = true\nsince = 2026-01-01\n[map]\ntimestamp = "Start"\n',
        encoding="utf-8-sig",
    )
    defaults = read_settings(path).as_defaults([ingest])
    assert defaults == {
        "ingest": {
            "me": ["ada@x.org"],
            "user_field": "from",
            "day_first": True,
            "since": "2026-01-01",
            "mapping": ["timestamp=Start"],
        }
    }


def test_nothing_said_is_nothing_set() -> None:
    """The options' own defaults stay."""
    assert Settings().as_defaults([ingest]) == {"ingest": {}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('tzz = "UTC"', r"unknown setting 'tzz'; did you mean tz\?"),
        ("allow-future = 3", "allow-future: .*, not 3"),
        ("tz = ", "habitus.toml: "),
        ("= =", "habitus.toml: "),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, content: str, message: str) -> None:
    """With the file, the setting and what it could have been."""
    path = tmp_path / "habitus.toml"
    path.write_text(content)
    with pytest.raises(SettingError, match=message) as caught:
        read_settings(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)

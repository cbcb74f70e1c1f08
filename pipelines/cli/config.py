"""``habitus.toml``: defaults for options, which the command line overrides."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from observations.errors import SettingError, did_you_mean
from pipelines.cli.config_path import config_path


class Settings(BaseModel):
    """The settings of a file: named like the options, with ``-`` or ``_`` between words.

    >>> Settings.model_validate({"tz": "Europe/Berlin", "user-field": "from"}).user_field
    'from'
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=lambda n: n.replace("_", "-"), populate_by_name=True
    )

    db: str | None = None
    sources: list[str] = Field(default_factory=list)
    user: str | None = None
    tz: str | None = None
    me: list[str] = Field(default_factory=list)
    user_field: str | None = None
    map: dict[str, str] = Field(default_factory=dict)
    since: datetime | date | str | None = None
    until: datetime | date | str | None = None
    day_first: bool | None = None
    allow_future: bool | None = None

    def as_defaults(self, commands: Sequence[click.Command]) -> dict[str, Any]:
        """The settings as click's ``default_map``: the defaults of the options of each command."""
        settings = self.model_dump(exclude_unset=True, exclude={"sources"})  # only `sync` uses them
        settings["mapping"] = [f"{name}={column}" for name, column in settings.pop("map", {}).items()] or None
        settings["place"] = settings.pop("db", None)
        for name in ("since", "until"):
            if name in settings:
                settings[name] = str(settings[name])
        given = {name: value for name, value in settings.items() if value is not None}
        return {
            command.name or "": {p.name: given[p.name] for p in command.params if p.name in given}
            for command in commands
        }


def find_settings(folder: Path | None = None) -> Settings:
    """The settings of the nearest ``habitus.toml`` in `folder` (default: the working folder) or above it.

    Raises:
        SettingError: the file cannot be read, or has an unknown setting or an invalid value.

    """
    path = config_path(folder)
    return Settings() if path is None else read_settings(path)


def read_settings(path: Path) -> Settings:
    """The settings in this file.

    Raises:
        SettingError: as `find_settings`.

    """
    try:
        settings = Settings.model_validate(tomllib.loads(path.read_text(encoding="utf-8-sig")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingError(f"{path}: {error}") from error
    except ValidationError as error:
        raise SettingError(f"{path}: {_problem(error)}") from error
    # Relative paths start at the folder of the file, because cron runs sync in another folder.
    places = [_from(path.parent, place) for place in settings.sources]
    db = None if settings.db is None or "://" in settings.db else _from(path.parent, settings.db)
    return settings.model_copy(update={"sources": places} | ({"db": db} if db else {}))


def _from(folder: Path, place: str) -> str:
    return str(folder / Path(place).expanduser())


def _problem(error: ValidationError) -> str:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = [field.replace("_", "-") for field in Settings.model_fields]
        return f"unknown setting {name!r}{did_you_mean(name, known) or '; there are ' + ', '.join(known)}"
    return f"{name}: {first['msg'].lower()}, not {first['input']!r}"

"""The ``--type`` option: a pattern type, checked against the registry."""

from __future__ import annotations

import click

TYPE_NAMES = "temporal, preference, relationship, workflow or avoidance"
"""For help texts, which must not load the detectors; a test compares it with `patterns.registry.PATTERN_TYPES`."""


class PatternTypeParam(click.ParamType[str]):
    """The name of a pattern type."""

    name = "TYPE"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, if there is such a type; else a usage error that suggests the nearest."""
        from observations.errors import SettingError
        from patterns.registry import kind_of

        try:
            return kind_of(value).type
        except SettingError as error:
            self.fail(str(error), param, ctx)


PATTERN_TYPE = PatternTypeParam()

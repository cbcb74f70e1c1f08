"""Translates messages of the library for the command line: option names in place of argument names."""

from __future__ import annotations

import re

import click

_ARGUMENT = re.compile(r"`([a-z_]+)`")


def in_options(message: str, command: click.Command | None = None) -> str:
    """The message with option names in place of argument names in backticks.

    Args:
        message: from the library, such as "`as_of` is before the first observation".
        command: the command with the options; the running one if None.
    """
    if command is None:
        context = click.get_current_context(silent=True)
        if context is None:
            return message
        command = context.command
    options = {p.name: p for p in command.params}

    def replaced(found: re.Match[str]) -> str:
        parameter = options.get(found[1])
        if isinstance(parameter, click.Option):
            return " or ".join([max(parameter.opts, key=len), *parameter.secondary_opts])
        return "SOURCE" if found[1] == "sources" else found[0]

    return _ARGUMENT.sub(replaced, message)

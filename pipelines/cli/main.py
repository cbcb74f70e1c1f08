"""The command line: the group of commands, and the conversion of errors to one line and an exit status.

Commands are imported lazily, and import their dependencies when they run: ``--help`` loads only click.
"""

from __future__ import annotations

import importlib
import signal
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import click

from observations.errors import HabitusError, did_you_mean
from pipelines.cli.config_path import config_path
from pipelines.cli.output.option_names import in_options

_MODULES: Mapping[str, str] = {
    "detect": "detect_command",
    "ingest": "ingest_command",
    "observe": "observe_commands",
    "sync": "observe_commands",
    "patterns": "pattern_commands",
    "show": "pattern_commands",
    "history": "pattern_commands",
    "profile": "profile_commands",
    "predict": "profile_commands",
    "remember": "feedback_commands",
    "confirm": "feedback_commands",
    "dismiss": "feedback_commands",
    "pin": "feedback_commands",
    "forget": "forget_commands",
    "archive": "forget_commands",
    "audit": "audit_command",
    "report": "report_command",
}
"""The module of each command, in the order in which the help lists them."""

_DEBUG = "habitus.debug"


def load_command(name: str) -> click.Command:
    """The command of that name."""
    command = getattr(importlib.import_module(f"pipelines.cli.{_MODULES[name]}"), name)
    assert isinstance(command, click.Command)
    if not any(parameter.name == "debug" for parameter in command.params):
        command.params.append(debug_option(hidden=True))
    return command


def all_commands() -> tuple[click.Command, ...]:
    """All commands, in the order in which the help lists them."""
    return tuple(map(load_command, _MODULES))


def debug_option(*, hidden: bool) -> click.Option:
    """The ``--debug`` option; hidden in subcommands, which accept it as well."""

    def keep(context: click.Context, _: click.Parameter, debug: bool) -> None:
        context.meta[_DEBUG] = context.meta.get(_DEBUG, False) or debug

    return click.Option(
        ["--debug"],
        is_flag=True,
        expose_value=False,
        hidden=hidden,
        callback=keep,
        envvar="HABITUS_DEBUG",
        help="Show the traceback of an error (also HABITUS_DEBUG=1).",
    )


class Commands(click.Group):
    """A group that loads its commands when needed, suggests one for a mistyped one, and prints errors as one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Names in the order of the help."""
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's signature
        """The command of that name; None if there is none."""
        return load_command(cmd_name) if cmd_name in _MODULES else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command named first in `args`; a usage error that suggests the nearest if there is none."""
        if args[0] not in _MODULES and not args[0].startswith("-"):
            hint = did_you_mean(args[0], _MODULES) or f"; there are {', '.join(_MODULES)}"
            raise click.UsageError(f"no command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error becomes one line and exit status 1, after its traceback if ``--debug`` is given."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # click prints these itself
        except Exception as error:
            if ctx.meta.get(_DEBUG):
                import traceback

                traceback.print_exc()
            raise click.ClickException(_line_of(error, ctx)) from error


def _line_of(error: Exception, ctx: click.Context) -> str:
    if isinstance(error, HabitusError):
        command = None if ctx.invoked_subcommand is None else load_command(ctx.invoked_subcommand)
        return in_options(str(error), command)
    if isinstance(error, OSError):
        return f"{error.filename or 'input or output'}: {error.strerror or error}"
    file, line = _place_of(error.__traceback__)
    what = f"internal error in {file}:{line} ({type(error).__name__}: {error})"
    return what if ctx.meta.get(_DEBUG) else f"{what}; rerun with --debug for the traceback"


def _place_of(trace: TracebackType | None) -> tuple[str, int]:
    """The innermost file of habitus in a traceback, and the line in it."""
    root = __file__.removesuffix("pipelines/cli/main.py")
    place = ("unknown", 0)
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        name = file.removeprefix(root)
        if file.startswith(root) and name.startswith(("observations/", "patterns/", "pipelines/")):
            place = (name, trace.tb_lineno)
        trace = trace.tb_next
    return place


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="habitus")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Find what a person habitually does, in the exports of the tools they use.

    Defaults of options are read from habitus.toml in this folder or one above it.

    \b
    Example:
      habitus detect calendar.ics mail.mbox --me maya@example.com
    """  # noqa: D301  click wants the control character
    # On SIGTERM, exit in order, so that temporary folders are deleted.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    path = config_path()
    if path is not None and ctx.invoked_subcommand is not None:
        from pipelines.cli.config import read_settings

        ctx.default_map = read_settings(path).as_defaults([load_command(ctx.invoked_subcommand)])


main.params.append(debug_option(hidden=False))

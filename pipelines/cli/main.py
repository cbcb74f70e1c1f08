"""The command line: the group of commands, and the one place where our errors become a line and an exit status."""

from __future__ import annotations

import signal
import sys
from typing import Any

import click

from observations.errors import HabitusError, did_you_mean
from pipelines.cli.audit_command import audit
from pipelines.cli.config import find_settings
from pipelines.cli.detect_command import detect
from pipelines.cli.feedback_commands import confirm, dismiss, pin, remember
from pipelines.cli.forget_commands import archive, forget
from pipelines.cli.ingest_command import ingest
from pipelines.cli.observe_commands import observe, sync
from pipelines.cli.pattern_commands import history, patterns, show
from pipelines.cli.profile_commands import predict, profile
from pipelines.cli.report_command import report

COMMANDS: tuple[click.Command, ...] = (
    detect,
    ingest,
    observe,
    sync,
    patterns,
    show,
    history,
    profile,
    predict,
    remember,
    confirm,
    dismiss,
    pin,
    forget,
    archive,
    audit,
    report,
)
"""All commands, in the order in which the help lists them."""


class Commands(click.Group):
    """A group that lists its commands in their own order, helps with a mistyped one, and shows no traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Names in the order of `COMMANDS`."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command named first in `args`; a usage error that suggests the nearest if there is none."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            hint = did_you_mean(args[0], self.commands) or f"; there are {', '.join(self.commands)}"
            raise click.UsageError(f"no command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what a person can mend is one line and exit status 1."""
        try:
            return super().invoke(ctx)
        except HabitusError as error:
            raise click.ClickException(str(error)) from error
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # click says these in its own way
        except OSError as error:
            raise click.ClickException(
                f"{error.filename or 'input or output'}: {error.strerror or error}"
            ) from error
        except Exception as error:
            message = (
                f"this is a fault of habitus, not yours ({type(error).__name__}: {error}); please report it"
            )
            raise click.ClickException(message) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="habitus")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Find what a person habitually does, in the exports of the tools they use.

    Settings are also read from habitus.toml in this folder or one above it; options win.

    \b
    Example:
      habitus detect calendar.ics mail.mbox --me maya@example.com
    """  # noqa: D301  click wants the control character
    if hasattr(signal, "siginterrupt"):
        # polars takes over SIGINT when imported, and restarts what it interrupts: Ctrl-C would wait for input.
        signal.siginterrupt(signal.SIGINT, True)
    # Asked to end, it ends in order: what was set down in temporary folders goes.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    ctx.default_map = find_settings().as_defaults(COMMANDS)


for command in COMMANDS:
    main.add_command(command)

"""``habitus audit``: what is stored, of whom and where."""

from __future__ import annotations

import click

from pipelines.cli.options import form_option, store_option


@click.command()
@store_option
@click.option("--user", metavar="NAME", help="Only what is stored of this user. [default: of everybody]")
@form_option("table", "json")
def audit(db: str | None, user: str | None, form: str) -> None:
    """Show what is stored of a user: kinds, counts, spans, for how long and where.

    \b
    Example:
      habitus audit
      habitus audit --user maya --format json
    """  # noqa: D301  click wants the control character
    from pipelines.cli.store_tables import print_audit
    from pipelines.store.store import Store

    with Store(db) as store:
        found = store.audit(user)
    if form == "json":
        click.echo(found.to_json())
    else:
        print_audit(found)

"""``habitus audit``: shows what is stored about users."""

from __future__ import annotations

import click

from pipelines.cli.options import form_option, note_unknown_user, store_option, users_option
from pipelines.store.users import Users


@click.command()
@store_option
@users_option("Whose data.")
@form_option("table", "json")
def audit(place: str | None, user: Users, form: str) -> None:
    """Show what is stored about a user: kinds, counts, time spans, retention and places.

    \b
    Example:
      habitus audit
      habitus audit --all-users --format json
    """  # noqa: D301  click wants the control character
    from pipelines.cli.output.store_tables import print_audit
    from pipelines.store.store import Store

    with Store(place) as store:
        note_unknown_user(store, user)
        found = store.audit(user)
    if form == "json":
        click.echo(found.to_json())
    else:
        print_audit(found)

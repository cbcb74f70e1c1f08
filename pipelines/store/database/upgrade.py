"""Upgrades older stores to the newest version, with one Alembic script per version."""

from __future__ import annotations

from sqlalchemy import Connection, inspect, text

from observations.errors import StoreError
from pipelines.store.database.version import NEWEST


def version_of(connection: Connection) -> str | None:
    """The version of the store, or `None` if the database has no store yet."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if version is None else str(version)


def migrate(connection: Connection, place: str) -> None:
    """Upgrade the store to the newest version, in the transaction of the connection.

    Raises:
        StoreError: a newer habitus wrote it, or the database holds something else.
    """
    version = version_of(connection)
    if version == NEWEST:
        return
    if version is None and inspect(connection).get_table_names():
        raise StoreError(place, "is a database, but not a habitus store; name another file with `place`")
    if version is not None and (not version.isdecimal() or version > NEWEST):
        raise StoreError(
            place,
            f"was written by a newer habitus (store version {version}, this one supports {NEWEST}); update habitus",
        )
    _upgrade(connection)


def _upgrade(connection: Connection) -> None:
    # Imported here: Alembic takes half a second to import and is needed once per version.
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", "pipelines.store:migrations")
    script = ScriptDirectory.from_config(config)

    def steps(revision: object, _: object) -> object:
        # What Alembic's `upgrade` command calls; the command needs an env.py with these same lines.
        return script._upgrade_revs(NEWEST, revision)  # type: ignore[arg-type]

    with EnvironmentContext(config, script, fn=steps) as environment:
        environment.configure(connection=connection)
        with environment.begin_transaction():
            environment.run_migrations()

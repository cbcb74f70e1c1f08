"""Versions of the store, and how an older one becomes the newest: by Alembic, one script a version."""

from __future__ import annotations

from sqlalchemy import Connection, inspect, text

from observations.errors import StoreError

NEWEST = "0002"
"""The version of `pipelines.store.schema`."""


def version_of(connection: Connection) -> str | None:
    """The version of the store behind a connection; null where there is none yet."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if version is None else str(version)


def migrate(connection: Connection, place: str) -> None:
    """Bring the store to the newest version, within the transaction of the connection.

    Raises:
        StoreError: a newer habitus wrote it, or what is there is no store of ours.
    """
    version = version_of(connection)
    if version == NEWEST:
        return
    if version is None and inspect(connection).get_table_names():
        raise StoreError(place, "is a database of something else; name another file with --db")
    if version is not None and (not version.isdecimal() or version > NEWEST):
        raise StoreError(
            place,
            f"was written by a newer habitus (its version is {version}, this one knows {NEWEST}); update habitus",
        )
    _upgrade(connection)


def _upgrade(connection: Connection) -> None:
    # Imported here: Alembic takes half a second, and is needed once in the life of a version.
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", "pipelines.store:migrations")
    script = ScriptDirectory.from_config(config)

    def steps(revision: object, _: object) -> object:
        # What Alembic's own `upgrade` calls; that command wants an env.py, which would hold these same lines.
        return script._upgrade_revs(NEWEST, revision)  # type: ignore[arg-type]

    with EnvironmentContext(config, script, fn=steps) as environment:
        environment.configure(connection=connection)
        with environment.begin_transaction():
            environment.run_migrations()

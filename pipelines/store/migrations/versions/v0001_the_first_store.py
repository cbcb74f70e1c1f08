"""The first store: people, their observations, and what follows from them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

Type = TypeEngine[Any]

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create all tables. Said in full and never changed: the tables of today are in ``pipelines.store.database.schema``."""
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    text, big, small = sa.Text(), sa.BigInteger(), sa.Integer()

    def column(name: str, type: Type) -> sa.Column[Any]:
        return sa.Column(name, type, nullable=False)

    def key(name: str, type: Type = text) -> sa.Column[Any]:
        return sa.Column(name, type, primary_key=True, autoincrement=False, nullable=False)

    def person() -> sa.Column[Any]:
        return sa.Column(
            "person",
            number,
            sa.ForeignKey("people.number"),
            primary_key=True,
            autoincrement=False,
            nullable=False,
        )

    op.create_table(
        "people",
        sa.Column("number", number, primary_key=True),
        sa.Column("name", text, nullable=False, unique=True),
        column("observations", big),
        sa.Column("newest", big),
        column("changed", big),
        column("evaluated", big),
        column("evaluated_rows", big),
        sa.Column("evaluated_at", big),
        sa.Column("stale_at", big),
    )
    op.create_table(
        "shapes",
        person(),
        key("number", small),
        column("said", text),
        sa.UniqueConstraint("person", "said", name="shapes_are_distinct"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "observations",
        person(),
        key("at", big),
        key("id"),
        key("version", big),
        column("shape", small),
        column("content", text),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "patterns",
        person(),
        key("id"),
        column("place", small),
        column("status", text),
        column("said", text),
        sa.Column("next_due", big),
        sa.Column("if_kept", text),
        sa.Column("if_missed", text),
        sa.Column("expires", big),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "journal",
        person(),
        key("pattern"),
        key("number", small),
        column("said", text),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "told",
        person(),
        key("pattern"),
        sa.Column("status", text),
        column("provisional", sa.Boolean()),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "profile",
        person(),
        column("said", text),
        column("changed", big),
        sa.Column("valid_until", big),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "words",
        person(),
        key("pattern"),
        key("word"),
        column("at", big),
        column("said", text),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "sources",
        key("label"),
        column("offset", big),
        column("lines", big),
        column("said", text),
        column("at", big),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "forgotten",
        sa.Column("number", number, primary_key=True),
        column("at", big),
        column("kind", text),
        column("said", text),
    )
    op.create_table("store", key("name"), column("said", text), sqlite_with_rowid=False)

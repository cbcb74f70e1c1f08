"""Archives beside the store, and what is kept out of it after it was forgotten."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the two tables. Said in full and never changed: those of today are in ``pipelines.store.database.schema``."""
    text, big = sa.Text(), sa.BigInteger()

    def key(name: str) -> sa.Column[Any]:
        return sa.Column(name, text, primary_key=True, nullable=False)

    op.create_table(
        "unwanted",
        key("kind"),
        key("digest"),
        key("owner"),
        sa.Column("words", sa.Integer()),
        sa.Column("since", big),
        sa.Column("until", big),
        sa.Column("latest", big),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "archives",
        key("place"),
        sa.Column("month", text, nullable=False),
        sa.Column("first", big, nullable=False),
        sa.Column("last", big, nullable=False),
        sa.Column("observations", big, nullable=False),
        sqlite_with_rowid=False,
    )

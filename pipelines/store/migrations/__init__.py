"""How the store of each released version becomes the next one (Alembic)."""

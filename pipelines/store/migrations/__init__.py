"""The migrations of the store, run by `pipelines.store.database.upgrade`: one script per version in ``versions``."""

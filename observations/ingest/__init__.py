"""Readers, one file a format. `READERS` is the table that finds the right one."""

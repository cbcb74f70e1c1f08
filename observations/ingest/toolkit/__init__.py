"""What every reader is written with: the interface, notes, encodings, SQLite files."""

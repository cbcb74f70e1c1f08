"""Output of the commands: tables, text, progress and notes."""

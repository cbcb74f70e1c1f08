"""What the commands print: tables, text, progress and notes."""

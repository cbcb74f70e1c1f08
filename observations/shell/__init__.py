"""Command lines: split into words, and the program each runs."""

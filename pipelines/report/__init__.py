"""The report: one page for looking at."""

"""From counted trials to patterns: significance, confidence, lifecycle, redundancy."""

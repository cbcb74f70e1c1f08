"""Rules: what a pattern says, for machines."""

"""The log of events as arrays, and what can be asked of it."""

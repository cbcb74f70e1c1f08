"""JSON logs: one record a line, arrays, and ActivityWatch."""

"""Everything that touches the world: batch, command line, settings."""

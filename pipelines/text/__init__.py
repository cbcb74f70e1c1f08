"""Text for people: sanitized, shortened, drawn."""

"""Shell histories."""

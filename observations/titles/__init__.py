"""Titles as kinds of thing: what is left of a title once what changes is gone."""

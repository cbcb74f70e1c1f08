"""The store: observations, what is believed, and how that came to be, in one database."""

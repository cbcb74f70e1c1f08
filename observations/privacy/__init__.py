"""Redaction of secrets, before anything is computed or stored."""

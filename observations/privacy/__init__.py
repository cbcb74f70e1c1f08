"""Secrets, removed from text before anything is computed or stored."""

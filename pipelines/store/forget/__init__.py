"""Forgetting: what is erased, and what stays out."""

"""Observations as they come: lines in, status changes out."""

"""Streaming: lines in, status changes out."""

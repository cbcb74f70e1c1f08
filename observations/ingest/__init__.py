"""Readers of exports, one file a format, and what finds and runs the right one."""

"""Calendars (iCalendar, RFC 5545)."""

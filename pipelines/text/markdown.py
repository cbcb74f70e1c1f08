"""Patterns as Markdown, for documents and notebooks."""

from __future__ import annotations

from collections.abc import Iterable

from patterns.model import Pattern
from pipelines.text.sanitize import plain


def to_markdown(patterns: Iterable[Pattern]) -> str:
    """The patterns as Markdown: a list for each person and type, each pattern with its figures."""
    lines: list[str] = []
    person = kind = ""
    ordered = sorted(patterns, key=lambda p: (p.user_id, p.type))
    several = len({p.user_id for p in ordered}) > 1
    for pattern in ordered:
        if several and pattern.user_id != person:
            lines += ["", f"# {_escaped(pattern.user_id)}"]
            kind = ""
        if pattern.type != kind:
            lines += ["", f"## {pattern.type.capitalize()}", ""]
        person, kind = pattern.user_id, pattern.type
        lines.append(
            f"- **{_escaped(pattern.statement)}**: confidence {pattern.confidence:.2f}, {_kept(pattern)}"
            + (f", {pattern.status}" if pattern.status != "confirmed" else "")
            + (f"; lacks {'; '.join(pattern.lacks)}" if pattern.lacks else "")
            + (f"; doubtful: {_escaped('; '.join(pattern.doubts))}" if pattern.doubts else "")
        )
    return "\n".join(lines).strip() + "\n" if lines else ""


def _kept(pattern: Pattern) -> str:
    if pattern.source == "explicit":
        return f"stated on {pattern.first_seen:%Y-%m-%d}"
    return f"kept {pattern.support} of {pattern.opportunities} times, last on {pattern.last_seen:%Y-%m-%d}"


def _escaped(text: str) -> str:
    text = plain(text)
    for sign in "\\`*_[]<>#|":
        text = text.replace(sign, f"\\{sign}")
    return text

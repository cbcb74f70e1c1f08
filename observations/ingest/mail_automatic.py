"""Mail that no person wrote to a person: auto-replies, newsletters, bots, calendar notifications.

Such mail is read like any other and marked, so that detectors can leave it out. What tells is what its sender
states (RFC 3834, RFC 2076, the headers of bulk mailers); names and subjects are believed only in forms that no
person uses. Mail of a discussion list is written by people and is not marked.
"""

from __future__ import annotations

import re
from functools import lru_cache

from observations.ingest.mail_headers import Fields


def is_automatic(fields: Fields, sender: str, subject: str) -> bool:
    """Whether a program wrote or mass-mailed it. `sender` is the address in From, `subject` is decoded."""
    return (
        not _PROGRAM_FIELDS.isdisjoint(fields)
        or _states_automatic(fields)
        or (("list-unsubscribe" in fields or "feedback-id" in fields) and not _is_discussion(fields))
        or _is_robot(sender)
        or _AUTOMATIC_SUBJECT.match(subject) is not None
        or _is_calendar_notification(fields)
    )


_PROGRAM_FIELDS = frozenset(
    {
        "x-autoreply",
        "x-autorespond",
        "x-auto-response-suppress",
        "x-failed-recipients",
        "x-cron-env",
        "x-github-reason",
        "x-campaign-id",
        "x-campaignid",
    }
)
_BULK = frozenset({"bulk", "junk", "auto_reply", "auto-reply"})
_REPORT = re.compile(r"\s*multipart/report\b", re.IGNORECASE)
_CALENDAR = re.compile(r"\s*(?:text/calendar\b|urn:content-classes:calendarmessage)", re.IGNORECASE)
_ROBOT = re.compile(
    r"(?:[^@]*[._+-])?"
    r"(?:no[._-]?reply|do[._-]?not[._-]?reply|dont[._-]?reply|mailer-daemon|postmaster|bounces?|auto[._-]?(?:reply|confirm|mailer)"
    r"|notifications?|notify|alerts?|newsletters?|mailing|robot|bot|cron|daemon|calendar-notification|jira|jenkins)"
    r"(?:[+=_.-][^@]*)?@|[^@]*\[bot\]@",
    re.IGNORECASE,
)
_AUTOMATIC_SUBJECT = re.compile(
    r"(?:automatic reply|auto(?:matic)?[ -]?reply|out of (?:the )?office|automatische antwort|abwesenheitsnotiz|"
    r"abwesend|réponse automatique|absence du bureau|respuesta automática|risposta automatica|fuori ufficio|"
    r"resposta automática|automatisch antwoord|afwezigheid|automatiskt svar|automatisk svar|autosvar|"
    r"automaattinen vastaus|odpowiedź automatyczna|automatická odpověď|otomatik yanıt|автоответ|自動返信|自动答复|"
    r"undelivered mail returned|delivery status notification|mail delivery failed|undeliverable)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=32_768)
def _is_robot(sender: str) -> bool:
    return _ROBOT.match(sender) is not None


def _states_automatic(fields: Fields) -> bool:
    submitted = fields.get("auto-submitted", "no").strip().lower()
    return (
        not submitted.startswith("no")
        or fields.get("precedence", "").strip().lower() in _BULK
        or fields.get("return-path", "").strip() == "<>"
        or _REPORT.match(fields.get("content-type", "")) is not None
    )


def _is_discussion(fields: Fields) -> bool:
    """Whether a mail with a link to unsubscribe is one of a list to which its members write."""
    post = fields.get("list-post", "").strip().lower()
    return (
        post not in ("", "no")
        or "mailing-list" in fields
        or fields.get("precedence", "").strip().lower() == "list"
    )


def _is_calendar_notification(fields: Fields) -> bool:
    return (
        _CALENDAR.match(fields.get("content-type", "")) is not None
        or _CALENDAR.match(fields.get("content-class", "")) is not None
        or "calendar-notification@" in fields.get("sender", "")
    )

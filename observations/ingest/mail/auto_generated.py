"""Mail that no person wrote to a person: auto-replies, newsletters, bots, calendar notifications.

Such mail is read like any other and marked, so that detectors can leave it out. What tells is what its sender
states (RFC 3834, RFC 2076, the headers of bulk mailers); names and subjects are believed only in forms that no
person uses. Mail of a discussion list is written by people and is not marked.
"""

from __future__ import annotations

import re
from functools import lru_cache

from observations.ingest.mail.headers import Fields


def is_automatic(fields: Fields, sender: str, subject: str) -> bool:
    """True if a program wrote or mass-mailed the message. `sender` is the address in From, `subject` is decoded."""
    return (
        not _PROGRAM_FIELDS.isdisjoint(fields)
        or _states_automatic(fields)
        or (not _BULK_FIELDS.isdisjoint(fields) and _is_bulk(fields))
        or _is_robot(sender)
        or _AUTOMATIC_SUBJECT.match(subject) is not None
    )


_PROGRAM_NAMES = """
    x-autoreply x-autorespond x-auto-response-suppress x-failed-recipients x-cron-env x-github-reason
    x-gitlab-notificationreason x-bugzilla-reason x-facebook-notify x-linkedin-class x-mc-user x-mandrill-user
    x-sg-eid x-mailgun-sid x-campaign x-campaignid x-campaign-id
"""
_PROGRAM_FIELDS = frozenset(_PROGRAM_NAMES.split())
_BULK_FIELDS = frozenset({"list-unsubscribe", "feedback-id", "precedence"})
_AUTOMATIC_CONTENT = re.compile(r"(?:multipart/report|text/calendar)\b", re.IGNORECASE)
_ROBOT = re.compile(
    r"(?:[^@]*[._+-])?"
    r"(?:no[._-]?reply|do[._-]?not[._-]?reply|dont[._-]?reply|no[._-]?responder|n[aã]o[._-]?responda|noreponse"
    r"|ne[._-]?pas[._-]?repondre|nicht[._-]?antworten|keine[._-]?antwort|non[._-]?rispondere|nie[._-]?odpowiadaj"
    r"|mailer-daemon|postmaster|bounces?|auto[._-]?(?:reply|confirm|mailer)|notifications?|notify|alerts?"
    r"|newsletters?|robot|bot|cron|calendar-notification|jira|jenkins)"
    r"(?:[+=_.-][^@]*)?(?:@|$)|[^@]*\[bot\]@",
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
    """True if the header marks an auto-reply, a delivery report or a message sent by a calendar."""
    return (
        ("auto-submitted" in fields and not fields["auto-submitted"].lower().startswith("no"))
        or fields.get("return-path") == "<>"
        or _AUTOMATIC_CONTENT.match(fields.get("content-type", "")) is not None
        or fields.get("message-id", "").startswith("<calendar-")  # Google Calendar's
        or fields.get("content-class", "").lower() == "urn:content-classes:calendarmessage"
        or "calendar-notification@" in fields.get("sender", "")
    )


def _is_bulk(fields: Fields) -> bool:
    """True if a mail that states precedence, or how to unsubscribe, does not come from a discussion list."""
    precedence = fields.get("precedence", "").lower()
    if precedence in ("junk", "auto_reply", "auto-reply"):
        return True
    is_discussion = fields.get("list-post", "no").lower() not in ("", "no") or "mailing-list" in fields
    return not is_discussion and precedence not in (
        "list",
        "normal",
        "first-class",
        "urgent",
        "special-delivery",
    )

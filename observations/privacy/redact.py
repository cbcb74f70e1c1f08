"""Redacts secrets in commands and other text before anything is computed or stored.

Passwords get into a history by accident, and no pattern needs them. `redact` puts `PLACEHOLDER` in its place
and leaves the rest of the line readable. It knows a secret by one of four things:

- **its own form**: keys of well-known services, JSON web tokens, private key blocks;
- **its place in a URL**: ``https://user:x@host``;
- **the name before it**: ``--password x``, ``API_KEY=x``, ``"token": "x"``, ``?sig=x``, ``Authorization: Bearer x``;
- **the program that takes it**: ``mysql -px``, ``curl -u user:x``, ``echo x | sudo -S`` (`observations.privacy.command_arguments`).

When in doubt it redacts: a redacted word is a nuisance, a missed password is a leak. What only *names* a secret
stays: ``$TOKEN``, ``--password-stdin``, ``--token-file path``.
"""

from __future__ import annotations

import re

from observations.privacy.assignments import NAME_HINTS, PLACEHOLDER, VALUE_FOLLOWS, redact_named
from observations.privacy.command_arguments import ARGUMENT_HINTS, redact_arguments
from observations.privacy.prefilter import any_of
from observations.privacy.tokens import KEY_HINTS, redact_keys

_LONG = 2_000
"""A longer text goes through every pass: the first looks take time that is quadratic in its length, if it wants."""

ANY_HINT = re.compile(any_of(KEY_HINTS + NAME_HINTS + ARGUMENT_HINTS))
PASSES = (
    (re.compile(any_of(KEY_HINTS)), redact_keys),
    (re.compile(any_of(NAME_HINTS) + VALUE_FOLLOWS), redact_named),
    (re.compile(any_of(ARGUMENT_HINTS)), redact_arguments),
)
"""Each pass with the first look, at the text in lower case, that says whether it has anything to do."""


def redact(text: str) -> str:
    """The text with every secret in it replaced by `PLACEHOLDER`; other text comes back unchanged.

    Redacting twice is redacting once.

    >>> redact("mysql -u root -phunter2 shop")
    'mysql -u root -p‹secret› shop'
    >>> redact("curl -H 'Authorization: Bearer abc.def' https://ada:pw@example.com/x")
    "curl -H 'Authorization: Bearer ‹secret›' https://ada:‹secret›@example.com/x"
    >>> redact("export GITHUB_TOKEN=$(pass github) PGPASSWORD=hunter2")
    'export GITHUB_TOKEN=$(pass github) PGPASSWORD=‹secret›'
    """
    if len(text) <= _LONG and not ANY_HINT.search(text.lower()):
        return text
    for look, redacted in PASSES:
        if len(text) > _LONG or look.search(text.lower()):
            text = redacted(text)
    return text


__all__ = ["ANY_HINT", "PASSES", "PLACEHOLDER", "redact"]

"""Secrets are taken out of commands and other text before anything is computed or stored.

A password in a history is there by accident, and no habit needs it. `redact` puts `PLACEHOLDER` in its place
and leaves the rest of the line readable. It knows a secret by one of four things:

- **its own form**: keys of well-known services, JSON web tokens, private key blocks;
- **its place in a URL**: ``https://user:x@host``;
- **the name before it**: ``--password x``, ``API_KEY=x``, ``"token": "x"``, ``?sig=x``, ``Authorization: Bearer x``;
- **the program that takes it**: ``mysql -px``, ``curl -u user:x``, ``echo x | sudo -S`` (`observations.secret_arguments`).

In doubt it redacts: a word too many is unreadable, a password too few is a leak. What only *names* a secret
stays: ``$TOKEN``, ``--password-stdin``, ``--token-file path``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

import polars as pl

from observations.secret_arguments import PROGRAM_HINTS, redact_arguments
from observations.secret_names import NAME_HINTS, PLACEHOLDER, redact_named

_KEYS = re.compile(
    r"""
    -----BEGIN[ ][A-Z0-9 ]*PRIVATE[ ]KEY(?:[ ]BLOCK)?-----.*?(?:-----END[ ][A-Z0-9 ]*-----|\Z)
  | PuTTY-User-Key-File-\d.*
  | (?<![A-Za-z0-9])(?:
        (?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{12,}                      # Amazon
      | (?:gh[pousr]|gh1|github_pat)_\w{16,}                      # GitHub
      | gl(?:pat|dt|rt|ptt|cbt|ft|soat|imt|agent|oas|ffct)-[\w.-]{10,}   # GitLab
      | xox[a-z](?:\.xox[a-z])?-[\w-]{8,} | xapp-[\w-]{10,}       # Slack
      | sk-[A-Za-z0-9][\w-]{11,}                                  # OpenAI, Anthropic and others after them
      | (?:sk|pk|rk)_(?:live|test)_\w{8,} | whsec_\w{10,}         # Stripe
      | AIza[\w-]{20,} | ya29\.[\w-]{10,} | GOCSPX-[\w-]{10,}     # Google
      | npm_\w{16,} | pypi-AgE[\w-]{10,} | rubygems_\w{16,} | dckr_(?:pat|oat)_[\w-]{10,}   # registries
      | do[opr]_v1_\w{16,} | pul-[0-9a-f]{16,} | nf[pcoub]_\w{16,} | hvs\.[\w-]{16,} | hvb\.[\w-]{16,}
      | tskey-[\w-]{10,} | \w{14}\.atlasv1\.[\w-]{16,} | dapi[0-9a-f]{24,} | ATATT3[\w=-]{16,}
      | hf_[A-Za-z]{16,} | gsk_\w{16,} | r8_\w{16,} | xai-\w{16,} | pplx-\w{16,} | nvapi-[\w-]{16,}
      | SG\.[\w-]{10,}\.[\w-]{10,} | key-[0-9a-f]{24,} | glsa_\w{16,} | sntry[su]_[\w=+/-]{16,}
      | lin_api_\w{16,} | figd_[\w-]{16,} | shp(?:at|ca|pa|ss)_\w{16,} | ntn_\w{16,} | EAA[A-Za-z0-9]{24,}
      | AGE-SECRET-KEY-1[0-9A-Z]{16,} | \d{8,10}:AA[\w-]{30,}     # age; Telegram
      | [MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}                   # Discord
      | eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)*                      # JSON web token
    )
  | (?<=hooks\.slack\.com/services/)[\w/-]+ | (?<=/api/webhooks/)\d+/[\w-]+
    """,
    re.VERBOSE | re.DOTALL,
)
_KEY_HINTS = (
    *(
        "-----begin",
        "putty-user",
        "akia",
        "asia",
        "abia",
        "acca",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "gh1_",
    ),
    *(
        "github_pat",
        r"gl[a-z]{2,5}-",
        r"xox[a-z][.-]",
        "xapp-",
        r"\bsk-",
        "sk_live",
        "sk_test",
        "pk_live",
        "pk_test",
    ),
    *(
        "rk_live",
        "rk_test",
        "whsec_",
        "aiza",
        r"ya29\.",
        "gocspx-",
        "npm_",
        "pypi-age",
        "rubygems_",
        "dckr_",
        "dop_v1",
    ),
    *(
        "doo_v1",
        "dor_v1",
        "pul-",
        "nfp_",
        "nfc_",
        "nfo_",
        "nfu_",
        "nfb_",
        r"hvs\.",
        r"hvb\.",
        "tskey-",
        "atlasv1",
        "dapi",
    ),
    *(
        "atatt3",
        "hf_",
        "gsk_",
        "r8_",
        "xai-",
        "pplx-",
        "nvapi-",
        r"sg\.",
        "glsa_",
        "sntry",
        "lin_api_",
        "figd_",
        "shp",
    ),
    *(
        "ntn_",
        "eaa",
        "age-secret",
        ":aa",
        r"\.[a-z0-9_-]{6}\.[a-z0-9_-]{27}",
        "eyj",
        r"slack\.com/serv",
        "/webhooks/",
    ),
    *(r"://[^/\s]*@", "bearer "),
)
"""Patterns, in lower case, of which one is in every text that holds such a key, or credentials in a URL."""

_CREDENTIALS = re.compile(
    r"""
    (?P<before>(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@'"`]*:)           # scheme://user:
    (?!\d{1,5}/)                                                  # a port, and an @ further on in the path
    [^\s'"`]*(?:'[^\s'"`]*)*                                      # the password; it may hold anything but blanks
    (?=@[^\s@'"`]*)
  | (?P<scheme>https?://)(?=[^\s/:@'"`]*[0-9]|[^\s/:@'"`]{10})[^\s/:@'"`]+(?=@)   # a token in place of a user
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BEARER = re.compile(r"(?<![\w-])(Bearer|bearer|BEARER)([ ]+)(?=[^\s'\"]*[0-9._=-])[A-Za-z0-9._~+/=-]{6,}")


def _any_of(hints: Iterable[str]) -> str:
    """One pattern for all of them, grouped by where and with which letter they begin.

    Python tries the alternatives of a pattern one by one at each place: 105 of them took 35 µs for a short line,
    grouped by letter they take 5 µs.
    """
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for hint in hints:
        edge, letter, rest = re.match(r"(\\b)?(\\?.)(.*)", hint).groups("")  # type: ignore[union-attr]
        groups[edge, letter].append(rest)
    loose = [f"{letter}(?:{'|'.join(rests)})" for (edge, letter), rests in groups.items() if not edge]
    bound = [f"{letter}(?:{'|'.join(rests)})" for (edge, letter), rests in groups.items() if edge]
    return rf"{'|'.join(loose)}|\b(?:{'|'.join(bound)})"


_HINTS = _any_of((*_KEY_HINTS, *NAME_HINTS, *PROGRAM_HINTS))
_SUSPICIOUS = re.compile(_HINTS)


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
    if not _SUSPICIOUS.search(text.lower()):
        return text
    text = _KEYS.sub(PLACEHOLDER, text)
    text = _CREDENTIALS.sub(lambda m: (m["before"] or m["scheme"]) + PLACEHOLDER, text)
    text = redact_named(text)
    text = _BEARER.sub(rf"\1\2{PLACEHOLDER}", text)
    return redact_arguments(text)


def redact_series(texts: pl.Series) -> pl.Series:
    """`redact` of each text; null stays null. Only texts that look suspicious are taken out of the column."""
    suspicious = texts.str.contains(f"(?i){_HINTS}").fill_null(False)
    if not suspicious.any():
        return texts
    doubtful = texts.filter(suspicious).unique()
    clean = pl.Series([redact(text) for text in doubtful.to_list()], dtype=pl.String)
    changed = doubtful != clean
    return texts.replace(doubtful.filter(changed), clean.filter(changed)) if changed.any() else texts

"""Secrets that are recognized by their form, anywhere in a text: keys of known services, credentials in a URL."""

from __future__ import annotations

import re

from observations.privacy.assignments import PLACEHOLDER

KEY_HINTS = r"""
    -----begin putty-user akia asia abia acca ghp_ gho_ ghu_ ghs_ ghr_ gh1_ github_pat gl[a-z]{2,5}- xox[a-z][.-] xapp-
    \bsk- sk_live sk_test pk_live pk_test rk_live rk_test whsec_ aiza ya29\. gocspx- npm_ pypi-age rubygems_ dckr_ dop_v1
    doo_v1 dor_v1 pul- nfp_ nfc_ nfo_ nfu_ nfb_ hvs\. hvb\. tskey- atlasv1 dapi atatt3 hf_ gsk_ r8_ xai- pplx- nvapi- sg\.
    glsa_ sntry lin_api_ figd_ shp ntn_ eaa age-secret :aa \.[0-9a-z_-]{6}\.[0-9a-z_-]{27} eyj slack\.com/serv /webhooks/
    key-[0-9a-f]{24} /bot\d ://[^/\s]*@ bearer\s
    """
"""Patterns, in lower case, of which one is in every text that holds one of them (`observations.privacy.prefilter`)."""

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
      | lin_api_\w{16,} | figd_[\w-]{16,} | shp(?:at|ca|pa|ss)_\w{16,} | ntn_\w{16,}
      | (?<![+_-])EAA(?=[A-Za-z0-9]*[G-Zg-z])[A-Za-z0-9]{24,}     # Facebook; a UID or hash that begins so is all hex
      | AGE-SECRET-KEY-1[0-9A-Z]{16,} | \d{8,10}:AA[\w-]{30,}     # age; Telegram
      | [MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}                   # Discord
      | eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)*                      # JSON web token
    )
  | (?<=/bot)\d{8,10}:[\w-]{20,}                                 # Telegram, in a URL
  | (?<=hooks\.slack\.com/services/)[\w/-]+ | (?<=/api/webhooks/)\d+/[\w-]+
    """,
    re.VERBOSE | re.DOTALL,
)
_CREDENTIALS = re.compile(
    r"""
    (?P<token>https?://)[^\s/:@'"`]+(?=:(?:x-oauth-basic)?@)        # a token in place of a user, once more
  | (?P<before>(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@'"`]*:)           # scheme://user:
    (?!\d{1,5}/)                                                  # a port, and an @ further on in the path
    [^\s'"`]*(?:'[^\s'"`]*)*                                      # the password; it may hold anything but blanks
    (?=@[^\s@'"`]*)
  | (?P<scheme>https?://)(?=[^\s/:@'"`]*[0-9]|[^\s/:@'"`]{10})[^\s/:@'"`]+(?=@)   # a token in place of a user
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BEARER = re.compile(r"(?<![\w-])(Bearer|bearer|BEARER)([ ]+)(?=[^\s'\"]*[0-9._=-])[A-Za-z0-9._~+/=-]{6,}")


def redact_keys(text: str) -> str:
    """The text with what has the form of a secret replaced by `PLACEHOLDER`."""
    text = _KEYS.sub(PLACEHOLDER, text)
    text = _CREDENTIALS.sub(lambda m: (m["token"] or m["before"] or m["scheme"]) + PLACEHOLDER, text)
    return _BEARER.sub(rf"\1\2{PLACEHOLDER}", text)

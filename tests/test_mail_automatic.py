"""Automatic mail is distinguished from mail that a person wrote."""

from __future__ import annotations

import pytest

from tests.mail_samples import read_one

AUTOMATIC = [
    ("Auto-Submitted: auto-replied",),
    ("Auto-Submitted: auto-generated; owner-email=x",),
    ("Precedence: bulk",),
    ("Precedence: junk",),
    ("Precedence: auto_reply", "List-Post: <mailto:builders@lists.x>"),
    ("Return-Path: <>",),
    ("X-Autoreply: yes",),
    ("X-Auto-Response-Suppress: All",),
    ("X-Failed-Recipients: bo@example.com",),
    ("List-Unsubscribe: <https://x.y/u>",),
    ("List-Unsubscribe: <https://x.y/u>", "List-Post: NO"),
    ("List-Unsubscribe: <https://x.y/u>", "List-Id: <news.x.y>"),
    ("Feedback-ID: 1:2:3:x",),
    ("Content-Type: multipart/report; report-type=delivery-status",),
    ("Content-Type: text/calendar; method=REPLY",),
    ("Sender: Google Calendar <calendar-notification@google.com>",),
    ("Message-ID: <calendar-1b6c2f0e-aa@google.com>",),
    ("From: No Reply <no-reply@x.y>",),
    ("From: noreply+abc@x.y",),
    ("From: shop-noreply@x.y",),
    ("From: donotreply@x.y",),
    ("From: Mail Delivery System <MAILER-DAEMON@x.y>",),
    ("From: MAILER-DAEMON (Mail Delivery System)",),
    ("From: Ada Okafor <notifications@github.com>",),
    ("From: build[bot] <build[bot]@x.y>",),
    ("From: newsletter@x.y",),
    ("From: bounces+12=bo@x.y",),
    ("Subject: Automatic reply: Roof",),
    ("Subject: Abwesenheitsnotiz: Roof",),
    ("Subject: =?utf-8?Q?R=C3=A9ponse_automatique_:_Roof?=",),
    ("Subject: Undelivered Mail Returned to Sender",),
    ("X-GitHub-Reason: mention", "List-Post: <mailto:a@b.c>"),
]
WRITTEN = [
    (),
    ("Auto-Submitted: no",),
    ("Precedence: list", "List-Unsubscribe: <https://x.y/u>", "List-Post: <mailto:builders@lists.x>"),
    ("Precedence: bulk", "List-Post: <mailto:builders@lists.x>"),
    (
        "Precedence: bulk",
        "Mailing-List: list builders@yahoogroups.com; contact builders-owner@yahoogroups.com",
    ),
    ("Mailing-List: list builders@googlegroups.com", "List-Unsubscribe: <https://x.y/u>", "Feedback-ID: 1"),
    ("Return-Path: <ada@example.com>",),
    ("From: abbot@x.y",),
    ("From: talbot@x.y",),
    ("From: alertsson@x.y",),
    ("Subject: Re: out of nails",),
    ("Subject: About the automatic reply",),
    ("Content-Type: multipart/alternative; boundary=x",),
    ("Precedence: normal",),
]


@pytest.mark.parametrize("lines", AUTOMATIC)
def test_what_programs_write_is_marked(lines: tuple[str, ...]) -> None:
    assert read_one(*lines)["automatic"] is True


@pytest.mark.parametrize("lines", WRITTEN)
def test_what_people_write_is_not_marked(lines: tuple[str, ...]) -> None:
    assert "automatic" not in read_one(*lines)

"""Labels and folders, in many languages, give the role of a mail."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.ingest.mail.folders import Labels, parse_labels, role_of, role_of_place


@pytest.mark.parametrize(
    ("raw", "role"),
    [
        ("Inbox,Unread,Category Updates", "inbox"),
        ("Sent,Opened", "sent"),
        ("Sent,Inbox", "sent"),
        ("Spam", "spam"),
        ("Trash,Opened", "trash"),
        ("Draft", "draft"),
        ("Chat", "chat"),
        ('"Clients, North",Inbox', "inbox"),
        ("Archived,Important", "inbox"),
        ("=?UTF-8?Q?Messages_envoy=C3=A9s,Ouvert?=", "sent"),
        ("=?UTF-8?Q?Bo=C3=AEte_de_r=C3=A9ception,Messages?= =?UTF-8?Q?_envoy=C3=A9s?=", "sent"),
        ("=?UTF-8?Q?Entw=C3=BCrfe?=", "draft"),
        ("Gesendet,Geöffnet", "sent"),
        ("Papierkorb", "trash"),
        ("Enviados,Abiertos", "sent"),
        ("Papelera", "trash"),
        ("Posta inviata", "sent"),
        ("Cestino", "trash"),
        ("Verzonden", "sent"),
        ("Prullenbak", "trash"),
        ("Wysłane", "sent"),
        ("Отправленные", "sent"),
        ("Корзина", "trash"),
        ("送信済み", "sent"),
        ("已发送", "sent"),
        ("보낸편지함", "sent"),
        ("", "inbox"),
        ("Presented,Sentiments,Trashy,Draft beer", "inbox"),
    ],
)
def test_what_gmail_labels_make_of_a_mail(raw: str, role: str) -> None:
    assert parse_labels(raw).role == role


def test_labels_with_commas_and_without_what_only_says_opened() -> None:
    assert parse_labels('"Clients, North",Inbox,Opened') == Labels(("Clients, North", "Inbox"), "inbox")
    assert parse_labels("=?UTF-8?Q?Ouvert,Ma=C3=A7onnerie?=").names == ("Maçonnerie",)
    assert parse_labels('"Say ""no""",x').names == ('Say "no"', "x")


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=60) | st.lists(st.sampled_from(['"', ",", "a", "\n", "\0", "=?utf-8?Q?"])).map("".join)
)
def test_no_labels_raise(raw: str) -> None:
    assert "" not in parse_labels(raw).names


def test_accents_written_apart_are_the_same_name() -> None:
    assert role_of("Entwu\u0308rfe") == role_of("Entwürfe") == role_of("ENTWÜRFE") == "draft"


@pytest.mark.parametrize(
    ("label", "role"),
    [
        ("/home/ada/Maildir/.Sent/cur/1712.M1.host:2,S", "sent"),
        ("/home/ada/Maildir/.INBOX.Sent/cur/1712.M1.host:2,S", "sent"),
        ("/home/ada/Maildir/.Sent.2023/cur/1712.M1.host:2,S", "sent"),
        ("/home/ada/Maildir/.Gesendete Objekte/cur/1712.M1.host:2,S", "sent"),
        ("/home/ada/Maildir/.Entw&APw-rfe/cur/1712.M1.host:2,S", "draft"),
        ("/home/ada/Maildir/.&BB4EQgQ,BEAEMAQyBDsENQQ9BD0ESwQ1-/cur/1712.M1.host:2,S", "sent"),
        ("/home/ada/Maildir/cur/1712.M1.host:2,S", None),
        ("/home/ada/Maildir/.Sent/cur/1712.M1.host:2,ST", "trash"),
        ("/home/ada/Maildir/.Sent/cur/1712.M1.host:2,DS", "draft"),
        ("/home/ada/Maildir/.Sent/cur/1712.M1.host:2,Sabt", "sent"),
        ("C:\\mail\\.Sent\\cur\\1712.M1.host;2,S", "sent"),
        ("backup.zip!Maildir/.Trash/new/1712.M1.host", "trash"),
        ("[Gmail]/Sent Mail/12.eml", "sent"),
        ("Trash/a/b/c/d/e/12.eml", None),
        ("mails/Sent.eml", None),
        ("Sent.eml", None),
    ],
)
def test_the_folder_of_a_message(label: str, role: str | None) -> None:
    assert role_of_place(label, is_folder=False) == role


@pytest.mark.parametrize(
    ("label", "role"),
    [
        ("Takeout/Mail/All mail Including Spam and Trash.mbox", None),
        ("Takeout.zip!Takeout/Mail/Spam.mbox", "spam"),
        ("Takeout.zip!Takeout/Mail/Gesendet.mbox", "sent"),
        ("Local Folders/Sent", "sent"),
        ("Local Folders/Sent.sbd/2023", "sent"),
        ("Sent Messages.mbox/mbox", "sent"),
        ("Junk.mbx", "spam"),
        ("presented.mbox", None),
    ],
)
def test_the_folder_that_an_mbox_is(label: str, role: str | None) -> None:
    assert role_of_place(label, is_folder=True) == role

"""Messages are split at real From_ lines, not at body lines that start with "From "."""

from __future__ import annotations

import io
import mailbox
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.ingest.mail import mbox as mail_boundaries
from observations.ingest.mail.mbox import begins_mbox, find_messages, read_first_header
from tests.mail_samples import ENVELOPE, mail, mbox


class Trickle(io.BytesIO):
    """Hands out a few bytes at a time, as a pipe may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size, 7) if size and size > 0 else size)


def headers(content: bytes) -> list[bytes]:
    return [message.header for message in find_messages(io.BytesIO(content))]


def count(*messages: str) -> int:
    return len(headers(mbox(*messages)))


@pytest.mark.parametrize(
    "body",
    [
        "Hello,\n\nFrom the quarry we got nothing.",
        "Hello,\n\nFrom here on it is Tuesday work:\nnails and glue.",
        "From here on",
        "a\n\nFrom Ada\nto Bo",
        "a\n\nFrom Monday on\nNote: nails",
        "a\n\nFrom Monday on\nSubject: nails\n\nglue",
        f"{ENVELOPE}\nis how it began",
        f"a\n\n{ENVELOPE}\nis how it began",
        "a\n\n>From ada@example.com Mon Mar  4 09:00:00 2024\nFrom: x\n",
        "a\n\n>>From ada\n\n From b\n\nFrom: c\nTo: d\n",
    ],
)
def test_a_body_line_that_starts_from_is_no_message(body: str) -> None:
    assert count(mail(body=body), mail()) == 2
    assert len(headers(mbox(mail(body=body), mail()).replace(b"\n", b"\r\n"))) == 2


@pytest.mark.parametrize(
    "envelope",
    [
        ENVELOPE,
        "From ada@example.com Mon Mar 4 09:00 2024",
        "From 1790000000000000000@xxx Mon Mar  4 09:00:00 +0000 2024",
        "From ada at example.com  Mon Mar  4 09:00:00 2024",
        "From - Thu Jan  1 00:00:00 1970",
        "From ???@??? Mon Mar 04 09:00:00 2024",
        "From ada@example.com  Mon, 4 Mar 2024 09:00:00 +0100",
        "From ada@example.com Mon Mar  4 09:00:00 CET 2024",
        "From MAILER-DAEMON 2024-03-04T09:00:00",
        "From nobody",
    ],
)
def test_from_lines_as_they_are_written(envelope: str) -> None:
    content = mbox(mail(), mail(), envelope=envelope)
    assert begins_mbox(content)
    messages = list(find_messages(io.BytesIO(content)))
    assert [message.envelope for message in messages] == [envelope.encode()] * 2
    assert [message.line for message in messages] == [1, 8]


def test_a_message_cut_off_before_the_next_costs_only_itself() -> None:
    cut_in_body = mail().rstrip("\n") + "\n"
    cut_in_header = mail().split("\n\n")[0][:-20] + "\n"
    assert count(cut_in_body, mail()) == 2
    assert count(cut_in_header, mail()) == 2
    messages = list(find_messages(io.BytesIO(mbox(cut_in_header, mail()))))
    assert [message.complete for message in messages] == [False, True]


def test_what_stands_before_the_first_from_line_is_a_message_of_its_own() -> None:
    assert headers(b"rom ada\n" + mbox(mail())) == [b"rom ada\n", *headers(mbox(mail()))]
    assert headers(b"rom ada\n" + mail().encode())[0].startswith(b"rom ada\nFrom: Ada")
    assert len(headers(b"some text\n\n" + mbox(mail()))) == 2
    assert len(headers(b"\n \r\n" + mbox(mail()))) == 1
    assert len(headers(b"\xef\xbb\xbf" + mbox(mail()))) == 1
    assert headers(b"") == headers(b" \n\n") == []


def test_a_content_length_that_is_true_covers_from_lines_that_nothing_quotes() -> None:
    body = f"Hello.\n\n{ENVELOPE}\nFrom: Cy <cy@example.com>\nDate: x\n\nforwarded"
    assert count(mail(body=body), mail()) == 3
    length = f"Content-Length: {len(body)}"
    assert count(mail(length, body=body), mail()) == 2
    assert count(mail(), mail(length, body=body)) == 2


@pytest.mark.parametrize("length", [0, 3, 5000, 10**14, 21])
def test_a_content_length_that_is_not_true_counts_for_nothing(length: int) -> None:
    assert count(mail(f"Content-Length: {length}"), mail(), mail()) == 3


def test_bare_carriage_returns_end_lines_where_there_is_nothing_else() -> None:
    assert len(headers(mbox(mail(), mail()).replace(b"\n", b"\r"))) == 2


def test_an_empty_body_ends_at_once() -> None:
    assert count(mail(body=""), mail(body=""), mail().split("\n\n")[0] + "\n\n") == 3


def test_a_header_that_never_ends_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail_boundaries, "HEADER_BYTES", 1000)
    messages = list(find_messages(io.BytesIO(mbox("X: y\n" * 1000, mail()))))
    assert [message.complete for message in messages] == [False, True]
    assert len(messages[0].header) <= 1000


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.sampled_from(["", "Hello.", "From a\n\nFrom b", "x" * 90, f"{ENVELOPE}\nb"]),
        min_size=1,
        max_size=6,
    ),
    st.booleans(),
    st.integers(1, 200),
)
def test_chunks_of_any_size_give_the_same_messages(bodies: list[str], crlf: bool, size: int) -> None:
    content = mbox(*[mail(f"Subject: {i}", body=body) for i, body in enumerate(bodies)])
    content = content.replace(b"\n", b"\r\n") if crlf else content
    whole = list(find_messages(io.BytesIO(content)))
    assert len(whole) == len(bodies)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mail_boundaries, "CHUNK_BYTES", size)
        patch.setattr(mail_boundaries, "HEADER_BYTES", 300)
        patch.setattr(mail_boundaries, "LOOK_AHEAD_BYTES", 300)
        assert list(find_messages(io.BytesIO(content))) == whole
        assert list(find_messages(Trickle(content))) == whole


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(alphabet="ab \n>", max_size=60), min_size=1, max_size=5))
def test_the_standard_library_agrees_where_every_body_is_quoted(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[str]
) -> None:
    path = tmp_path_factory.mktemp("oracle") / "mbox"
    path.write_bytes(mbox(*[mail(f"Subject: {i}", body=body) for i, body in enumerate(bodies)]))
    oracle = mailbox.mbox(path)
    ours = [header.split(b"Subject: ")[1].split(b"\n")[0].decode() for header in headers(path.read_bytes())]
    assert ours == [message["Subject"] for message in oracle]
    oracle.close()


def test_the_file_of_one_message_is_read_to_the_end_of_its_header_only() -> None:
    body = io.BytesIO(mail(body="x" * 10_000_000).encode())
    message = read_first_header(body)
    assert message.header.endswith(b"+0100\n")
    assert body.tell() < 100_000


def test_a_long_header_of_one_message_is_read_whole(tmp_path: Path) -> None:
    recipients = ",\n ".join(f"person{i}@example.com" for i in range(3000))
    message = read_first_header(io.BytesIO(mail(f"To: {recipients}").encode()))
    assert message.complete
    assert b"person2999@" in message.header

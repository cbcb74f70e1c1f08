"""What reading mail costs, against the standard library's header parser in the same run, and in memory."""

from __future__ import annotations

import base64
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.parser import BytesHeaderParser
from email.utils import format_datetime
from pathlib import Path
from time import process_time

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from observations.ingest.mail.mailbox import EML, MBOX
from observations.ingest.mail.mbox import find_messages
from observations.ingest.toolkit.reader import ReadOptions, Source

MESSAGES = 20_000
OPTIONS = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC), tz="Europe/Berlin", me=("me@example.com",))
WORDS = ("roof", "tiles", "quarry", "budget", "draft", "invoice", "nails", "review", "größe")
PEOPLE = [
    f"{first}.{last}@example.com"
    for first in ("ada", "bo", "cy", "dee")
    for last in ("okafor", "grün", "park", "diaz", "li")
]


def messages(count: int, seed: int = 1) -> Iterator[bytes]:
    """Messages as Gmail's Takeout writes them: 2 kB of header in 20 fields, bodies of 5 to 120 lines."""
    rng = random.Random(seed)
    lines = [base64.b64encode(rng.randbytes(54)).decode() for _ in range(200)]
    for number in range(count):
        at = datetime(2015, 1, 1, tzinfo=UTC) + timedelta(seconds=rng.randrange(10 * 365 * 86_400))
        writer, *others = rng.sample(PEOPLE, rng.choice((2, 2, 2, 3, 4)))
        words = " ".join(rng.choices(WORDS, k=5))
        subject = words if words.isascii() else f"=?UTF-8?B?{base64.b64encode(words.encode()).decode()}?="
        reply = f"References: <root{number}@x.example>\n <parent{number}@x.example>\nIn-Reply-To: <parent{number}@x.example>\n"
        signature = "\n        ".join(rng.choices(lines, k=6))
        date = format_datetime(at)
        yield (
            f"From 17{number:017d}@xxx {at:%a %b %d %H:%M:%S} +0000 {at.year}\n"
            f"X-GM-THRID: 17{number:017d}\nX-Gmail-Labels: {rng.choice(('Inbox,Opened', 'Sent', 'Spam', 'Archived'))}\n"
            f"Delivered-To: me@example.com\nReceived: by 2002:a05:6a20:3b84:b0:0:{number:x} with SMTP;\n        {date}\n"
            f"X-Received: by 2002:a17:902:ea08:b0:1dc with SMTP id s{number};\n        {date}\n"
            f"Return-Path: <{writer}>\nReceived: from mail.example.com (mail.example.com. [192.0.2.1])\n"
            f"        by mx.example.com with SMTPS id {number}\n        for <me@example.com>;\n        {date}\n"
            f"Authentication-Results: mx.example.com;\n       dkim=pass;\n       spf=pass smtp.mailfrom={writer}\n"
            f"DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed;\n        d=example.com; s=1;\n        {signature}\n"
            f"X-Gm-Message-State: {lines[0]}{lines[1]}\nMIME-Version: 1.0\n{reply if number % 2 else ''}"
            f"From: {named(writer)} <{writer}>\nDate: {date}\nMessage-ID: <{number}.{seed}@mail.example.com>\n"
            f"Subject: {subject}\nTo: {', '.join(f'{named(one)} <{one}>' for one in others)}\n"
            'Content-Type: multipart/alternative; boundary="000000000000abcdef"\n\n'
            + "\n".join(rng.choices(lines, k=rng.randint(5, 120)))
            + "\n\n"
        ).encode()


def named(address: str) -> str:
    return address.partition("@")[0].replace(".", " ").title()


@pytest.fixture(scope="module")
def mbox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mail") / "all.mbox"
    path.write_bytes(b"".join(messages(MESSAGES)))
    return path


def read(path: Path) -> int:
    """How many messages were read or noted."""
    return sum(
        batch.observations.height + sum(note.count for note in batch.notes if note.level != "warning")
        for batch in MBOX.read(Source.of_path(path), OPTIONS)
    )


def best_of_three(run: Callable[[], object]) -> float:
    """Seconds of this process, so that a busy machine does not decide."""
    times = []
    for _ in range(3):
        start = process_time()
        run()
        times.append(process_time() - start)
    return min(times)


def test_messages_from_an_mbox(benchmark: BenchmarkFixture, mbox: Path) -> None:
    assert benchmark.pedantic(read, (mbox,), rounds=3) == MESSAGES
    assert benchmark.stats is not None
    benchmark.extra_info["messages_per_second"] = round(MESSAGES / benchmark.stats["min"])
    benchmark.extra_info["megabytes"] = mbox.stat().st_size // 10**6


def test_reading_costs_about_what_the_standard_library_takes_for_the_headers_alone(mbox: Path) -> None:
    """Boundaries, dates, people, labels and frames are paid for by not parsing what is not used."""
    with mbox.open("rb") as stream:
        blocks = [message.header for message in find_messages(stream)]
    parser = BytesHeaderParser()
    headers_alone = best_of_three(lambda: [parser.parsebytes(block)["Date"] for block in blocks])
    assert best_of_three(lambda: read(mbox)) < 1.5 * headers_alone


def test_the_files_of_a_maildir_share_their_batches(tmp_path: Path) -> None:
    """Together they take less than a tenth of the time that they take one by one."""
    sources = []
    for number, message in enumerate(messages(300)):
        path = tmp_path / f"{number}.host:2,S"
        path.write_bytes(message.partition(b"\n")[2])
        sources.append(Source.of_path(path))
    together = best_of_three(lambda: list(EML.read_all(sources, OPTIONS)))
    one_by_one = best_of_three(lambda: [list(EML.read(source, OPTIONS)) for source in sources])
    assert together < one_by_one / 10


# The high-water mark of this process alone: `ru_maxrss` also counts what the parent held when it started the child.
PEAK = """
import re, sys
from pathlib import Path
from test_mail_speed import read
read(Path(sys.argv[1]))
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""


def test_memory_does_not_grow_with_the_file(mbox: Path, tmp_path: Path) -> None:
    """Four times the file takes less than a tenth of a gigabyte more, and far less than one in all."""
    large = tmp_path / "large.mbox"
    with large.open("wb") as stream:
        for _ in range(4):
            stream.write(mbox.read_bytes())
    peaks = [_peak_megabytes(path) for path in (mbox, large)]
    assert peaks[1] < peaks[0] + 100
    assert peaks[1] < 500


def _peak_megabytes(path: Path) -> int:
    here = Path(__file__)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(path)],
        env={"PYTHONPATH": f"{here.parent}:{here.parents[2]}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)

"""Uploads that break off: nothing stays behind, no thread is held, and the number is free."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bench.trees import descendants
from tests.builders.archives import module_zip
from tests.site.processes import eventually

pytestmark = pytest.mark.live


class BrokenOff(Exception):
    pass


def body_that_breaks_off() -> Iterator[bytes]:
    for _ in range(20):
        yield b"x" * 65536
    raise BrokenOff


def ticks(root: int) -> int:
    """Processor time that the whole tree has used, in clock ticks."""
    total = 0
    for pid in descendants(root):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total


@pytest.mark.parametrize("http2", [False, True])
@pytest.mark.parametrize("has_length", [True, False])
def test_an_upload_that_breaks_off_is_cleaned_up_at_once(live, shelf, http2, has_length):
    versions = [f"{major}.{int(http2)}.{int(has_length)}" for major in (5, 6, 7)]
    headers = {"Authorization": f"Bearer {shelf.manage}"} | ({"Content-Length": "50000000"} if has_length else {})

    there = live.staged()

    for version in versions:  # one each: what is read below is then of this upload, not of the one before
        path = f"/api/v1/modules/acme/broken-off/local/{version}"
        with pytest.raises(BrokenOff), httpx.Client(base_url=live.url, verify=live.tls, http2=http2) as client:
            client.put(path, content=body_that_breaks_off(), headers=headers)
        with live.client(shelf.manage) as client:
            assert live.wait_for(client, path, seconds=30)["reasons"][0]["code"] == "upload_unfinished"

    eventually(lambda: live.staged() <= there)
    before = ticks(live.process.pid)
    time.sleep(1)
    assert ticks(live.process.pid) - before < 50, "somebody still waits for the body, and waits busily"
    for version in versions:
        assert live.publish("acme/broken-off/local", version, module_zip(), shelf.manage)["state"] == "published"

"""Access lines of ready answers: as Django's, and whole however many processes write."""

import io
import json
import sys
from select import PIPE_BUF
from typing import Any

import pytest

from registry_site.server import middleware
from registry_site.server.access_lines import AccessLines
from tests.rows import for_each_row

COMMON: dict[str, Any] = {
    "method": "GET",
    "path": '/v1/"modules"/é',
    "client": "192.0.2.1",
    "status": 200,
    "authorization": "Bearer",
    "user_agent": "OpenTofu/1.8 token=hunter22hunter22",
    "client_version": "1.8",
}


@pytest.fixture
def lines(monkeypatch, settings):
    settings.LOG_FORMAT = "json"
    one = AccessLines()
    monkeypatch.setattr(one, "_is_on", True)
    return one


@for_each_row("request_id", ["a-1", "é"])
def test_the_line_of_a_ready_answer_is_as_djangos(lines, capsys, request_id):
    lines.add(request_id, 0.0123, lines.line_of(**COMMON))
    lines.flush()

    line = json.loads(capsys.readouterr().err)
    assert line.pop("timestamp").endswith("Z")
    assert "hunter22" not in line.pop("user_agent")
    expected = middleware.access_fields(seconds=0.0123, **COMMON)
    del expected["user_agent"]
    assert line == expected | {
        "request_id": request_id,
        "event": "request",
        "level": "info",
        "logger": "larder.access",
    }


def test_many_lines_are_written_in_pieces_that_a_pipe_takes_whole(lines, monkeypatch):
    written: list[str] = []

    class Stderr(io.StringIO):
        def write(self, text: str) -> int:
            written.append(text)
            return len(text)

    monkeypatch.setattr(sys, "stderr", Stderr())
    for number in range(100):
        lines.add(f"id-{number}", 0.0, lines.line_of(**COMMON))
    lines.flush()

    assert [json.loads(line)["request_id"] for line in "".join(written).splitlines()] == [f"id-{n}" for n in range(100)]
    assert len(written) < 20
    assert all(text.endswith("\n") and len(text) <= PIPE_BUF for text in written)

"""The access line of a ready answer is that of Django's answer, without the search for secrets each time."""

import json
import logging

import pytest

from tests.rows import for_each_row

URL = "/v1/modules/pantry/vpc/aws/versions"


@pytest.fixture
def lines(settings, capsys, caplog):
    """The access lines since the last look. Those of Django pass the handler of the tests."""
    settings.LOG_FORMAT = "json"
    caplog.set_level(logging.INFO, logger="larder.access")

    def look():
        found = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
        return [line for line in found if line.get("logger") == "larder.access"]

    return look


@for_each_row("agent", ["OpenTofu/1.8.0", 'x "ms": 0.0, token=hunter22hunter22'])
def test_the_lines_of_a_ready_answer_are_equal_to_those_of_djangos(process, published, tofu, lines, agent):
    published("pantry/vpc/aws")
    process.ask(tofu(None), URL)
    lines()
    for request_id in ("a-1", "b-2"):
        headers = {"User-Agent": agent, "X-Request-Id": request_id}
        assert process.ask(tofu(None), URL, **headers).was_ready
        [line] = lines()
        assert (line["request_id"], line["status"], line["route"]) == (request_id, 200, "protocol:module-versions")
        assert line["timestamp"].endswith("Z")
        assert line["ms"] >= 0, "a fast machine answers within the unit of the line"
        assert line["user_agent"] == agent.replace("hunter22hunter22", "[redacted]")
        assert line["event"] == "request"
        assert list(line)[:4] == ["method", "path", "client", "status"]

"""A slow upload to a whole Larder, by somebody whose rights end before its last byte."""

import random
import re
import threading
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.builders.archives import MODULE, module_zip
from tests.live import Live
from tests.site.processes import eventually

pytestmark = pytest.mark.live
# Small bodies are gathered before anybody is asked whether they may come; this one is not.
ZIP = module_zip(MODULE | {"large.bin": random.Random(5).randbytes(60_000)})
FIRST = 30_000


def slowly(begun: threading.Event, go_on: threading.Event) -> Iterator[bytes]:
    yield ZIP[:FIRST]
    begun.set()
    assert go_on.wait(60)
    yield ZIP[FIRST:]


def interrupted(send: Callable[[Iterator[bytes]], httpx.Response], happens: Callable[[], object]) -> httpx.Response:
    """The sender's answer if something happens between the first and the last bytes."""
    begun, go_on = threading.Event(), threading.Event()
    answers: list[httpx.Response] = []
    sender = threading.Thread(target=lambda: answers.append(send(slowly(begun, go_on))))
    sender.start()
    assert begun.wait(60)
    try:
        happens()
    finally:
        go_on.set()
        sender.join(60)
    (answer,) = answers
    return answer


def field(page: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert found
    return found[1]


def post(browser: httpx.Client, path: str, **data: str) -> httpx.Response:
    form = {"csrfmiddlewaretoken": field(browser.get(path).text), **data}
    headers = {"Referer": f"{browser.base_url}{path}", "Accept": "application/json" if path == "/publish" else "*/*"}
    return browser.post(path, data=form, headers=headers)


@pytest.fixture
def browser(live: Live) -> Iterator[httpx.Client]:
    with live.client() as client:
        assert post(client, "/account/login/", login="admin", password=live.admin_password).status_code == 302
        yield client


def test_a_token_that_is_revoked_under_way_publishes_nothing(live, shelf, browser):
    secret = live.token("admin", "publish", "--label", "revoked under way")
    row = re.search(r"revoked under way.*?/tokens/(\d+)/revoke", browser.get("/tokens").text, re.DOTALL)
    assert row
    path, there = "/api/v1/modules/acme/revoked-meanwhile/local/1.0.0", live.staged()

    with live.client(secret) as client:
        answer = interrupted(
            lambda body: client.put(path, content=body),
            lambda: post(browser, f"/tokens/{row[1]}/revoke"),
        )

    assert answer.status_code == 401, answer.text
    eventually(lambda: live.staged() <= there)
    with live.client(shelf.manage) as client:
        document = client.get(path).json()
        assert (document["state"], document["reasons"][0]["code"]) == ("rejected", "permission_ended")
    assert live.publish("acme/revoked-meanwhile/local", "1.0.0", ZIP, shelf.manage)["state"] == "published"


def test_whoever_signs_out_under_way_publishes_nothing(live, shelf, browser):
    module = {"module": "new", "namespace": "acme", "name": "signed-out", "system": "local", "version": "1.0.0"}
    begun = post(browser, "/publish", **module).json()
    headers, there = {"Origin": live.url, "Accept": "application/json"}, live.staged()

    with live.client() as client:
        answer = interrupted(
            lambda body: client.put(begun["upload"], content=body, headers=headers),
            lambda: post(browser, "/account/logout/"),
        )

    assert answer.status_code == 401, answer.text
    eventually(lambda: live.staged() <= there)
    with live.client(shelf.manage) as client:
        document = client.get("/api/v1/modules/acme/signed-out/local/1.0.0").json()
        assert (document["state"], document["reasons"][0]["code"]) == ("rejected", "permission_ended")

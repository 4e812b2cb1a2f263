"""A browser sends an archive straight to object storage, with the CORS rule of docs/operations/storage.md."""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import boto3
import pytest
from playwright.sync_api import Browser, Page, Request

from tests import s3
from tests.browser.conftest import Watch, browsing, sign_in
from tests.browser.publishing import describe, expect_published, publish
from tests.builders.archives import MODULE, module_zip
from tests.live import CHECKOUT, Live, start_live

pytestmark = pytest.mark.live
LARGE: dict[str, str | bytes] = {**MODULE, "noise.bin": os.urandom(1_500_000)}  # cannot be compressed


@dataclass(frozen=True)
class Direct:
    live: Live
    storage: str


def allow(storage: str, origin: str) -> None:
    """Put the documented rule, for this Larder's origin."""
    text = (CHECKOUT / "docs/operations/storage.md").read_text()
    [rule] = re.findall(r"```json\n(\{\n  \"CORSRules\".*?)```", text, re.DOTALL)
    rules = json.loads(rule.replace("https://registry.acme.example", origin))
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
    client = boto3.client("s3", endpoint_url=storage, **keys)
    client.put_bucket_cors(Bucket="larder", CORSConfiguration=rules)


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Direct]:
    with s3.server() as port:
        storage = f"http://127.0.0.1:{port}"
        s3.make_bucket(storage, "larder")
        variables = {
            **s3.KEYS,
            "LARDER_STORAGE_URL": f"s3://larder/live?endpoint={storage}&region=us-east-1",
            "LARDER_STORAGE_DIRECT_UPLOADS": "on",
        }
        with start_live(tmp_path_factory.mktemp("direct"), why="browsers send to its storage", **variables) as live:
            allow(storage, live.url)
            with live.client(live.token()) as client:
                client.put("/api/v1/namespaces/direct", json={"visibility": "public"}).raise_for_status()
            yield Direct(live, storage)


@pytest.fixture
def page(chromium: Browser, direct: Direct, watch: Watch) -> Iterator[Page]:
    with browsing(chromium, direct.live, sign_in(chromium, direct.live), watch) as open_:
        yield open_().new_page()


def ways_of(page: Page, direct: Direct) -> list[str]:
    """Return how bytes leave from now on: `storage`, or `larder` where a body goes there."""
    found: list[str] = []

    def note(request: Request) -> None:
        if request.method == "PUT" and request.url.startswith(direct.storage):
            found.append("storage")
        if request.method == "PATCH" and "upload-part" not in request.headers:
            found.append("larder")

    page.on("request", note)
    return found


def test_the_bytes_go_to_storage_and_the_version_is_published(page, direct, archive: Callable[..., Path]):
    ways = ways_of(page, direct)
    describe(page, "direct", "straight")
    page.locator("#file").set_input_files(archive("straight-1.0.0.zip", module_zip(LARGE)))
    publish(page)
    expect_published(page)
    assert ways == ["storage"]


def test_where_the_browser_cannot_reach_storage_larder_takes_the_bytes(page, direct, archive, watch):
    watch.expect(r"net::ERR_")
    page.route(f"{direct.storage}/**", lambda route: route.abort())
    ways = ways_of(page, direct)
    describe(page, "direct", "around")
    page.locator("#file").set_input_files(archive("around-1.0.0.zip", module_zip(LARGE)))
    publish(page)
    expect_published(page)
    assert ways == ["storage", "storage", "larder"]

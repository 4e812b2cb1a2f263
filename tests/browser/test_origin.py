"""The Origin tab in a browser: the commands that its buttons copy verify digest, signature and statement in a shell."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.builders.archives import module_zip
from tests.builders.keys import signing_key
from tests.e2e.providers import Depot
from tests.live import Live

pytestmark = [pytest.mark.live, pytest.mark.needs("curl", "openssl", "gpg")]
STATEMENT = ["statement", "statement-signature", "statement-subject", "cosign"]


def opened(open_browser: Callable[..., BrowserContext], url: str) -> Page:
    """The Origin tab, once a worker has signed the statement."""
    page = open_browser(permissions=["clipboard-read", "clipboard-write"]).new_page()
    page.goto(url)
    page.get_by_role("link", name="Origin", exact=True).click()
    page.wait_for_url("**/origin")  # or the reload below would take the click back
    for _ in range(60):
        if page.locator('[data-command="statement"]').count():
            return page
        page.wait_for_timeout(500)
        page.reload()
    raise AssertionError("no statement")


def copied(page: Page, code: str) -> str:
    block = page.locator(f'[data-command="{code}"]')
    button = block.get_by_role("button", name="Copy")
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("data-copied", "")
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def run(live: Live, folder: Path, command: str) -> str:
    done = subprocess.run(
        ["sh", "-eu", "-c", command],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "CURL_CA_BUNDLE": str(live.ca_bundle)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


def publish_a_module(live: Live, space: str) -> str:
    live.publish(f"{space}/verified/aws", "1.2.0", module_zip(), live.token())
    return f"/modules/{space}/verified/aws/1.2.0"


def publish_a_provider(live: Live, _: str) -> str:
    depot = Depot(live, live.token(), live.token("admin", "read"), signing_key("ed25519"))
    depot.namespace("verifiers", "public")
    depot.publish("verifiers/dns", "1.2.0", platforms=("linux_amd64", "darwin_arm64"))
    return "/providers/verifiers/dns/1.2.0"


@pytest.mark.parametrize(
    ("publish", "file", "own"),
    [
        (publish_a_module, "verified-aws-1.2.0.zip", {}),
        (publish_a_provider, "terraform-provider-dns_1.2.0_linux_amd64.zip", {"signature": "Good signature"}),
    ],
)
def test_commands_copied_from_the_page_verify_what_it_shows(
    open_browser: Callable[..., BrowserContext],
    live: Live,
    space: str,
    tmp_path: Path,
    publish: Callable[[Live, str], str],
    file: str,
    own: dict[str, str],
) -> None:
    page = opened(open_browser, publish(live, space))
    codes = page.locator("[data-command]").evaluate_all("all => all.map((one) => one.dataset.command)")
    assert codes == ["download", "digest", *own, *STATEMENT]

    said = {code: run(live, tmp_path, copied(page, code)) for code in codes if code != "cosign"}
    assert said["digest"] == f"{file}: OK\n"
    for code, text in {**own, "statement-signature": "Signature Verified Successfully"}.items():
        assert text in said[code]
    assert said["statement-subject"] == "The statement names this file.\n"

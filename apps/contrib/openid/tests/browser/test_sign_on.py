"""docs/sign-on.md with Chromium: a library's provider in a process of its own, a mapped group, a sign-in."""

import json
import os
import re
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from apps.contrib.openid.tests.provider_server import provider_process
from tests.accounts.identity.test_cli_login import ASKED
from tests.browser.conftest import Watch, expect_home_of, follow_the_link, serious_findings, sign_out
from tests.live import CHECKOUT, Live, start_live

pytestmark = pytest.mark.live
FIRST, SECOND = (
    textwrap.dedent(block)
    for block in re.findall(r"^ +```sh\n(.*?)```", (CHECKOUT / "docs/sign-on.md").read_text(), re.DOTALL | re.MULTILINE)
)
(ANN,) = re.findall(r"--user-claims '(.*)'", FIRST)


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    with provider_process(json.loads(ANN)) as issuer:
        yield issuer


@pytest.fixture(scope="module")
def larder(tmp_path_factory: pytest.TempPathFactory, provider: str) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("sign-on")
    variables = variables_of_the_guide(folder, provider) | {"LARDER_LOCAL_SIGN_IN": "staff"}
    with start_live(folder, why="its ways to sign in are those of the guide", **variables) as larder:
        yield larder


def variables_of_the_guide(folder: Path, provider: str) -> dict[str, str]:
    """Return what the lines for Larder export, executed, with another port and folder."""
    lines = SECOND.replace("http://127.0.0.1:9400", provider).replace("/tmp/", f"{folder}/")
    assert lines.endswith("make run\n")
    done = subprocess.run(
        ["sh", "-eu", "-c", lines.replace("make run", "env")],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if line.startswith("LARDER_"))


def test_a_newcomer_follows_the_guide(chromium: Browser, larder: Live, provider: str, watch: Watch) -> None:
    watch.expect(rf"\((?!{re.escape(larder.url)})\S+\)$")  # of the provider, with styles from elsewhere
    admin = admin_of(chromium, larder)
    page = admin.new_page()
    page.on("console", watch.note)
    page.goto("/teams/new")
    page.get_by_label("Name").fill("cooks")
    page.locator("main form button[type=submit]").click()
    page.goto("/admin/accounts/groupmapping/add/")
    page.get_by_label("Group", exact=True).fill("kitchen")
    page.locator(".field-team .select2-selection").click()
    page.locator(".select2-search__field").fill("coo")
    page.locator(".select2-results__option", has_text="cooks").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#result_list")).to_contain_text("kitchen")
    admin.close()

    context = chromium.new_context(ignore_https_errors=True, base_url=larder.url)
    page = context.new_page()
    page.on("console", watch.note)
    page.goto("/teams")  # asks for a sign-in and leads back
    assert serious_findings(page) == []
    page.get_by_role("button", name="Sign in with The test provider").click()
    page.wait_for_url(f"{provider}/**")
    page.get_by_role("button", name="ann-1").click()
    page.wait_for_url("**/teams")
    expect(page.get_by_role("link", name="cooks")).to_be_visible()
    page.goto("/account/")
    expect(page.get_by_text("You are signed in as ann")).to_be_visible()
    assert serious_findings(page) == []

    page.goto("/account/reauthenticate/?next=/account/")
    page.get_by_role("button", name="Confirm with The test provider").click()
    page.wait_for_url(f"{provider}/**")
    page.get_by_role("button", name="ann-1").click()
    page.wait_for_url("**/account/")

    sign_out(page, larder.url)
    follow_the_link(page, larder.url)
    page.get_by_role("button", name="Sign in with The test provider").click()
    page.get_by_role("button", name="ann-1").click()
    expect_home_of(page, "ann", larder.url)
    sign_out(page, larder.url)
    authorize = f"{larder.url}/oauth/authorize?{urlencode(ASKED)}"
    page.goto(authorize)
    page.get_by_role("button", name="Sign in with The test provider").click()
    page.get_by_role("button", name="ann-1").click()
    page.wait_for_url(authorize)
    expect(page.get_by_role("heading", name="Log in on the command line?")).to_be_visible()
    context.close()


def admin_of(chromium: Browser, larder: Live) -> BrowserContext:
    """The password of staff is behind a summary here."""
    context = chromium.new_context(ignore_https_errors=True, base_url=larder.url)
    page = context.new_page()
    page.goto("/account/login/")
    page.get_by_text("Sign in with a password").click()
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password", exact=True).fill(larder.admin_password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/")
    return context

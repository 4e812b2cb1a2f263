"""login.v1 with single sign-on and a second factor in the way, from the first sign-in on."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from apps.contrib.openid.tests.provider_server import provider_process
from tests.accounts.identity.test_second_factor import code_of
from tests.builders.keys import signing_key
from tests.e2e.conftest import archive
from tests.e2e.providers import Depot, lock_of, require
from tests.e2e.test_login import allow, logging_in, person
from tests.live import Live, start_live

pytestmark = [pytest.mark.live, pytest.mark.nightly, pytest.mark.needs("chromium-headless-shell")]
ANN = {"sub": "ann-1", "preferred_username": "ann", "groups": []}


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with provider_process(ANN) as issuer:
        yield issuer


@pytest.fixture  # for each client: the person sets up their second factor once
def larder(tmp_path_factory: pytest.TempPathFactory, issuer: str) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("login-sign-on")
    (folder / "secrets").write_text("try=any-secret-will-do\n")
    acme = {"issuer": issuer, "client_id": "larder", "name": "Acme ID", "new_accounts": "everyone"}
    file = {"secrets_file": str(folder / "secrets"), "providers": {"try": acme}}
    (folder / "sign-on.yaml").write_text(json.dumps(file))
    more = {
        "LARDER_SIGN_ON_FILE": str(folder / "sign-on.yaml"),
        "LARDER_LOCAL_SIGN_IN": "off",
        "LARDER_SECOND_FACTOR": "everyone",
    }
    with start_live(folder, why="nobody signs in there with a password", **more) as larder:
        manage = larder.token()
        with larder.client(manage) as client:
            assert client.put("/api/v1/namespaces/acme", json={"visibility": "internal"}).status_code == 201
        assert larder.publish("acme/vpc/aws", "1.2.0", archive("1.2.0"), manage)["state"] == "published"
        depot = Depot(larder, manage, larder.token("admin", "read"), signing_key("ed25519"))
        depot.register("acme")
        depot.publish("acme/dns", "1.0.0", signed=True)
        yield larder


def sign_on(page: Page, issuer: str) -> None:
    page.get_by_role("button", name="Sign in with Acme ID").click()
    page.wait_for_url(f"{issuer}/**")
    page.get_by_role("button", name="ann-1").click()


def test_a_person_of_the_provider_logs_in_with_a_second_factor(larder, issuer, terraform):
    workspace = terraform(larder=larder)
    with person(larder) as page:
        with logging_in(workspace) as url:
            page.goto(url)
            sign_on(page, issuer)
            secret = str(page.locator("code.mono").text_content()).replace(" ", "")
            page.get_by_label("Code").fill(code_of(secret, -1))
            page.get_by_role("button", name="Turn on").click()
            page.get_by_role("link", name="Continue").click()
            expect(page.get_by_role("heading", name="Log in on the command line?")).to_be_visible()
            allow(page)
        workspace.module("vpc", "acme/vpc/aws", "1.2.0")
        require(workspace, "acme/dns")
        done = workspace.init()
        assert done.returncode == 0, done.stderr
        assert workspace.installed() == {"vpc": "1.2.0"}
        assert lock_of(workspace)

        page.goto("/account/logout/")
        page.locator("main").get_by_role("button", name="Sign out").click()
        with logging_in(workspace) as url:
            page.goto(url)
            sign_on(page, issuer)
            page.get_by_label("Code").fill(code_of(secret))
            page.get_by_role("button", name="Sign in with a code").click()
            allow(page)
        page.goto("/tokens")
        rows = page.get_by_role("row", name=re.compile(f"{Path(workspace.program).name} login on desk"))
        expect(rows).to_have_count(2)
        expect(rows.filter(has_text="Revoked")).to_have_count(1)
    assert workspace.init().returncode == 0

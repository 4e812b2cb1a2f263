"""From the front page: Alice connects a repository by ssh, publishes it, and confirms the server's new host keys."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from apps.contrib.git.tests.conftest import module
from tests import documents
from tests.browser.conftest import ALICE, Watch, browsing, give_alice, look, sign_in
from tests.builders.git_daemons import SshSite, ssh_site
from tests.builders.git_repositories import ENVIRONMENT
from tests.builders.git_servers import ssh_key
from tests.live import Live

pytestmark = [
    pytest.mark.live,
    pytest.mark.nightly,
    pytest.mark.needs("git", "ssh", "sshd", "curl"),
    pytest.mark.timeout(600),
]
SPACE, NAME = "harbour", "acme/terraform-aws-vpc"
HOOK_IS_RUN_BY = "apps/contrib/git/tests/e2e/test_git.py::test_a_push_to_a_plain_git_server_is_published_within_seconds"
PATIENT = 120_000


@pytest.fixture(scope="module")
def larder(loopback: Live) -> Live:
    give_alice(loopback, SPACE)
    return loopback


@pytest.fixture
def page(chromium: Browser, larder: Live, watch: Watch) -> Iterator[Page]:
    with browsing(chromium, larder, sign_in(chromium, larder, *ALICE), watch) as open_:
        yield open_().new_page()


def published(page: Page, count: int) -> None:
    expect(page.get_by_role("link", name=f"Published {count}")).to_be_visible(timeout=PATIENT)


def push(site: SshSite, tag: str, folder: Path) -> None:
    """Over ssh, as a person with write access does."""
    ssh = f"ssh -F none -i {site.key} -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
    environment = ENVIRONMENT | {"GIT_SSH_COMMAND": ssh}
    clone = folder / "clone"
    for words in (["clone", site.url(NAME), str(clone)], ["-C", str(clone), "tag", tag]):
        subprocess.run(["git", *words], check=True, env=environment, capture_output=True)
    subprocess.run(["git", "-C", str(clone), "push", "origin", tag], check=True, env=environment, capture_output=True)


def test_a_repository_is_connected_published_and_followed_over_ssh(page: Page, larder: Live, tmp_path: Path) -> None:
    own = tuple(ssh_key(tmp_path / kind, kind=kind) for kind in ("ed25519", "ecdsa", "rsa"))
    # What the hook's curl trusts.
    trusted = f"SetEnv CURL_CA_BUNDLE={larder.ca_bundle}"
    with ssh_site(tmp_path / "ssh", own=own, more=trusted) as site:
        upstream = site.repository(NAME)
        upstream.commit(module("first"))
        upstream.tag("v1.0.0")
        url = connect(page, site)
        published(page, 1)

        add_hook(page, upstream.path, tmp_path)
        push(site, "v1.1.0", tmp_path)
        page.goto(url)
        published(page, 2)
        expect(page.locator('[data-tag="v1.1.0"]')).to_contain_text("Published")

    upstream.tag("v1.2.0")
    with ssh_site(tmp_path / "ssh", port=site.port, own=(ssh_key(tmp_path / "other"),), more=trusted) as site:
        trust(page, url, site)
        published(page, 3)


def connect(page: Page, site: SshSite) -> str:
    """Return the URL of the repository's page."""
    page.goto("/")
    page.locator("main").get_by_role("link", name=SPACE, exact=True).first.click()
    page.get_by_role("link", name="Publishing", exact=True).first.click()
    page.get_by_role("link", name="Git repositories", exact=True).first.click()
    page.get_by_role("link", name="Connect a repository").first.click()
    page.get_by_label("Repository", exact=True).fill(site.url(NAME))
    page.get_by_role("radio", name="Deploy key Recommended").check()
    page.get_by_role("button", name="Continue").click()
    # A worker asks it; the page shows the keys by itself.
    expect(page.get_by_role("heading", name="Is this the right server?")).to_be_visible(timeout=PATIENT)
    for fingerprint in site.fingerprints:
        expect(page.get_by_text(fingerprint)).to_be_visible()
    look(page, "key")

    # Too early: the page says what is missing, and leads back to the key.
    page.get_by_role("button", name="The key is added").click()
    expect(page.get_by_text("localhost refused the deploy key.")).to_be_visible(timeout=PATIENT)
    look(page, "refused")
    page.get_by_role("link", name="Show the deploy key").click()
    site.authorize(page.locator("[data-copy-text]").inner_text())
    page.get_by_role("button", name="The key is added").click()
    page.get_by_role("button", name="Publish 1 version").click(timeout=PATIENT)
    page.wait_for_url(f"**/namespaces/{SPACE}/git/*")
    return page.url


def add_hook(page: Page, bare: Path, folder: Path) -> None:
    """The hook of the documentation, with its two files in another folder."""
    page.get_by_role("link", name="Settings", exact=True).click()
    (folder / "hook-url").write_text(page.locator(".copyable__text").first.inner_text())
    page.get_by_role("button", name="Create a webhook secret").click()
    secret = page.get_by_text("whsec_").first
    (folder / "hook-secret").write_text(secret.inner_text().strip())
    [fence] = documents.run_by(HOOK_IS_RUN_BY, "docs/git.md")
    hook = bare / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(fence.text.replace("/etc/larder/", f"{folder}/"))
    hook.chmod(0o755)


def trust(page: Page, url: str, site: SshSite) -> None:
    page.goto(url)
    page.get_by_role("button", name="Sync now").click()
    expect(page.get_by_text("other host keys than those that were confirmed")).to_be_visible(timeout=PATIENT)
    look(page, "alarm")
    page.get_by_role("link", name="Compare the host keys").click()
    page.get_by_role("button", name="Ask the server").click()
    expect(page.get_by_text(site.fingerprints[0])).to_be_visible(timeout=PATIENT)
    for fingerprint in site.fingerprints:
        expect(page.get_by_text(fingerprint)).to_be_visible()
    look(page, "host-keys")
    page.get_by_role("button", name="I compared them").click()
    password = page.get_by_label("Password", exact=True)
    if password.count():
        password.fill(ALICE[1])
        page.get_by_role("button", name="Confirm", exact=True).click()
        page.get_by_role("button", name="I compared them").click()
    expect(page.get_by_text("Host keys saved.")).to_be_visible()

"""A pipeline publishes and sends what it found, is held by the policy, sends what it has fixed, and is published."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from playwright.sync_api import Browser, Page, expect

from apps.contrib.checks.tests import samples
from tests.browser.conftest import ALICE, Watch, browsing, give_alice, look, sign_in
from tests.live import Live

pytestmark = [pytest.mark.live, pytest.mark.needs("curl", "zip"), pytest.mark.timeout(300)]
SPACE, FREE = "checked", "unchecked"
POLICY = {
    "mode": "hold",
    "requirements": [{"name": "checkov", "passed": False, "no_finding_at": "high"}, {"name": "tofu-test"}],
}


@pytest.fixture(scope="module")
def larder(loopback: Live) -> Live:
    give_alice(loopback, SPACE, FREE)
    return loopback


@pytest.fixture
def page(chromium: Browser, larder: Live, watch: Watch) -> Iterator[Page]:
    with browsing(chromium, larder, sign_in(chromium, larder, *ALICE), watch) as open_:
        yield open_().new_page()


def test_a_release_is_held_until_its_pipeline_has_fixed_what_was_found(
    page: Page, larder: Live, tmp_path: Path
) -> None:
    token = larder.token(ALICE[0])
    copytree(samples.RECORDED / "box", tmp_path / "module")
    with larder.client(token) as client:
        assert client.put(f"/api/v1/namespaces/{SPACE}/checks", json=POLICY).status_code == 200
        (tmp_path / "publish.sh").write_bytes(client.get("/publish.sh").content)

    def publish(address: str, *reports: str) -> str:
        options = [word for report in reports for word in ("--report", report)]
        words = ["sh", "publish.sh", *options, address, "1.0.0", "module"]
        given = {"LARDER_URL": larder.url, "LARDER_TOKEN": token, "LARDER_CA_FILE": str(larder.ca_bundle)}
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **given}
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    said = publish(f"{SPACE}/box/aws", f"checkov={samples.FOUND}", f"tofu-test={samples.TESTS}")
    assert f"waits for those that {SPACE} requires" in said
    page.goto(said.split()[-1])
    expect(page.get_by_text("checkov: checkov has 2 high findings")).to_be_visible()
    expect(page.get_by_text("tofu-test:")).to_have_count(0)
    look(page, "waiting")

    with larder.client(token) as client:
        url = f"/api/v1/modules/{SPACE}/box/aws/1.0.0/checks/checkov"
        assert client.put(url, content=samples.FIXED.read_bytes()).status_code == 202
    expect(page.locator("#release-status[data-state=published]")).to_be_visible(timeout=60_000)
    page.goto(f"/modules/{SPACE}/box/aws/1.0.0/checks")
    expect(page.get_by_text("2 checks passed")).to_be_visible()
    expect(page.get_by_text("Checkov 3.3.30")).to_be_visible()
    expect(page.get_by_text("OpenTofu 1.12.6")).to_be_visible()
    look(page, "tab")
    page.goto(f"/namespaces/{SPACE}/checks")
    look(page, "policy")

    assert "Published" in publish(f"{FREE}/box/aws"), "no policy, no report"

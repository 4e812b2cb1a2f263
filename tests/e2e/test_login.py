"""login.v1 with the real client, and a real browser in which a person presses the button."""

import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import ConsoleMessage, Error, Page, expect, sync_playwright

from tests import documents
from tests.e2e.providers import require
from tests.e2e.workspace import Workspace
from tests.live import Live
from tests.programs import chromium

pytestmark = [pytest.mark.live, pytest.mark.needs("chromium-headless-shell")]


@contextmanager
def person(larder: Live) -> Iterator[Page]:
    """The page of somebody who is not signed in, and what the console said of ours."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium())
        page = browser.new_context(ignore_https_errors=True, base_url=larder.url).new_page()
        page.set_default_timeout(20_000)
        said: list[str] = []

        def note(message: ConsoleMessage) -> None:
            if page.url.startswith(larder.url):  # not at an identity provider
                said.append(f"{message.type} {message.text} {message.location}")

        page.on("console", note)
        yield page
        # The client's own page has no icon, and its listener has gone.
        assert [line for line in said if line.startswith("error") and "localhost:100" not in line] == []
        browser.close()


def login_of(workspace: Workspace) -> list[str]:
    """The command of the pages, for this client and host."""
    test = "test_a_person_logs_in_installs_what_is_private_logs_in_again_and_revokes_it"
    ((program, verb, host),) = {
        tuple(shlex.split(fence.text, comments=True)) for fence in documents.run_by(f"tests/e2e/test_login.py::{test}")
    }
    assert (program, host) == ("tofu", "registry.example.com")
    return [workspace.program, verb, workspace.host]


@contextmanager
def logging_in(workspace: Workspace) -> Iterator[str]:
    """The address that the client opens; in the end it must have logged in."""
    opened, programs = workspace.folder / "opened", workspace.folder / "bin"
    programs.mkdir(exist_ok=True)
    opened.unlink(missing_ok=True)
    (programs / "xdg-open").write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part && mv {opened}.part {opened}\n')
    (programs / "xdg-open").chmod(0o755)
    (workspace.folder / "home" / ".terraform.d").mkdir(exist_ok=True)
    client = subprocess.Popen(
        login_of(workspace),
        cwd=workspace.work,
        env=workspace.environment | {"PATH": f"{programs}:{workspace.environment['PATH']}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert client.stdin is not None
    client.stdin.write("yes\n")
    client.stdin.flush()
    try:
        yield _content_of(opened, client)
        output, _ = client.communicate(timeout=30)
    finally:
        client.kill()
    assert client.returncode == 0, output


def _content_of(path: Path, client: "subprocess.Popen[str]") -> str:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert client.poll() is None, client.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return path.read_text()


def allow(page: Page) -> None:
    page.get_by_label("Name of this computer").fill("desk")
    there = re.compile(r"http://localhost:100\d\d/login\?")
    with page.expect_request(there):
        page.get_by_role("button", name="Allow").click()
    try:
        page.wait_for_url(there)
    except Error:  # the client stops listening while it answers, and may cut its own answer
        page.wait_for_url("chrome-error://**")


@pytest.mark.smoke
def test_a_person_logs_in_installs_what_is_private_logs_in_again_and_revokes_it(live, shelf, depot, terraform):
    workspace = terraform()
    with person(live) as page:
        with logging_in(workspace) as url:
            page.goto(url)
            page.get_by_label("User name").fill("admin")
            page.get_by_label("Password", exact=True).fill(live.admin_password)
            page.get_by_role("button", name="Sign in", exact=True).click()
            expect(page.get_by_text(live.host).first).to_be_visible()
            allow(page)
        workspace.module("vpc", "acme/vpc/aws", "1.2.0")
        require(workspace, "shed/dns")
        done = workspace.init()
        assert done.returncode == 0, done.stderr
        assert workspace.installed() == {"vpc": "1.2.0"}

        with logging_in(workspace) as url:
            page.goto(url)
            allow(page)
        page.goto("/tokens")
        rows = page.get_by_role("row", name=f"{Path(workspace.program).name} login on desk")
        expect(rows).to_have_count(2)
        expect(rows.filter(has_text="Revoked")).to_have_count(1)
        assert workspace.init().returncode == 0

        rows.get_by_role("link", name="Revoke").click()
        page.get_by_role("button", name="Revoke").click()
        expect(rows.filter(has_text="Revoked")).to_have_count(2)
    refused = workspace.run("init", "-input=false", "-upgrade")
    assert refused.returncode == 1
    assert "401" in refused.stderr

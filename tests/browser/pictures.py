"""`make pictures`: the pictures and the recording of the README, of a Larder with the releases of the demonstration."""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import httpx
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests import programs
from tests.browser.publishing import choose_a_new_one, expect_published
from tests.browser.recording import Recording
from tests.builders.archives import module_zip
from tests.builders.git_servers import Site, git_site
from tests.documents import CHECKOUT
from tests.live import Live, start_live

HOST = "registry.example.com"
FOLDER = CHECKOUT / "docs" / "pictures"
STILL, MOVING = {"width": 1280, "height": 800}, {"width": 1120, "height": 700}
MAX_BYTES, MAX_RECORDING_BYTES = 400_000, 1_500_000  # of the pictures together: a clone carries them
MODULE, BUCKET = "/modules/acme/vpc/aws", "/modules/acme/s3-bucket/aws"
REPOSITORY = "acme/terraform-modules"
# Where each is, its colours, and how far it is scrolled.
PICTURES: dict[str, tuple[str, Literal["light", "dark"], int]] = {
    "module-light": (MODULE, "light", 0),
    "module-dark": (MODULE, "dark", 0),
    "comparison": (f"{MODULE}/compare/1.2.1...2.0.0", "light", 0),
    "consequences": (f"{BUCKET}/2.1.1/lifecycle?act=yank", "light", 0),
    "tags": ("/namespaces/acme/git/1", "light", 240),
    "origin": (f"{MODULE}/2.1.0/origin", "light", 0),
}
PASSWORD = "quince jelly for everyone"
QUEUE = {
    "main.tf": 'resource "aws_sqs_queue" "this" {\n  name = var.name\n}\n',
    "variables.tf": 'variable "name" {\n  description = "Name of the queue."\n  type        = string\n}\n',
    "outputs.tf": 'output "url" {\n  description = "Its address."\n  value       = aws_sqs_queue.this.url\n}\n',
    "versions.tf": 'terraform {\n  required_version = ">= 1.6"\n}\n',
    "README.md": "# Queue\n\nAn encrypted queue for messages between services.\n",
    "LICENSE": "All rights reserved.\n",
}


# --- What is in the pictures ------------------------------------------------------------------------------------------


@contextmanager
def filled(folder: Path, git: Site) -> Iterator[Live]:
    """A Larder that begins as a demonstration, and goes on as one in which people work."""
    address = {"LARDER_PUBLIC_URL": f"https://{HOST}"}
    with start_live(
        folder, why="it begins as a demonstration", module="acme/vpc/aws", LARDER_DEMO="on", **address
    ) as larder:
        deadline = time.monotonic() + 300
        while not larder.query("SELECT count(*) FROM modules_configuration"):
            assert time.monotonic() < deadline, "the demonstration is not complete"
            time.sleep(1)
    sources = {"LARDER_OUTGOING_ALLOW": "git=127.0.0.0/8", "LARDER_OUTGOING_CA_FILE": git.ca_file}
    with start_live(
        folder, why="its pictures show nothing else", module="acme/vpc/aws", LARDER_DEMO="off", **address, **sources
    ) as larder:
        larder.manage(
            "shell", "--verbosity", "0", "-c", f"from tests.browser import origins; origins.show({PASSWORD!r})"
        )
        connect(larder, git)
        yield larder


def connect(larder: Live, git: Site) -> None:
    """A repository with two modules: tags that become versions, one that does not, one that is no version."""
    repository = git.repository(REPOSITORY)
    cache = {"cache/main.tf": 'resource "aws_elasticache_cluster" "this" {}\n', "cache/README.md": "# Cache\n"}
    topic = {"topic/main.tf": 'resource "aws_sns_topic" "this" {}\n', "topic/README.md": "# Topic\n"}
    for number in ("1.0.0", "1.1.0", "1.2.0"):
        lines = {"cache/variables.tf": f'variable "size" {{\n  description = "Nodes, as of {number}."\n}}\n'}
        repository.commit({**cache, **topic, **lines})
        repository.tag(f"cache/v{number}")
    repository.tag("topic/v1.0.0")
    repository.commit({**cache, "topic/main.tf": 'resource "aws_sns_topic" {\n'})
    repository.tag("topic/v1.1.0")
    repository.tag("nightly")
    rules = [{"tag": f"{name}/v{{version}}", "folder": name, "module": f"{name}/aws"} for name in ("cache", "topic")]
    with larder.client(larder.token()) as client:
        answer = client.post(
            "/api/v1/namespaces/acme/repositories", json={"url": git.url_of(REPOSITORY), "rules": rules}
        )
        answer.raise_for_status()
        one = f"/api/v1/namespaces/acme/repositories/{answer.json()['id']}"
        client.post(f"{one}/sync", json={}).raise_for_status()
        deadline = time.monotonic() + 120
        while not (found := tags_of(client, one)) or "waiting" in {tag["verdict"] for tag in found}:
            assert time.monotonic() < deadline, found
            time.sleep(0.5)


def tags_of(client: httpx.Client, repository: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = client.get(f"{repository}/tags").raise_for_status().json()["tags"]
    return found


# --- Taking them ------------------------------------------------------------------------------------------------------


def signed_in(context: BrowserContext) -> Page:
    page = context.new_page()
    page.goto("/account/login/")
    page.get_by_label("User name").fill("maya")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/")
    return page


def opened(browser: Browser, size: dict[str, int], theme: Literal["light", "dark"]) -> BrowserContext:
    return browser.new_context(
        base_url=f"https://{HOST}",
        ignore_https_errors=True,
        viewport=size,  # type: ignore[arg-type]  # a TypedDict of playwright's own
        color_scheme=theme,
        reduced_motion="reduce",
        permissions=["clipboard-read", "clipboard-write"],
    )


def take(browser: Browser, folder: Path) -> None:
    for name, (path, theme, scrolled) in PICTURES.items():
        with opened(browser, STILL, theme) as context:
            page = signed_in(context)
            answer = page.goto(path)
            assert answer is not None and answer.ok, path  # noqa: PT018
            page.evaluate("pixels => scrollTo(0, pixels)", scrolled)
            page.screenshot(path=folder / f"{name}.png")
            words = [
                "cwebp",
                "-quiet",
                "-q",
                "82",
                "-m",
                "6",
                str(folder / f"{name}.png"),
                "-o",
                str(FOLDER / f"{name}.webp"),
            ]
            subprocess.run(words, check=True, timeout=60)  # our own words


def record(browser: Browser, folder: Path) -> float:
    """A module is published, found, copied and taken back; return the seconds that it takes to watch."""
    archive = folder / "terraform-aws-queue-1.0.0.zip"
    archive.write_bytes(module_zip(QUEUE))
    with opened(browser, MOVING, "light") as context:
        page = signed_in(context)
        film = Recording(page, folder)
        film.show(1.4)
        film.click(page.get_by_role("link", name="Publish", exact=True).first, 0.6)
        choose_a_new_one(page, "Module")
        page.locator("#file").set_input_files(archive)
        page.get_by_label("Namespace", exact=True).select_option("acme")
        page.get_by_label("Name", exact=True).fill("queue")
        page.get_by_label("System", exact=True).fill("aws")
        film.show(1.6)
        film.point(publish := page.get_by_role("button", name="Publish"))
        publish.click()
        page.wait_for_url("**/releases/*")
        film.show(0.5)
        expect_published(page)
        film.show(1.6)
        film.click(page.get_by_role("link", name="Open its page"), 1.8)
        film.open("/", 0.4)
        film.type(page.get_by_role("searchbox").first, "bucket expire")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?*")
        film.show(1.5)
        film.click(page.locator(f"main a[href^='{BUCKET}']").first, 1.0)
        film.click(page.locator("main").get_by_text("Exact", exact=True).first, 0.6)
        film.click(page.locator("main").get_by_role("button", name="Copy").first, 1.2)
        page.goto(f"{BUCKET}/2.1.1/lifecycle?act=yank")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        film.show(3.6)
        film.write(FOLDER / "recording.webp")
    return film.seconds


def main() -> int:
    lacking = [name for name in ("cwebp", "img2webp") if not programs.is_there(name)]
    if programs.chromium() is None or lacking:
        print("Install Debian's packages chromium-headless-shell and webp first.")  # noqa: T201
        return 1
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as name,
        git_site(Path(name) / "git") as git,
        filled(Path(name) / "larder", git) as larder,
        sync_playwright() as playwright,
    ):
        port = re.sub(r".*:", "", larder.host)
        browser = playwright.chromium.launch(
            executable_path=programs.chromium(), args=[f"--host-resolver-rules=MAP {HOST}:443 127.0.0.1:{port}"]
        )
        take(browser, Path(name))
        seconds = record(browser, Path(name))
        browser.close()
    size = sum((FOLDER / f"{picture}.webp").stat().st_size for picture in PICTURES)
    recording = (FOLDER / "recording.webp").stat().st_size
    print(f"{len(PICTURES)} pictures, {size:,} bytes; {seconds:.0f} seconds, {recording:,} bytes")  # noqa: T201
    return 0 if size <= MAX_BYTES and recording <= MAX_RECORDING_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())

"""`make pictures`: the screenshots of the README, of a Larder with the modules that the tests publish."""

import re
import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright

from tests import programs
from tests.builders import modules
from tests.builders.archives import module_zip
from tests.documents import CHECKOUT
from tests.live import Live, start_live

HOST = "registry.example.com"
FOLDER = CHECKOUT / "docs" / "pictures"
SIZE = {"width": 1280, "height": 800}
MOST_BYTES = 400_000  # of all: a clone carries them
MODULE = "acme/network/aws"
PICTURES: dict[str, tuple[str, Literal["light", "dark"]]] = {
    "module-light": (f"/modules/{MODULE}", "light"),
    "module-dark": (f"/modules/{MODULE}", "dark"),
    "comparison": (f"/modules/{MODULE}/compare/1.1.0...2.0.0", "light"),
}
PEOPLE = """
from apps.accounts.models import User
User.objects.create_user("alice", email="alice@example.com", is_superuser=True, is_staff=True)
"""


def fill(larder: Live) -> None:
    larder.manage("shell", "--verbosity", "0", "-c", PEOPLE)
    token = larder.token("alice")
    with larder.client(token) as client:
        client.put("/api/v1/namespaces/acme", json={"visibility": "public"}).raise_for_status()
    for build in (modules.label, modules.kubernetes, modules.network):
        system = "null" if build is modules.label else "aws"
        for version in modules.HISTORY:
            address = f"acme/{build.__name__}/{system}"
            document = larder.publish(address, version, module_zip(build(version)), token)
            assert document["state"] == "published", document


def take(browser: Browser, larder: Live, folder: Path) -> None:
    for name, (path, theme) in PICTURES.items():
        context = browser.new_context(ignore_https_errors=True, viewport=SIZE, color_scheme=theme)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(f"https://{HOST}/account/login/")
        page.get_by_label("User name").fill("admin")
        page.get_by_label("Password", exact=True).fill(larder.admin_password)
        page.get_by_role("button", name="Sign in", exact=True).click()
        page.wait_for_url("**/")
        answer = page.goto(f"https://{HOST}{path}")
        assert answer is not None and answer.ok, path  # noqa: PT018
        page.screenshot(path=folder / f"{name}.png")
        context.close()


def main() -> int:
    if programs.chromium() is None:
        print("Chromium is not here: install Debian's chromium-headless-shell.")  # noqa: T201
        return 1
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        start_live(Path(folder), why="its pictures show nothing else", LARDER_PUBLIC_URL=f"https://{HOST}") as larder,
        sync_playwright() as playwright,
    ):
        fill(larder)
        port = re.sub(r".*:", "", larder.host)
        browser = playwright.chromium.launch(
            executable_path=programs.chromium(), args=[f"--host-resolver-rules=MAP {HOST}:443 127.0.0.1:{port}"]
        )
        take(browser, larder, FOLDER)
        browser.close()
    size = sum((FOLDER / f"{name}.png").stat().st_size for name in PICTURES)
    print(f"{len(PICTURES)} pictures, {size:,} bytes")  # noqa: T201
    return 0 if size <= MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())

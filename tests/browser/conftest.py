"""Headless Chromium against a whole Larder. A console error or a CSP report that a test does not expect fails it."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests import needs, programs
from tests.browser.catalogue import Shelf, fill
from tests.builders.archives import module_zip
from tests.live import Live

REPORT_VIOLATIONS = """
  document.addEventListener("securitypolicyviolation", (event) => {
    console.error(`CSP report: ${event.violatedDirective} ${event.blockedURI}`);
  });
"""
# The browser without its windows takes four fifths of the processor; Debian has it as a package of its own.
SERIOUS = {"serious", "critical"}
# Contrast takes most of axe's time, and is the same for leaves that share tags and attributes up to the root, such as
# rows of a table and words of code. One of each is looked at; every other rule sees the whole page. `again`: the page
# has not changed since the last look, only its theme and size: rules of structure need no second look at its elements,
# unless one has appeared.
FINDINGS = """async (again) => {
  const OF_ITSELF = new Set(["id", "href", "for", "name", "value", "title", "datetime", "aria-describedby"]);
  const OF_STYLE = ["color-contrast", "link-in-text-block", "scrollable-region-focusable"];
  const marks = new Map([[null, ""]]);
  const seen = new Set();
  const visible = new Set();
  const alike = [];
  for (const element of document.querySelectorAll("*")) {
    const attributes = [...element.attributes].filter(({ name }) => !OF_ITSELF.has(name));
    const own = attributes.map(({ name, value }) => `${name}=${value}`).sort().join(" ");
    const mark = `${marks.get(element.parentElement)}>${element.tagName} ${own}`;
    marks.set(element, mark);
    if (!element.checkVisibility()) continue;
    visible.add(element);
    if (element.childElementCount) continue;
    if (seen.has(mark)) alike.push(element);
    seen.add(mark);
  }
  const nothingAppeared = again && [...visible].every((element) => window.looked?.has(element));
  window.looked = visible;
  axe.configure({ rules: [{ id: "color-contrast", selector: "*:not([data-alike])" }] });
  alike.forEach((element) => element.setAttribute("data-alike", ""));
  const only = nothingAppeared ? { runOnly: OF_STYLE } : {};
  const options = { resultTypes: ["violations"], preload: { assets: ["media"] }, ...only };
  const { violations } = await axe.run(options);
  alike.forEach((element) => element.removeAttribute("data-alike"));
  return violations;
}"""
AXE = Axe().axe_script
# As patient as the pages' own time-outs: a worker that is busy with another test's archive is no failure.
expect.set_options(timeout=20_000)


@dataclass
class Watch:
    """The console messages of all pages of a test; `expected` are patterns of allowed ones."""

    said: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.said.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    def expect(self, pattern: str) -> None:
        self.expected.append(pattern)

    def unexpected(self) -> list[str]:
        return [line for line in self.said if not any(re.search(pattern, line) for pattern in self.expected)]


# By package, not by session: while Playwright's loop runs, Django refuses its ORM to the tests of other packages.
@pytest.fixture(scope="package")
@needs.needs("chromium-headless-shell")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=programs.chromium())
        print(f"chromium {browser.version}")  # noqa: T201  # the run says which client it used
        yield browser
        browser.close()


@dataclass
class Admin:
    """The first run's admin: `state` is the cookies of a sign-in of the last minutes, as acts that matter require."""

    chromium: Browser
    larder: Live
    signed_in: Any = None
    at: float = 0

    @property
    def state(self) -> Any:
        if self.signed_in is None or time.monotonic() - self.at > 120:
            self.signed_in, self.at = sign_in(self.chromium, self.larder), time.monotonic()
        return self.signed_in


def sign_in(chromium: Browser, larder: Live, name: str = "admin", password: str = "") -> Any:
    context = chromium.new_context(ignore_https_errors=True, base_url=larder.url)
    page = context.new_page()
    page.goto("/account/login/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password", exact=True).fill(password or larder.admin_password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/")
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture(scope="package")
def signed_in(chromium: Browser, live: Live) -> Admin:
    return Admin(chromium, live)


@pytest.fixture(scope="package")
def space(live: Live) -> str:
    """A public namespace for the tests of this folder; each test takes a module name of its own."""
    with live.client(live.token()) as client:
        answer = client.put("/api/v1/namespaces/browsers", json={"visibility": "public"})
        assert answer.status_code in (200, 201), answer.text
    return "browsers"


ALICE = "alice", "alice likes quinces"
OWNER = f"""
from apps.accounts.models import Grant, Namespace, Role, User
alice, is_new = User.objects.get_or_create(username="{ALICE[0]}")
if is_new:
    alice.set_password("{ALICE[1]}")
    alice.save()
for name in "%s".split():
    Grant.objects.create(namespace=Namespace.objects.get(name=name), user=alice, role=Role.OWNER)
"""


def give_alice(larder: Live, *spaces: str) -> None:
    """Make public namespaces that Alice owns."""
    with larder.client(larder.token()) as client:
        for space in spaces:
            assert client.put(f"/api/v1/namespaces/{space}", json={"visibility": "public"}).status_code == 201
    larder.manage("shell", "--verbosity", "0", "-c", OWNER % " ".join(spaces))


@pytest.fixture(scope="package")
def full_shelf(on_postgres: Live) -> Shelf:
    """The shelf of a Larder that no other test uses: what lies on it is counted, found and swept."""
    return fill(on_postgres)


@pytest.fixture(scope="package")
def signed_in_at_the_shelf(chromium: Browser, full_shelf: Shelf) -> Admin:
    return Admin(chromium, full_shelf.live)


@pytest.fixture
def watch() -> Iterator[Watch]:
    watch = Watch()
    yield watch
    assert watch.unexpected() == []


@contextmanager
def browsing(chromium: Browser, larder: Live, state: Any, watch: Watch) -> Iterator[Callable[..., BrowserContext]]:
    contexts: list[BrowserContext] = []

    def open_(**options: Any) -> BrowserContext:
        context = chromium.new_context(ignore_https_errors=True, base_url=larder.url, storage_state=state, **options)
        context.set_default_timeout(20_000)
        context.add_init_script(REPORT_VIOLATIONS)
        context.on("console", watch.note)
        context.on("weberror", lambda error: watch.said.append(f"uncaught: {error.error}"))
        contexts.append(context)
        return context

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture
def open_browser(
    chromium: Browser, live: Live, signed_in: Admin, watch: Watch
) -> Iterator[Callable[..., BrowserContext]]:
    """A signed-in browser of its own: `open_browser(java_script_enabled=False, color_scheme="dark")`."""
    with browsing(chromium, live, signed_in.state, watch) as open_:
        yield open_


@pytest.fixture(scope="module")
def shelf_browser(chromium: Browser, full_shelf: Shelf, signed_in_at_the_shelf: Admin) -> Iterator[tuple[Page, Watch]]:
    """One page for all tests of a file, and what it said since the last of them."""
    watch = Watch()
    with browsing(chromium, full_shelf.live, signed_in_at_the_shelf.state, watch) as open_:
        yield open_().new_page(), watch


@pytest.fixture
def shelf_page(shelf_browser: tuple[Page, Watch]) -> Iterator[Page]:
    page, watch = shelf_browser
    watch.said.clear()
    yield page
    assert watch.unexpected() == []


@pytest.fixture
def page(open_browser: Callable[..., BrowserContext]) -> Page:
    return open_browser().new_page()


@pytest.fixture
def archive(tmp_path: Path) -> Callable[..., Path]:
    """A file on the person's disk: a good module, or the bytes that are given."""

    def write(name: str, data: bytes | None = None) -> Path:
        path = tmp_path / name
        path.write_bytes(module_zip(comment=name.encode()) if data is None else data)
        return path

    return write


def follow_the_link(page: Page, at: str) -> None:
    page.goto(f"{at}/")
    page.get_by_role("link", name="Sign in").first.click()
    page.wait_for_url(f"{at}/account/login/")  # without `next`


def sign_out(page: Page, at: str) -> None:
    page.goto(f"{at}/account/logout/")
    page.locator("main").get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{at}/")


def expect_home_of(page: Page, name: str, at: str) -> None:
    page.wait_for_url(f"{at}/")
    page.goto(f"{at}/account/")
    expect(page.get_by_text(f"You are signed in as {name}")).to_be_visible()


def findings_in_both_themes(page: Page) -> list[str]:
    """Without motion: a colour on its way from one theme to the other has no contrast of its own."""
    found = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        found += [f"{theme} {finding}" for finding in serious_findings(page, again=theme == "dark")]
    return found


def serious_findings(page: Page, *, again: bool = False) -> list[str]:
    """The serious and critical findings of axe, one line each. `again`: since the last only theme and size changed."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate(FINDINGS, again)
    return [
        f"{violation['id']}: {[node['target'] for node in violation['nodes']]}"
        for violation in found
        if violation["impact"] in SERIOUS
    ]


def look(page: Page, name: str) -> None:
    """No overflow and no finding of axe: on a small phone, on a phone and at a desk, in both themes."""
    for width, scheme in ((320, "light"), (390, "dark"), (1440, "dark"), (1440, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]  # light or dark
        beyond = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert beyond <= 0, (name, width)
        assert serious_findings(page) == [], (name, width, scheme)

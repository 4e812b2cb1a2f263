"""An upload whose line breaks in the middle, as the person before it sees it."""

import os
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, Request, expect

from tests.browser.conftest import Watch, serious_findings
from tests.browser.publishing import describe, expect_published, hurry_until_it_gives_up
from tests.builders.archives import MODULE, module_zip
from tests.builders.line import Line, a_line

pytestmark = pytest.mark.live
LARGE: dict[str, str | bytes] = {**MODULE, "noise.bin": os.urandom(6_000_000)}  # cannot be compressed
LOST = "Connection lost; continuing…"


@pytest.fixture
def line(watch: Watch) -> Iterator[Line]:
    watch.expect(r"net::ERR_")
    with a_line() as line:
        yield line


@pytest.fixture
def page(open_browser: Callable[..., BrowserContext], line: Line) -> Page:
    return open_browser(proxy={"server": line.url}).new_page()


def break_off(page: Page, line: Line) -> None:
    """Publish the chosen file; the line breaks in its middle."""
    line.cut_after(3_000_000)
    page.get_by_role("button", name="Publish").click()
    expect(page.locator("[data-progress-numbers]")).to_have_text(LOST)


def offsets_of(page: Page) -> list[int]:
    """The first byte of each request from now on."""
    found: list[int] = []

    def note(request: Request) -> None:
        if request.method == "PATCH":
            found.append(int(request.headers["upload-offset"]))

    page.on("request", note)
    return found


def test_a_line_that_breaks_is_shown_and_the_upload_continues_where_it_was(page, space, archive, line):
    offsets = offsets_of(page)
    describe(page, space, "interrupted")
    page.locator("#file").set_input_files(archive("interrupted-1.0.0.zip", module_zip(LARGE)))
    break_off(page, line)
    expect(page.get_by_role("status").filter(has_text=LOST)).to_be_attached()
    assert serious_findings(page) == []
    expect(page.get_by_role("button", name="Retry now")).to_be_visible()
    line.mend()
    page.locator("[data-retry]").dispatch_event("click")  # the page may try by itself at this moment, and hide it
    page.wait_for_url("**/releases/*")
    expect_published(page)
    assert offsets[0] == 0
    assert offsets[-1] > 1_000_000


def test_a_page_that_gave_up_continues_when_it_is_asked_to(page, space, archive, line):
    offsets = offsets_of(page)
    describe(page, space, "retried-later")
    page.locator("#file").set_input_files(archive("retried-later-1.0.0.zip", module_zip(LARGE)))
    break_off(page, line)
    hurry_until_it_gives_up(page)
    expect(page.get_by_role("alert")).to_contain_text("The part already sent is kept for four hours")
    line.mend()
    page.get_by_role("button", name="Retry", exact=True).click()
    page.wait_for_url("**/releases/*")
    expect_published(page)
    assert offsets[-1] > 1_000_000


@pytest.mark.parametrize("is_same", [True, False], ids=["the same file", "another file"])
def test_after_a_reload_the_same_file_continues_and_another_one_starts_again(page, space, archive, line, is_same):
    describe(page, space, "reloaded" if is_same else "replaced")
    path = archive("reloaded-1.0.0.zip", module_zip(LARGE))
    page.locator("#file").set_input_files(path)
    with page.expect_response(lambda answer: answer.request.method == "POST") as began:
        break_off(page, line)
    release = began.value.json()["release"]
    line.mend()
    page.once("dialog", lambda dialog: dialog.accept())  # whether to leave the page
    page.goto(release)
    if not is_same:
        path = archive("other-1.0.0.zip", module_zip(LARGE, comment=b"another"))
    offsets = offsets_of(page)
    page.locator("#file").set_input_files(path)
    page.get_by_role("button", name="Upload and publish").click()
    expect_published(page)
    assert (offsets[-1] > 1_000_000) == is_same

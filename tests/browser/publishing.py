"""A person's steps on the publish pages, and the state of their release."""

from playwright.sync_api import Locator, Page, expect


def describe(page: Page, space: str, name: str) -> None:
    """Fill in the address of a new module; the version is guessed from the file."""
    page.goto("/publish")
    choose_a_new_one(page, "Module")
    page.get_by_label("Namespace", exact=True).select_option(space)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("System", exact=True).fill("local")


def choose_a_new_one(page: Page, kind: str) -> None:
    """Say that it is new, where there are others to choose from."""
    choice = page.get_by_label(kind, exact=True)
    if choice.count():
        choice.select_option("new")


def step(page: Page, name: str, state: str) -> Locator:
    return page.locator(f"[data-step={name}][data-step-state={state}]")


def expect_published(page: Page) -> None:
    expect(step(page, "published", "done")).to_be_visible(timeout=30_000)
    expect(page.get_by_text("is published", exact=False).first).to_be_visible()


def hurry_until_it_gives_up(page: Page) -> None:
    """Each attempt over a broken line follows at once, instead of after a pause that grows."""
    expect(page.locator("[data-lost]")).to_be_visible()
    for _ in range(200):
        if page.get_by_role("alert").count():
            return
        page.evaluate("document.querySelector('[data-retry]').click()")
        page.wait_for_timeout(100)
    raise AssertionError("the page never gives up")


def tab_to(page: Page, selector: str) -> None:
    for _ in range(40):
        if page.evaluate("selector => document.activeElement?.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reaches {selector}")


def drop(page: Page, *paths: str) -> None:
    """Drop files and folders of this machine, as a file manager does: a script's own DataTransfer holds no folders."""
    box = page.locator("[data-dropzone]").bounding_box()
    assert box is not None
    devtools = page.context.new_cdp_session(page)
    data = {"items": [], "files": list(paths), "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        devtools.send("Input.dispatchDragEvent", {"type": kind, "x": box["x"] + 40, "y": box["y"] + 40, "data": data})


def publish(page: Page) -> str:
    """Press the button and answer the id of the release that it leads to."""
    with page.expect_response(lambda answer: answer.request.method == "POST" and "/publish" in answer.url) as began:
        page.get_by_role("button", name="Publish").click()
    assert began.value.ok, began.value.text()  # a refusal says why; waiting for the next page would not
    page.wait_for_url("**/releases/*")
    return page.url.rpartition("/")[2]

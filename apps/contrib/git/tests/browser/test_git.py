"""From the front page: Alice connects a monorepo of 20 modules and 300 tags, publishes it, and fixes one of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import ALICE, Watch, browsing, give_alice, look, sign_in
from tests.builders.git_servers import Repository, Site
from tests.e2e.workspace import Workspace
from tests.live import Live
from tests.programs import is_there

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]
SPACE, OTHER_SPACE = "orchard", "forest"
MODULES = [f"module-{number:02}" for number in range(20)]
VERSIONS = 15
BROKEN = "module-07/v1.14.0"
# Publishing 300 versions, while other tests use the same two processors.
PATIENT = 600_000


def files_of(name: str, version: int) -> dict[str, str]:
    return {
        f"{name}/main.tf": f'variable "name" {{\n  type = string\n}}\n\nlocals {{\n  made = "{name} {version}"\n}}\n',
        f"{name}/outputs.tf": 'output "made" {\n  value = "${var.name} ${local.made}"\n}\n',
        f"{name}/versions.tf": 'terraform {\n  required_version = ">= 1.0"\n}\n',
        f"{name}/README.md": f"# {name}\n",
    }


@pytest.fixture
def space(*, is_all: bool) -> str:
    return OTHER_SPACE if is_all else SPACE


@pytest.fixture
def mono(git_server: Site, space: str) -> Repository:
    """The newest tag of one module is at a commit that lacks its folder."""
    found = git_server.repository(f"{space}/modules")
    tree: dict[str, str] = {}
    with found.batch() as batch:
        for minor in range(VERSIONS):
            tree = {path: text for name in MODULES for path, text in files_of(name, minor).items()}
            batch.commit(tree)
            for name in MODULES:
                if f"{name}/v1.{minor}.0" != BROKEN:
                    batch.tag(f"{name}/v1.{minor}.0")
        batch.commit({path: text for path, text in tree.items() if not path.startswith("module-07/")})
        batch.tag(BROKEN)
        batch.commit(tree)
    return found


@pytest.fixture(scope="module")
def larder(loopback: Live) -> Live:
    give_alice(loopback, SPACE, OTHER_SPACE)
    return loopback


@pytest.fixture
def page(chromium: Browser, larder: Live, watch: Watch) -> Iterator[Page]:
    with browsing(chromium, larder, sign_in(chromium, larder, *ALICE), watch) as open_:
        yield open_().new_page()


def connect(page: Page, space: str, url: str) -> None:
    page.goto("/")
    page.locator("main").get_by_role("link", name=space, exact=True).first.click()
    page.get_by_role("link", name="Publishing", exact=True).first.click()
    page.get_by_role("link", name="Git repositories", exact=True).first.click()
    look(page, "list-empty")
    page.get_by_role("link", name="Connect a repository").first.click()
    look(page, "connect")
    page.get_by_label("Repository", exact=True).fill(url)
    page.get_by_role("button", name="Continue").click()


def test_the_form_offers_the_credentials_that_fit_the_address(page: Page, larder: Live) -> None:
    page.goto(f"/namespaces/{SPACE}/git/connect")
    address = page.get_by_label("Repository", exact=True)
    kinds = ("none", "app", "deploy_key", "token")
    public, app, key, token = (page.locator(f"input[name=kind][value={kind}]") for kind in kinds)
    for way in (public, app, key, token):
        expect(way).to_be_visible()

    address.fill("https://github.com/acme/vpc")
    expect(key).to_be_hidden()
    expect(app).to_be_visible()
    token.check()
    look(page, "connect-https")
    address.fill("git@gitlab.com:acme/vpc.git")
    expect(key).to_be_visible()
    expect(app).to_be_hidden()
    expect(token).to_be_hidden()
    # What cannot be sent with this address is not chosen.
    expect(public).to_be_checked()
    look(page, "connect-ssh")
    address.fill("registry.opentofu.org/terraform-aws-modules/vpc/aws")
    expect(public).to_be_hidden()
    expect(page.get_by_text("A module of another registry needs no credential.")).to_be_visible()
    look(page, "connect-module")
    address.fill("")
    for way in (public, app, key, token):
        expect(way).to_be_visible()


@pytest.mark.needs("terraform")
@pytest.mark.parametrize("is_all", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["some", "all"])
def test_a_monorepo_becomes_twenty_modules_that_clients_install(
    page: Page, larder: Live, space: str, mono: Repository, git_server: Site, tmp_path: Path, *, is_all: bool
) -> None:
    """Publishing all 300 takes minutes beside other tests."""
    chosen = 286 if is_all else 16
    connect(page, space, git_server.url_of(f"{space}/modules"))
    # The page of the look polls, and becomes the plan.
    expect(page.get_by_text("20 folders contain modules.")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("These rules would publish 300 of 300 tags, as 20 modules.")).to_be_visible()
    look(page, "plan")

    group = page.locator("[data-pick-group]", has_text="module-03")
    group.locator("summary").click()
    if is_all:
        group.get_by_role("button", name="Select none").click()
    else:
        page.get_by_role("button", name="Select none", exact=True).click()
        with_broken = page.locator("[data-pick-group]", has_text="module-07")
        with_broken.locator("summary").click()
        with_broken.get_by_role("button", name="Select all").click()
    expect(page.get_by_role("button", name=f"Publish {chosen - 1} versions")).to_be_visible()
    group.get_by_label("module-03/v1.14.0").check()
    expect(group.locator("summary")).to_contain_text("1 of 15")
    look(page, "plan-chosen")
    page.get_by_role("button", name=f"Publish {chosen} versions").click()

    # The page of the repository polls until the last tag has its verdict.
    expect(page.get_by_role("link", name=f"Published {chosen - 1}")).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("link", name=f"Ignored {300 - chosen}")).to_be_visible()
    look(page, "repository")
    page.get_by_role("link", name="Refused 1").click()
    row = page.locator(f'[data-tag="{BROKEN}"]')
    expect(row).to_contain_text("no folder module-07")
    look(page, "refused")

    # Nothing was published of it, so that the tag may move to a commit that has the folder.
    mono.tag(BROKEN)
    page.get_by_role("button", name="Sync now").click()
    retry = page.locator(f'[data-tag="{BROKEN}"]').get_by_role("button", name="Retry")
    fixed = page.locator(f'[data-tag="{BROKEN}"]').get_by_role("link")
    expect(retry.or_(fixed).first).to_be_visible(timeout=60_000)
    if retry.count():
        retry.click()
    expect(page.get_by_role("link", name=f"Published {chosen}")).to_be_visible(timeout=60_000)

    page.get_by_label("Tag, version or module").fill("module-07")
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator(f'[data-tag="{BROKEN}"]').get_by_role("link").click()
    expect(page.get_by_role("heading", name="module-07").first).to_be_visible()
    page.goto(f"/namespaces/{space}/git")
    look(page, "list")
    for program in filter(is_there, ("terraform", "tofu")):
        install(larder, space, program, tmp_path)


def install(larder: Live, space: str, program: str, folder: Path) -> None:
    workspace = Workspace(folder / program, program, larder)
    workspace.module("seven", f"{space}/module-07/{system_of(larder, space)}", "1.14.0")
    done = workspace.run("init", "-no-color")
    assert done.returncode == 0, done.stdout + done.stderr
    assert any(path.name == "outputs.tf" for path in workspace.work.rglob(".terraform/modules/**/*.tf"))


def system_of(larder: Live, space: str) -> str:
    """Return the system that was suggested: the modules use no provider that says it."""
    with larder.client() as client:
        return str(client.get(f"/api/v1/modules?namespace={space}").json()["modules"][0]["system"])

"""Publishing a provider as a person does it: a build folder, understood before it is sent, with a worker at its end."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.conftest import Watch, serious_findings
from tests.browser.publishing import choose_a_new_one, drop, expect_published, hurry_until_it_gives_up
from tests.builders import providers
from tests.builders.keys import signing_key
from tests.builders.zips import Member
from tests.live import Live
from tests.site.processes import eventually

pytestmark = pytest.mark.live
OpenBrowser = Callable[..., BrowserContext]
PLATFORMS = ("darwin_arm64", "linux_amd64", "linux_arm64")
PAGE = "/publish/provider"


@pytest.fixture(scope="package")
def larder_of_keys(live: Live) -> str:
    """A public namespace with a registered public key and one that the registry signs with."""
    name = "presses"
    with live.client(live.token()) as client:
        client.put(f"/api/v1/namespaces/{name}", json={"visibility": "public"}).raise_for_status()
        keys = f"/api/v1/namespaces/{name}/keys"
        client.post(keys, json={"armor": signing_key().armor}).raise_for_status()
        client.post(keys, json={"generate": "ed25519"}).raise_for_status()
        eventually(lambda: all(key["state"] != "pending" for key in client.get(keys).json()["keys"]))
    return name


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """A folder on the person's disk."""

    def write(files: Mapping[str, bytes], name: str = "dist") -> Path:
        for path, data in files.items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_bytes(data)
        return tmp_path / name

    return write


def build(type: str, version: str = "1.2.0") -> dict[str, bytes]:  # noqa: A002 - the field's word
    """The output folder of GoReleaser, other files included."""
    files = providers.dist(type, version, PLATFORMS)
    sums = f"terraform-provider-{type}_{version}_SHA256SUMS"
    rest = {"config.yaml": b"project_name: x\n", "artifacts.json": b"[]", f"{type}_linux_amd64_v1/program": b"\x7fELF"}
    return {**files, f"{sums}.sig": signing_key().sign(files[sums]), **rest}


def zips(type: str, version: str = "1.2.0") -> dict[str, bytes]:  # noqa: A002 - as above
    return {name: data for name, data in build(type, version).items() if name.endswith(".zip")}


def choose(page: Page, path: Path, namespace: str) -> None:
    page.goto(PAGE)
    choose_a_new_one(page, "Provider")
    page.get_by_label("Namespace", exact=True).select_option(namespace)
    page.locator("#chosen-folder").set_input_files(path)
    expect(page.locator("[data-plan]")).to_be_visible()


def send(page: Page) -> None:
    page.get_by_role("button", name="Send").click()


def row(page: Page, part: str) -> Locator:
    return page.locator("[data-plan-file]").filter(has_text=part)


def test_a_dropped_build_folder_is_understood_before_it_is_sent_and_published(page, larder_of_keys, folder):
    requests: list[str] = []
    page.goto(PAGE)
    choose_a_new_one(page, "Provider")
    page.get_by_label("Namespace", exact=True).select_option(larder_of_keys)
    page.on("request", lambda request: requests.append(request.method))
    drop(page, str(folder(build("dropped"))))
    plan = page.locator("[data-plan]")
    expect(plan).to_contain_text("3 platforms")
    expect(page.get_by_label("Type", exact=True)).to_have_value("dropped")
    expect(page.get_by_label("Version", exact=True)).to_have_value("1.2.0")
    expect(plan.locator("[data-plan-matrix] tbody tr")).to_have_count(2)
    expect(plan.locator("[data-plan-signing=publisher]")).to_contain_text("Publisher-signed")
    expect(plan.locator("[data-plan-ignored]")).to_contain_text("3 other files, not sent")
    expect(plan.locator("[data-plan-problems]")).to_be_hidden()
    expect(page.get_by_text("Plugin protocols")).to_be_hidden()
    assert serious_findings(page) == []
    assert requests == []
    send(page)
    page.wait_for_url("**/releases/*")
    expect_published(page)
    expect(page.locator("#release-status [data-file]")).to_have_count(6)
    page.get_by_role("link", name="Open its page").click()
    page.wait_for_url(f"**/providers/{larder_of_keys}/dropped/1.2.0")


def test_zips_alone_are_signed_by_the_registry_and_the_protocols_are_asked(page, larder_of_keys, folder):
    choose(page, folder(zips("zipped")), larder_of_keys)
    expect(page.locator("[data-plan-signing=registry]")).to_contain_text("Registry-signed")
    send(page)
    expect(page.get_by_role("alert")).to_contain_text("choose them")
    page.get_by_role("checkbox", name="6.0").check()
    send(page)
    page.wait_for_url("**/releases/*")
    expect_published(page)
    expect(page.locator('[data-step="signed"][data-step-state="done"]')).to_be_visible()


def test_what_is_missing_or_wrong_is_told_before_anything_is_sent(page, larder_of_keys, folder):
    files = build("wrong")
    stem = "terraform-provider-wrong_1.2.0"
    del files[f"{stem}_linux_arm64.zip"]
    files[f"{stem}_freebsd_amd64.zip"] = b"no line"
    files[f"old/{stem}_linux_amd64.zip"] = b"once more"
    files["terraform-provider-wrong_1.2.0.zip"] = b"no platform"
    files["terraform-provider-wrong_1.1.0_linux_386.zip"] = b"another version"
    files[f"{stem}_lunix_amd64.zip"] = b"a slip"
    requests: list[str] = []
    choose(page, folder(files), larder_of_keys)
    page.on("request", lambda request: requests.append(request.method))
    problems = page.locator("[data-plan-problems]")
    for text in (
        f"lists {stem}_linux_arm64.zip, which is missing",
        f"{stem}_freebsd_amd64.zip has no line in",
        "is linux_amd64 again",
        "terraform-provider-wrong_1.2.0.zip has no platform in its name",
        "belongs to wrong 1.1.0",
        "is for lunix_amd64, which no client requests",
    ):
        expect(problems).to_contain_text(text)
    assert serious_findings(page) == []
    send(page)
    expect(page.get_by_role("alert")).to_be_focused()
    assert requests == []
    for name in ("freebsd", "lunix", "1.1.0", "wrong_1.2.0.zip", "old/"):
        row(page, name).first.get_by_role("button", name="Remove").click()
    expect(problems).not_to_contain_text("once more")
    expect(problems).to_contain_text("linux_arm64.zip, which is missing")
    page.locator("#file").set_input_files(
        folder({f"{stem}_linux_arm64.zip": build("wrong")[f"{stem}_linux_arm64.zip"]}, "late")
        / f"{stem}_linux_arm64.zip"
    )
    expect(problems).to_be_hidden()


def test_sums_and_signature_are_told_of_when_one_of_them_is_alone(page, larder_of_keys, folder):
    files = build("halved")
    choose(page, folder(files), larder_of_keys)
    row(page, "SHA256SUMS.sig").get_by_role("button", name="Remove").click()
    expect(page.locator("[data-plan-notes]")).to_contain_text("has no signature (")
    expect(page.locator("[data-plan-signing=registry]")).to_be_visible()
    choose(page, folder(files), larder_of_keys)
    row(page, "SHA256SUMS").first.get_by_role("button", name="Remove").click()
    expect(page.locator("[data-plan-problems]")).to_contain_text("signs a SHA256SUMS that is missing")


def test_a_namespace_without_a_key_cannot_sign(page, space, folder):
    choose(page, folder(zips("unsigned")), space)
    expect(page.locator("[data-plan-signing=none]")).to_contain_text("no active key")
    expect(page.locator("[data-plan-problems]")).to_contain_text("SHA256SUMS with its .sig, or generate a signing key.")
    with page.context.expect_page() as opened:  # where the files stay
        page.get_by_role("link", name="Signing keys of the namespace").click()
    expect(opened.value.get_by_role("heading", name="Signing keys", exact=True)).to_be_visible()


def test_a_general_manifest_tells_the_protocols_and_stays(page, larder_of_keys, folder):
    files = {**zips("general"), "terraform-registry-manifest.json": providers.manifest("5.1")}
    choose(page, folder(files), larder_of_keys)
    expect(page.locator("[data-plan-notes]")).to_contain_text("is not sent")
    expect(page.get_by_role("checkbox", name="5.1")).to_be_checked()
    send(page)
    page.wait_for_url("**/releases/*")
    expect_published(page)
    expect(page.locator("#release-status [data-file]")).to_have_count(3)


def large(type: str) -> dict[str, bytes]:  # noqa: A002 - as above
    """Two platforms, one of which takes its time."""
    files = zips(type)
    name = f"terraform-provider-{type}_1.2.0_linux_amd64.zip"
    member = Member("data.bin", os.urandom(8_000_000))
    return {**files, name: providers.package(type, "1.2.0", "linux", "amd64", extra=[member])}


def test_each_file_has_its_progress_and_the_whole_release_can_be_cancelled(page, larder_of_keys, folder):
    choose(page, folder(large("cancelled")), larder_of_keys)
    page.get_by_role("checkbox", name="5.0").check()
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    rules = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 1_000_000}
    network.send("Network.emulateNetworkConditions", rules)
    send(page)
    expect(row(page, "darwin_arm64")).to_contain_text("received")
    expect(row(page, "linux_amd64")).to_contain_text(re.compile(r"[1-9]\d? %"))
    expect(page.locator("[data-progress-numbers]")).to_contain_text("left")
    assert serious_findings(page) == []
    page.get_by_role("button", name="Cancel this release").click()
    expect(page.get_by_role("status").filter(has_text="number is free")).to_be_attached()
    page.goto(PAGE)
    expect(page.get_by_text("cancelled 1.2.0")).to_have_count(0)


def test_a_broken_connection_keeps_the_good_files_and_the_rest_is_sent(page, larder_of_keys, folder, watch: Watch):
    watch.expect("ERR_CONNECTION_RESET")
    choose(page, folder(large("broken")), larder_of_keys)
    page.get_by_role("checkbox", name="5.0").check()
    page.route("**/files/*_linux_amd64.zip", lambda route: route.abort("connectionreset"))
    send(page)
    hurry_until_it_gives_up(page)
    expect(page.get_by_role("alert")).to_contain_text("The files sent so far are stored")
    expect(row(page, "linux_amd64")).to_contain_text("not sent")
    expect(row(page, "darwin_arm64")).to_contain_text("received")
    page.unroute_all()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "PATCH" else None)
    page.get_by_role("button", name="Send the rest").click()
    expect_published(page)
    assert [url.rpartition("_1.2.0_")[2] for url in sent] == ["linux_amd64.zip"]


def test_a_draft_is_found_again_in_another_browser_and_lacks_only_the_rest(
    open_browser: OpenBrowser, larder_of_keys, folder, live: Live
):
    files = zips("later")
    first, *rest = sorted(files)
    with live.client(live.token()) as client:
        draft = f"/api/v1/providers/{larder_of_keys}/later/1.2.0"
        client.post(draft, json={"protocols": ["5.0"]}).raise_for_status()
        client.put(f"{draft}/files/{first}", content=files[first]).raise_for_status()
    page = open_browser(color_scheme="dark").new_page()
    page.goto("/")
    page.get_by_role("link", name=f"{larder_of_keys}/later 1.2.0 is a draft", exact=True).click()
    expect(page.locator(f"[data-file='{first}']")).to_be_visible()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "PATCH" else None)
    page.locator("#chosen-folder").set_input_files(folder(files))
    expect(page.locator("[data-plan-matrix]")).to_be_visible()
    assert serious_findings(page) == []
    page.get_by_role("button", name="Send the files").click()
    expect(page.locator("#release-status [data-file]")).to_have_count(3)
    assert sorted(url.rpartition("/")[2] for url in sent) == rest
    page.get_by_role("button", name="Submit and publish").click()
    expect_published(page)

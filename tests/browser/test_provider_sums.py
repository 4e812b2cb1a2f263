"""The plan of a provider judges checksums of files that were not chosen as the worker does."""

import hashlib
import re

import pytest
from playwright.sync_api import expect

from tests.browser.publishing import expect_published
from tests.browser.test_publish_provider import build, choose, folder, pytestmark, row, send
from tests.builders.keys import signing_key
from tests.lib.packages.test_names import COMPANIONS, NO_COMPANIONS, SOURCES
from tests.live import Live

__all__ = ["folder", "pytestmark"]


@pytest.fixture(scope="module")
def press(live: Live) -> str:
    """A public namespace with a registered public key."""
    name = "proofs"
    with live.client(live.token()) as client:
        client.put(f"/api/v1/namespaces/{name}", json={"visibility": "public"}).raise_for_status()
        client.post(f"/api/v1/namespaces/{name}/keys", json={"armor": signing_key().armor}).raise_for_status()
    return name


def listing(type: str, *rests: str, sources: str = "") -> dict[str, bytes]:  # noqa: A002 - the field's word
    """GoReleaser's folder, whose signed sums have a line for each of these as well, and not the files."""
    files, stem = build(type), f"terraform-provider-{type}_1.2.0"
    sums = f"{stem}_SHA256SUMS"
    names = [stem + rest for rest in rests if stem + rest not in files] + [sources] * bool(sources)
    files[sums] += b"".join(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n".encode() for name in names)
    return {**files, f"{sums}.sig": signing_key().sign(files[sums])}


def test_lines_for_sboms_and_sources_are_not_needed(page, press, folder):
    files = listing("companions", *COMPANIONS, sources=SOURCES.format("companions"))
    files["terraform-provider-companions_1.2.0_linux_amd64.zip.sbom.json"] = b"{}"
    choose(page, folder(files), press)
    expect(page.locator("[data-plan-notes]")).to_contain_text(f"and {len(COMPANIONS) + 1 - 3} more: not needed")
    expect(page.locator("[data-plan-problems]")).to_be_hidden()
    expect(page.locator("[data-plan-ignored]")).to_contain_text("4 other files, not sent")
    expect(page.locator("[data-plan-signing=publisher]")).to_be_visible()


def test_a_manifest_that_the_sums_list_is_sent_under_either_name(page, press, folder):
    files = build("manifested")
    manifest = files.pop("terraform-provider-manifested_1.2.0_manifest.json")
    choose(page, folder(files), press)
    problems = page.locator("[data-plan-problems]")
    expect(problems).to_contain_text("_manifest.json, which is missing. Add it, or terraform-registry-manifest.json")
    path = folder({"terraform-registry-manifest.json": manifest}, "repository")
    page.locator("#file").set_input_files(path / "terraform-registry-manifest.json")
    expect(problems).to_be_hidden()
    send(page)
    page.wait_for_url("**/releases/*")
    expect_published(page)


def test_every_other_line_is_told_with_what_can_be_done(page, press, folder):
    there = ("_linux_amd64.zip", "_manifest.json", "_SHA256SUMS.sig")
    missing = [rest for rest in NO_COMPANIONS if rest not in there]
    files = listing("others", "_linux_386.zip", *missing)
    choose(page, folder(files), press)
    problems = page.locator("[data-plan-problems]")
    expect(problems.locator("li")).to_have_count(len(missing) + 1)
    expect(problems).to_contain_text("_linux_386.zip, which is missing. Add it")
    expect(problems).to_contain_text(re.compile(r"_linux_x86_64\.zip, which is not a file of this version\. Create"))
    expect(problems).to_contain_text(re.compile(r"_docs\.zip, which clients do not verify"))
    expect(page.locator("[data-plan-notes]")).to_be_hidden()
    assert row(page, "SHA256SUMS").count() == 2

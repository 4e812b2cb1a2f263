"""A program that was packed without its mode: clients install it and cannot start it, so its pages say so."""

import pytest

from tests import pages
from tests.builders.providers import package, program
from tests.builders.zips import Member, build
from tests.providers.conftest import held
from tests.providers.draft_client import STEM, DraftClient

__all__ = ["held"]


def packed_by_a_script(os: str, arch: str) -> bytes:
    suffix = ".exe" if os == "windows" else ""
    told = f"{os} {arch}".encode()
    return build([Member(f"terraform-provider-dns_v1.2.0{suffix}", program(os, arch) + told, mode=0o100644)])


@pytest.fixture
def published(tofu, alice, held):
    def publish(**packages: bytes) -> str:
        files = {f"{STEM}_{platform}.zip": data for platform, data in packages.items()}
        document = DraftClient(tofu(alice)).publish(files, protocols=["5.0"])
        assert document["state"] == "published", document
        return f"/releases/{document['id']}"

    return publish


def test_the_pages_name_the_platforms(published, browser_of, alice):
    release = published(
        linux_amd64=packed_by_a_script("linux", "amd64"),
        darwin_arm64=packed_by_a_script("darwin", "arm64"),
        linux_arm64=package("dns", "1.2.0", "linux", "arm64"),
    )

    for url in (release, "/providers/acme/dns/1.2.0", "/providers/acme/dns/1.2.0/platforms"):
        page = pages.markup_of(browser_of(alice).get(url))
        assert "cannot be started on darwin_arm64, linux_amd64" in page, url
        assert "In the zips of 2 platforms it is not executable" in page


def test_windows_has_no_modes(published, browser_of, alice):
    release = published(
        linux_amd64=package("dns", "1.2.0", "linux", "amd64"), windows_amd64=packed_by_a_script("windows", "amd64")
    )

    for url in (release, "/providers/acme/dns/1.2.0"):
        assert "data-not-runnable" not in pages.markup_of(browser_of(alice).get(url))

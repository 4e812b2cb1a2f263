"""A repository's manifest among the files of a form: GoReleaser lists it by another name, and does not copy it."""

import hashlib

import pytest

from apps.releases.models import Release, ReleaseFile, State
from tests.builders import providers
from tests.portal.publish.test_provider_draft import browser, form_of, page, post_form, pytestmark
from tests.providers import draft_client as bench
from tests.providers.draft_client import MANIFEST

__all__ = ["browser", "page", "pytestmark"]
GENERAL = "terraform-registry-manifest.json"


def test_a_form_takes_the_manifest_of_the_repository_under_the_name_that_the_sums_list(browser, page, registered):
    files = bench.signed(bench.dist())
    files[GENERAL] = files.pop(MANIFEST)  # GoReleaser lists it so, and does not copy it
    answer = post_form(browser, page, form_of(files))
    assert MANIFEST in answer.text
    assert "not kept" not in answer.text
    assert browser.post(f"{page}/hand-in").status_code == 303
    bench.work()
    assert Release.objects.get().state == State.PUBLISHED
    answer = post_form(browser, page, form_of({GENERAL: files[GENERAL]}))
    assert f"Received: {MANIFEST}." in answer.text  # it is what came before


@pytest.mark.parametrize("first", [GENERAL, MANIFEST])
def test_a_manifest_of_the_build_folder_comes_before_that_of_the_repository(browser, page, first):
    other = {GENERAL: MANIFEST, MANIFEST: GENERAL}[first]
    bodies = {MANIFEST: b"of the build", GENERAL: b"of the repository"}
    post_form(browser, page, form_of({first: bodies[first], other: bodies[other]}))
    assert ReleaseFile.objects.get().digest == hashlib.sha256(b"of the build").hexdigest()


def test_a_manifest_that_the_sums_do_not_list_is_left(browser, page, registered):
    files = bench.signed(bench.dist(protocols=()))
    answer = post_form(browser, page, form_of({**files, GENERAL: providers.manifest("5.0")}))
    assert f"Not needed, and not stored: {GENERAL}." in answer.text
    assert browser.post(f"{page}/hand-in", {"protocols": ["5.0"]}).status_code == 303
    bench.work()
    assert Release.objects.get().state == State.PUBLISHED

"""/releases/<uuid>/files and the page of a provider's draft: sent raw or as a form, removed, handed in, cancelled."""

import hashlib
import json
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from apps.blobs import store
from apps.blobs.backends import Missing
from apps.releases.models import Release, ReleaseFile, State
from tests.api.conftest import Untouchable
from tests.builders import providers
from tests.portal.publish.conftest import JSON, NEW
from tests.providers import draft_client as bench
from tests.providers.draft_client import DARWIN, LINUX, MANIFEST, SIGNATURE, SUMS
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
ORIGIN = {"Origin": settings.PUBLIC_URL}
OPENING = {"provider": "new", "namespace": "acme", "type": "dns", "version": "1.2.0"}
CUT = "a-boundary"
GENERAL = "terraform-registry-manifest.json"  # GoReleaser lists it by another name, and does not copy it


@pytest.fixture
def page(browser) -> str:
    """The page of Alice's fresh draft of acme/dns 1.2.0."""
    return browser.post("/publish/provider", OPENING).url


@pytest.fixture
def put(browser, page):
    def send(name: str, body: bytes, **headers: str) -> Any:
        return browser.generic("PUT", f"{page}/files/{name}", body, headers={**ORIGIN, **JSON, **headers})

    return send


def form_of(files: dict[str, bytes]) -> bytes:
    """Return the body that a browser sends for `<input type=file multiple>`, with the field before it."""
    parts = [b'Content-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\nabc']
    for name, data in files.items():
        head = f'Content-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: x/zip\r\n\r\n'
        parts.append(head.encode() + data)
    return b"".join(f"--{CUT}\r\n".encode() + part + b"\r\n" for part in parts) + f"--{CUT}--\r\n".encode()


def post_form(browser: Client, page: str, body: bytes, **headers: str) -> Any:
    kind = f"multipart/form-data; boundary={CUT}"
    answer: Any = browser.generic("POST", f"{page}/files", body, content_type=kind, headers={**ORIGIN, **headers})
    return browser.get(answer.url) if answer.status_code == 303 else answer


def names() -> list[str]:
    return sorted(ReleaseFile.objects.values_list("name", flat=True))


def test_a_raw_put_is_kept_with_its_digest(put):
    answer = put(LINUX, b"a zip")
    digest = hashlib.sha256(b"a zip").hexdigest()
    assert answer.status_code == 201
    assert answer.json() == {"name": LINUX, "role": "package", "digest": f"sha256:{digest}", "size": 5}
    assert put(LINUX, b"another").status_code == 200
    assert ReleaseFile.objects.get().size == 7


@for_each_row(
    ("headers", "name", "status"),
    [
        ({"Origin": "https://evil.example"}, LINUX, 403),
        ({"Origin": "null"}, LINUX, 403),
        ({}, LINUX, 403),
        ({"Sec-Fetch-Site": "cross-site"}, LINUX, 403),
        (ORIGIN, "README.md", 422),
        (ORIGIN, LINUX.replace("linux", "lunix"), 422),
        (ORIGIN, LINUX.replace("1.2.0", "1.3.0"), 422),
        ({**ORIGIN, "Content-Length": str(settings.PROVIDER_PACKAGE_MAX_BYTES + 1)}, LINUX, 413),
        ({**ORIGIN, "Content-Length": str(settings.SUMS_MAX_BYTES + 1)}, SUMS, 413),
    ],
)
def test_it_refuses_before_the_first_byte(browser, page, headers, name, status):
    answer = browser.put(f"{page}/files/{name}", b"", headers={**JSON, **headers}, **{"wsgi.input": Untouchable()})
    assert answer.status_code == status
    assert answer.json()["error"].endswith((".", ")"))
    assert names() == []


def test_a_modules_release_takes_no_files(browser):
    page = browser.post("/publish", NEW).url
    assert browser.generic("PUT", f"{page}/files/{LINUX}", b"zip", headers=ORIGIN).status_code == 404


def test_a_form_brings_all_its_files_and_says_what_it_left(browser, page):
    rest = {"config.yaml": b"x" * 700_000, "artifacts.json": b"{}", f"{LINUX}.sbom.json": b"{}"}
    rest |= {f"{bench.STEM}.tar.gz": b"tar"}
    body = form_of({LINUX: b"zip", **rest, SUMS: b"sums"})
    assert post_form(browser, page, body, Origin="https://evil.example").status_code == 403
    assert names() == []

    answer = post_form(browser, page, body)
    assert names() == sorted([SUMS, LINUX])
    assert f"Not needed, so not stored: {', '.join(rest)}." in answer.text
    assert "Name the files as GoReleaser does" not in answer.text
    assert "No file was chosen" in post_form(browser, page, form_of({})).text


def test_a_name_that_cannot_be_read_is_told_with_the_names_that_can(browser, page):
    answer = post_form(browser, page, form_of({LINUX.replace("amd64", "amd46"): b"zip", DARWIN: b"zip"}))
    assert names() == [DARWIN]
    assert "amd46" in answer.text


def test_a_form_that_breaks_off_keeps_its_whole_files_only(browser, page):
    body = form_of({LINUX: b"whole", DARWIN: b"broken"})
    answer = post_form(browser, page, body[: body.index(b"broken") + 3])
    assert answer.status_code == 400
    assert names() == [LINUX]


def test_a_file_over_the_limit_ends_the_form_and_is_told(browser, page, settings):
    settings.SUMS_MAX_BYTES = 3
    answer = post_form(browser, page, form_of({LINUX: b"whole", SUMS: b"sums", DARWIN: b"zip"}))
    assert answer.status_code == 413
    assert "sums_max_bytes of LARDER_LIMITS" in answer.text
    assert names() == [LINUX]


def test_the_page_says_what_came_and_what_is_missing_and_changes_when_a_file_comes(browser, page, put):
    seen = browser.get(f"{page}/status").text.split("seen=")[1].split('"')[0]
    assert browser.get(f"{page}/status?seen={seen}").status_code == 204
    put(LINUX, b"zip")
    assert LINUX in browser.get(f"{page}/status?seen={seen}").text

    shown = browser.get(page).text
    assert f'data-file="{LINUX}"' in shown
    assert 'data-missing="not_signed"' in shown
    assert "Plugin protocols" in shown
    assert "Submit and publish" not in shown


def test_a_file_is_removed_and_a_cancelled_draft_goes_with_all_its_files(browser, page, put):
    remove = f"{page}/files/{LINUX}/remove"
    for end in (remove, f"{page}/cancel"):
        assert browser.post(remove).status_code == 404
        put(LINUX, b"zip")
        key = ReleaseFile.objects.get(name=LINUX).staging_key
        assert browser.post(end).url == page
        with pytest.raises(Missing):
            store.open_staged(key)
    assert Release.objects.get().state == State.REJECTED
    assert "1.2.0 is still free" in browser.get(page).text


def test_it_is_handed_in_and_published_with_the_protocols_that_were_chosen(browser, page, put, held):
    for name, data in bench.zips().items():
        put(name, data)
    answer = browser.post(f"{page}/hand-in", headers=JSON)
    assert answer.status_code == 422
    assert "no plugin protocols in the draft" in answer.json()["error"]
    answer = browser.post(f"{page}/hand-in", {"protocols": ["6.0"]})
    assert (answer.status_code, answer.url) == (303, page)
    bench.work()
    release = Release.objects.get()
    assert release.state == State.PUBLISHED
    assert release.provider_version.protocols == ["6.0"]
    shown = browser.get(page).text
    assert ">Signed<" in shown
    assert "required_providers" in shown
    assert 'href="/providers/acme/dns/1.2.0"' in shown


@pytest.mark.parametrize(
    ("files", "protocols", "says"),
    [
        ([], ["5.0"], "no package"),
        ([LINUX], ["5.0"], "no active key"),
        ([LINUX], ["7.0"], "5.x or 6.x"),
        ([LINUX, SIGNATURE], ["5.0"], "without SHA256SUMS"),
    ],
)
def test_what_is_missing_is_told_before_it_is_handed_in(browser, page, put, files, protocols, says):
    for name in files:
        put(name, b"bytes")
    answer = browser.post(f"{page}/hand-in", {"protocols": protocols})
    assert answer.status_code == 422
    assert says in answer.text
    assert says in browser.post(f"{page}/hand-in", {"protocols": protocols}, headers=JSON).json()["error"]
    assert Release.objects.get().state == State.RECEIVING


def test_a_refused_release_names_its_files_and_what_is_wrong_with_each(browser, page, put, held):
    for name, data in bench.zips().items():
        put(name, data if name == LINUX else b"this is no zip")
    browser.post(f"{page}/hand-in", {"protocols": ["5.0"]})
    bench.work()
    shown = browser.get(page).text
    assert Release.objects.get().state == State.REJECTED
    assert "1 reason above" in shown
    assert shown.index(f'data-file="{DARWIN}"') < shown.index(f'data-file="{LINUX}"')
    assert "/publish/provider?namespace=acme&amp;type=dns&amp;version=1.2.0" in shown


def test_another_publisher_sees_it_and_cannot_go_on_with_it(page, dora, browser_of):
    hers = browser_of(dora)
    assert "alice's" in hers.get(page).text.lower()
    assert "data-provider-draft" not in hers.get(page).text
    assert hers.post(f"{page}/hand-in", {"protocols": ["5.0"]}).status_code == 409


def test_the_reason_of_a_protocol_that_differs_is_kept_as_json(browser, page, put, held):
    """The draft stores the given protocols for the worker."""
    browser.post("/publish/provider", OPENING | {"protocols": ["5.0"]})
    for name, data in bench.zips().items():
        put(name, data)
    put(MANIFEST, json.dumps({"version": 1, "metadata": {"protocol_versions": ["6.0"]}}).encode())
    browser.post(f"{page}/hand-in")  # the form asks for none where a manifest is there
    bench.work()
    assert Release.objects.get().provider_version.protocols == ["6.0"]


def test_a_dist_folder_is_published_as_signed_with_the_manifest_of_the_repository(browser, page, registered):
    """A form takes it under the name that the sums list."""
    files = bench.signed(bench.dist())
    files[GENERAL] = files.pop(MANIFEST)
    answer = post_form(browser, page, form_of(files))
    assert "Publisher-signed" in answer.text
    assert "not kept" not in answer.text
    assert names() == sorted([LINUX, DARWIN, SUMS, SIGNATURE, MANIFEST])
    assert browser.post(f"{page}/hand-in").status_code == 303
    bench.work()
    assert Release.objects.get().state == State.PUBLISHED
    answer = post_form(browser, page, form_of({GENERAL: files[GENERAL]}))
    assert f"Received: {MANIFEST}." in answer.text  # it is what came before


@for_each_row("order", [(GENERAL, MANIFEST), (MANIFEST, GENERAL)])
def test_a_manifest_of_the_build_folder_comes_before_that_of_the_repository(browser, page, order):
    bodies = {MANIFEST: b"of the build", GENERAL: b"of the repository"}
    post_form(browser, page, form_of({name: bodies[name] for name in order}))
    assert ReleaseFile.objects.get().digest == hashlib.sha256(b"of the build").hexdigest()


def test_a_manifest_that_the_sums_do_not_list_is_left(browser, page, registered):
    files = bench.signed(bench.dist(protocols=()))
    answer = post_form(browser, page, form_of({**files, GENERAL: providers.manifest("5.0")}))
    assert f"Not needed, so not stored: {GENERAL}." in answer.text
    assert browser.post(f"{page}/hand-in", {"protocols": ["5.0"]}).status_code == 303
    bench.work()
    assert Release.objects.get().state == State.PUBLISHED

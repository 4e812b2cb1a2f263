"""/uploads/<ticket>: the bytes, as a raw PUT or as a streamed form."""

import tracemalloc
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from apps.portal.frame.form_files import MalformedForm, file_part
from apps.releases.models import Release, State
from apps.releases.publishing import reserving
from apps.releases.publishing.transitions import Moved
from tests.api.conftest import Untouchable
from tests.builders.archives import module_zip
from tests.portal.publish.conftest import JSON, NEW
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
ZIP = module_zip()
ORIGIN = {"Origin": settings.PUBLIC_URL}
BOUNDARY = "a-boundary"
FORM = f"multipart/form-data; boundary={BOUNDARY}"


@pytest.fixture
def ticket(alice, browser_of) -> str:
    """The URL of a fresh upload."""
    return browser_of(alice).post("/publish", NEW, headers=JSON).json()["upload"]


@pytest.fixture
def put(ticket):
    """Sends the raw body without a session: the ticket is the permission."""

    def send(body: bytes = ZIP, url: str = ticket, **headers: str):
        return Client().generic("PUT", url, body, headers={**ORIGIN, **JSON, **headers})

    return send


@pytest.fixture
def post(ticket):
    def send(body: bytes, content_type: str = FORM, url: str = ticket):
        return Client().generic("POST", url, body, content_type=content_type, headers=ORIGIN)

    return send


def form(
    data: bytes = ZIP, file_name: str = "vpc.zip", before: bytes = b"", end: bytes = b"\r\n--a-boundary--\r\n"
) -> bytes:
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{file_name}"\r\n'
    return before + head.encode() + b"Content-Type: application/zip\r\n\r\n" + data + end


FIELD = b'--a-boundary\r\nContent-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\nabc\r\n'


def test_a_raw_put_is_received_and_its_job_queued(put, work):
    response = put()
    assert response.status_code == 200
    release = Release.objects.get()
    assert response.json() == {"release": f"/releases/{release.public_id}"}
    assert (release.state, release.uploaded_size) == (State.RECEIVED, len(ZIP))
    work()
    release.refresh_from_db()
    assert release.state == State.PUBLISHED


@for_each_row("before", [b"", FIELD], ids=["the file alone", "a field before it"])
def test_a_form_without_javascript_is_received_and_leads_to_the_release(post, before):
    response = post(form(before=before))
    release = Release.objects.get()
    assert (response.status_code, response.url) == (303, f"/releases/{release.public_id}")
    assert (release.state, release.uploaded_size, release.file_name) == (State.RECEIVED, len(ZIP), "vpc.zip")


@for_each_row(
    ("headers", "url", "status"),
    [
        ({"Origin": "https://evil.example"}, None, 403),
        ({"Origin": "null"}, None, 403),
        ({"Origin": ""}, None, 403),
        ({}, None, 403),
        ({"Sec-Fetch-Site": "cross-site"}, None, 403),
        (ORIGIN, "/uploads/unknown", 404),
        ({**ORIGIN, "Content-Length": str(settings.MODULE_ARCHIVE_MAX_BYTES + 1)}, None, 413),
    ],
)
def test_it_refuses_before_the_first_byte_and_the_ticket_stays_good(ticket, put, headers, url, status):
    environ: dict[str, Any] = {"wsgi.input": Untouchable()}
    response = Client(headers={**JSON, **headers}).put(url or ticket, b"", **environ)
    assert response.status_code == status
    assert response.json()["error"].endswith((".", ")"))
    assert Release.objects.get().state == State.RECEIVING
    assert put().status_code == 200


def test_a_browser_that_hides_the_origin_may_say_where_it_stands(ticket):
    headers = {"Sec-Fetch-Site": "same-origin"}
    assert Client().generic("PUT", ticket, ZIP, headers={**JSON, **headers}).status_code == 200


def test_a_body_that_hides_its_length_stops_at_the_limit_which_the_refusal_names(ticket, post, settings):
    length = str(settings.MODULE_ARCHIVE_MAX_BYTES + 1)
    response = Client().put(ticket, b"", headers={**ORIGIN, **JSON, "Content-Length": length})
    assert "module_archive_max_bytes of LARDER_LIMITS" in response.json()["error"]
    assert "104,857,600" in response.json()["error"]

    settings.MODULE_ARCHIVE_MAX_BYTES = 300
    response = post(form(b"x" * 400))  # within the allowance for the form's own lines
    assert response.status_code == 413
    assert "module_archive_max_bytes of LARDER_LIMITS" in response.text
    assert Release.objects.get().state == State.REJECTED


def test_a_ticket_is_worth_one_upload(ticket, put):
    assert Client().get(ticket).status_code == 405
    assert put().status_code == 200
    again = put()
    assert again.status_code == 404
    assert "ticket" in again.json()["error"]


def test_a_ticket_ends_with_its_time(put, time_machine):
    time_machine.move_to(timezone.now() + settings.UPLOAD_TICKET_LIFETIME)
    late = put()
    assert late.status_code == 404
    assert "expired" in late.json()["error"]
    assert Release.objects.get().state == State.RECEIVING


def test_of_two_uploads_that_were_both_let_in_one_uses_the_ticket(ticket):
    first, second = (reserving.release_of_ticket(ticket.rpartition("/")[2]) for _ in range(2))
    reserving.use_ticket(first)
    with pytest.raises(Moved):
        reserving.use_ticket(second)


@for_each_row(
    ("body", "content_type", "says"),
    [
        (b"", FORM, "is expected"),
        (b"no form at all", FORM, "cannot be read"),
        (FIELD + b"--a-boundary--\r\n", FORM, "contains no file"),
        (form(b"", file_name=""), FORM, "No file was chosen"),
        (form(), "multipart/form-data", "is expected"),
        (form(), "application/zip", "is expected"),
        (form(before=FIELD.replace(b"abc", b"a" * 5000)), FORM, "too long"),
        (form().replace(b"Content-Type", b"X" * 5000), FORM, "cannot be read"),
        (form().replace(b"form-data", b"attachment"), FORM, "cannot be read"),
    ],
)
def test_a_form_that_holds_no_file_is_refused_and_the_ticket_stays_good(put, post, body, content_type, says):
    response = post(body, content_type)
    assert response.status_code == 400
    assert says in response.content.decode()
    assert put().status_code == 200


def test_a_form_that_breaks_off_leaves_a_reason_and_the_number_free(post, alice, browser_of, stored_files):
    response = post(form(end=b""))
    assert response.status_code == 400
    release = Release.objects.get()
    assert release.state == State.REJECTED
    assert stored_files() == []
    page = browser_of(alice).get(f"/releases/{release.public_id}").content.decode()
    assert "still free" in page


def test_the_answer_to_our_script_is_json_and_to_a_person_a_page(ticket):
    headers = {"Origin": "https://evil.example"}
    page = Client().generic("POST", ticket, b"", headers=headers)
    assert (page.status_code, page["Content-Type"]) == (403, "text/html; charset=utf-8")
    assert "https://evil.example" in page.content.decode()


def test_a_streamed_form_never_holds_the_file_in_memory():
    def body():
        yield form(end=b"")
        for _ in range(512):
            yield b"\r\n-" * 16_384  # 64 KiB that look like the start of a boundary again and again
        yield b"\r\n--a-boundary--\r\n"

    tracemalloc.start()
    part = file_part(FORM, body())
    size = sum(len(chunk) for chunk in part.chunks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size > 24 * 1024 * 1024
    assert peak < 2 * 1024 * 1024


@for_each_row("step", [1, 2, 3, 7, 64])
def test_a_form_reads_the_same_however_its_bytes_arrive_and_says_that_it_ends_inside_the_file(step):
    whole = form(b"a\r\n--a-boundarx\r\n--a-b\r\n", before=FIELD)

    def read(data):
        part = file_part(FORM, (data[at : at + step] for at in range(0, len(data), step)))
        return part.file_name, b"".join(part.chunks)

    assert read(whole) == ("vpc.zip", b"a\r\n--a-boundarx\r\n--a-b\r\n")
    with pytest.raises(MalformedForm, match="cannot be read"):
        read(whole[: -len(b"\r\n--a-boundary--\r\n")])

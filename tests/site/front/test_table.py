"""The table of ready answers: its entries, its bounds, and the requests that it answers."""

import hashlib
from typing import Any

from apps.http.ready import Ready
from registry_site.front.changes import Changes
from registry_site.front.front import Front
from registry_site.front.table import ENTRY_BYTES, Entry, Question, Table, question_of, whole_of
from tests.rows import for_each_row
from tests.site.front.asking import scope_of

MEGABYTE = 1024 * 1024


def entry_of(body):
    whole = whole_of(200, ((b"content-type", b"application/json"),), body)
    return Entry(whole, (), era=0, number=0, until=float("inf"), download=None)


def key_of(path="/v1/modules", credentials=None):
    return ("GET", "https", path, path.encode(), b"", credentials, b"larder.example", None, None)


def test_ten_thousand_paths_and_credentials_stay_within_the_setting():
    table = Table(Changes(), most_bytes=MEGABYTE)
    for number in range(5_000):
        table.add(key_of(f"/v1/modules/{number}"), entry_of(b"%d" % number))
        table.add(key_of(credentials=hashlib.sha256(b"%d" % number).digest()), entry_of(b"the same"))

    assert 0 < table.bytes <= MEGABYTE
    assert len(table) <= MEGABYTE // ENTRY_BYTES
    assert len(table._wholes) <= len(table)


def test_a_body_is_there_once_however_many_read_it():
    table, body = Table(Changes(), most_bytes=4 * MEGABYTE), b"x" * (MEGABYTE // 2)
    for number in range(1000):
        table.add(key_of(credentials=b"%032d" % number), entry_of(bytes(body)))

    assert len(table) == 1000
    assert table.bytes < MEGABYTE // 2 + 1002 * 2 * ENTRY_BYTES


def test_what_is_asked_for_stays_and_what_is_not_goes():
    table = Table(Changes(), most_bytes=20 * ENTRY_BYTES)
    for number in range(100):
        table.add(key_of(f"/{number}"), entry_of(b"%d" % number))
        assert table.find(key_of("/0")) is not None, number
    assert table.find(key_of("/1")) is None


def test_an_answer_larger_than_a_quarter_of_the_table_stays_outside():
    table = Table(Changes(), most_bytes=MEGABYTE)
    table.add(key_of(), entry_of(b"x" * MEGABYTE))
    assert (len(table), table.bytes) == (0, 0)


@for_each_row("personal", [(b"set-cookie", b"sessionid=x"), (b"vary", b"Accept-Encoding, Cookie")])
def test_an_answer_to_one_browser_never_enters(client, personal):
    front, question = Front(), asked(scope_of(client, "/v1/modules"))
    plain = (b"content-type", b"application/json")

    front.store(question, Ready((), 60.0), status=200, headers=(plain, personal), body=b"{}")
    assert len(front.table) == 0
    front.store(question, Ready((), 60.0), status=200, headers=(plain,), body=b"{}")
    assert len(front.table) == 1


def test_what_is_unknown_or_refused_never_enters(process, client, tofu):
    for number in range(20):
        for url in (f"/v1/modules/no/such/m{number}/versions", f"/v1/mirror/testserver/no/p{number}/1.0.0.json", "/"):
            process.ask(tofu(None), url)
            process.ask(tofu(None), url, Authorization=f"Bearer lrd_u_{number}")
    assert len(process.front.table) == 0


def asked(scope: dict[str, Any]) -> Question:
    question = question_of(scope)
    assert question is not None
    return question


def headers_of(*pairs):
    return [(b"host", b"larder.example"), *pairs]


@for_each_row(
    "headers",
    [
        headers_of((b"host", b"other.example")),
        headers_of((b"authorization", b"Bearer a"), (b"authorization", b"Bearer b")),
        headers_of((b"cookie", b"")),
        headers_of((b"range", b"bytes=0-1")),
        headers_of((b"if-modified-since", b"Thu, 01 Jan 1970 00:00:00 GMT")),
        headers_of((b"if-match", b"*")),
        headers_of((b"content-length", b"0")),
        headers_of((b"transfer-encoding", b"chunked")),
        headers_of((b"expect", b"100-continue")),
        headers_of((b"x_forwarded_for", b"10.0.0.1")),
        headers_of((b"Host", b"larder.example")),
        headers_of((b"accept-encoding", b"gzip"), (b"accept-encoding", b"br")),
        headers_of((b"if-none-match", b'"a"'), (b"if-none-match", b'"b"')),
        headers_of((b"x-http-method-override", b"DELETE")),
        [],
    ],
)
def test_a_request_that_is_not_plain_goes_to_django(client, headers):
    scope = scope_of(client, "/v1/modules")
    assert question_of(scope) is not None
    assert question_of(scope | {"headers": headers}) is None


@for_each_row("method", ["POST", "PUT", "DELETE", "OPTIONS", "get", "PROPFIND"])
def test_only_reads_are_questions(client, method):
    assert question_of(scope_of(client, "/v1/modules", method)) is None


@for_each_row(
    "other",
    [
        {"method": "HEAD"},
        {"scheme": "https"},
        {"path": "/v1/Modules", "raw_path": b"/v1/Modules"},
        {"raw_path": b"/v1%2Fmodules"},
        {"raw_path": b"/v1/%6Dodules"},
        {"path": "/v1/modules/", "raw_path": b"/v1/modules/"},
        {"query_string": b"limit=1"},
        {"query_string": b"&"},
        {"headers": [(b"host", b"testserver:80")]},
        {"headers": [(b"host", b"TestServer")]},
        {"headers": [(b"host", b"testserver"), (b"authorization", b"Bearer a")]},
        {"headers": [(b"host", b"testserver"), (b"authorization", b"Bearer a ")]},
        {"headers": [(b"host", b"testserver"), (b"authorization", b"")]},
        {"headers": [(b"host", b"testserver"), (b"accept-encoding", b"gzip")]},
        {"headers": [(b"host", b"testserver"), (b"if-none-match", b'"a"')]},
    ],
)
def test_another_question_has_another_key(client, other):
    scope = scope_of(client, "/v1/modules")
    keys = {asked(scope).key, asked(scope | other).key}
    assert len(keys) == 2


def test_each_credential_asks_a_question_of_its_own(client):
    scope = scope_of(client, "/v1/modules")
    given = (b"Bearer a", b"Bearer b", b"bearer a", b"Basic a")
    keys = {asked(scope | {"headers": [(b"host", b"testserver"), (b"authorization", one)]}).key for one in given}
    assert len(keys) == len(given)


def test_the_versions_of_http_ask_the_same_question(client):
    scope = scope_of(client, "/v1/modules")
    assert asked(scope | {"http_version": "2"}).key == asked(scope | {"http_version": "1.1"}).key


def test_the_table_holds_no_secret(client):
    question = asked(scope_of(client, "/v1/modules", headers={"Authorization": "Bearer lrd_u_secret"}))
    assert "lrd_u_secret" not in repr(question.key)


def test_an_answer_is_made_under_the_newest_number(process, published, tofu, bob):
    """Or the next question would end it, though nothing has changed since."""
    published("acme/vpc/aws")
    url, reads = "/v1/modules/acme/vpc/aws/versions", tofu(bob)
    assert not process.ask(reads, url).was_ready
    process.learn()
    assert process.ask(reads, url).was_ready

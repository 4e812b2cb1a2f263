"""A16: secrets are sent through every route with each of its methods, and none of them is written down.

In paths, queries, headers, cookies and bodies; with failing CSRF checks, unknown hosts and defects. What is captured is
all that a handler at the root would write, at the level DEBUG, in both formats, and each audit row.
"""

import base64
import json
import logging
from urllib.parse import unquote

import pytest
from django.core import mail
from django.db import connection, transaction
from django.test import Client
from django.urls import NoReverseMatch, reverse

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Scope
from apps.audit.models import AuditEvent
from apps.jobs import queue
from apps.jobs.models import Job
from registry_site import logs
from registry_site.backends.folder_broker import Channel
from tests.builders import canaries
from tests.builders.archives import MODULE, module_zip
from tests.house import scenario
from tests.house.policy.table import TABLES
from tests.house.routes import all_routes
from tests.sessions import sign_in
from tests.shelves import run_jobs

pytestmark = pytest.mark.matrix

ROUTES = [route for route in all_routes() if route.name]
ROOMS = ["account", "admin", "api", "oci", "portal", "protocol"]
QUERY = "&".join(
    [
        f"token={canaries.TOKEN}",
        f"code={canaries.CODE}",
        f"password={canaries.PASSWORD}",
        f"next=%2Finvitations%2F{canaries.INVITATION}",
    ]
)


class Ledger:
    """Each written text with its request, and the secrets that must not be in it."""

    def __init__(self):
        self.secrets = set(canaries.EVERY_ONE)
        self.lines = []
        self.leaks = set()
        self.shown = set()
        self.now = ""
        self.is_asking = False  # Larder, and not this test its database
        self.formatters = [logs.formatter(as_json=True), logs.formatter(as_json=False)]

    def note(self, text):
        self.leaks |= self.found_in(text)

    def found_in(self, text):
        lowered = text.lower()
        return {(self.now, secret) for secret in self.secrets if secret.lower() in lowered}

    def emit(self, record):
        for formatter in self.formatters:
            self.lines.append(formatter.format(record))
            self.note(self.lines[-1])


@pytest.fixture
def ledger():
    kept = Ledger()

    class Sink(logging.Handler):
        def emit(self, record):
            kept.emit(record)

    root, sink = logging.getLogger(), Sink()
    before, handlers = root.level, root.handlers
    root.handlers = [sink]
    root.setLevel(logging.DEBUG)
    yield kept
    root.handlers = handlers
    root.setLevel(before)  # not the attribute: loggers remember what they were allowed, and later tests count queries


@pytest.fixture
def person(scene, ledger):
    """Dora's browser, with a session, a CSRF cookie and a token, all of which are secrets."""
    dora = scene.users["dora"]
    _, token = tokens.issue(user=dora, label="all", scope=Scope.MANAGE, actor=Viewer(dora))
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    sign_in(client, dora)
    client.get("/tokens")
    csrf = client.cookies["__Host-larder-csrf"].value
    session = client.cookies["__Host-larder-session"].value
    for row in ("private", "public"):
        place = scene.place(row)
        ledger.secrets |= {place["ticket"], place["secret"], place["capability"]}
    ledger.secrets |= {token, csrf, session}
    return client, token, csrf


def headers_with(token, scene):
    """Each header that anything of ours or Django's reads or logs, with a secret in it."""
    link = f"https://evil.example/invitations/{scene.place('private')['secret']}?{QUERY}"
    return {
        "Authorization": f"Bearer {token}",
        "Referer": link,
        "User-Agent": f"curl/8 ({link})",
        "X-Request-Id": canaries.TOKEN,
        "X-Terraform-Version": canaries.TOKEN[:40],
        "X-Forwarded-For": canaries.TOKEN,
        "X-Forwarded-Proto": canaries.REGISTRY_TOKEN,
        "Accept": canaries.JSON_WEB_TOKEN,
        "Range": canaries.TOKEN,
        "If-None-Match": canaries.TOKEN,
        "HX-Current-URL": link,
    }


def body_with(route, method):
    """The body of a valid request, with a secret in each free text; a form of secrets if it has none."""
    body = {name: value for name, value in scenario.body_of(route.name, method, "private").items() if name != "headers"}
    data = body.get("data")
    if isinstance(data, dict):
        body["data"] = {
            name: canaries.TOKEN if text in ("No.", "changed", "ci", "Erin") else text for name, text in data.items()
        }
    elif isinstance(data, str):
        body["data"] = data.replace("No.", canaries.TOKEN).replace("changed", canaries.SHOWN["database-url"][0])
    if not body and method == "POST":
        body = {"data": {"password": canaries.PASSWORD, "reason": canaries.TOKEN, "armor": canaries.ARMOUR}}
    return body


def send(client, ledger, method, url, **more):
    """One request whose changes are taken back; its audit rows are looked at before."""
    ledger.now = f"{method} {url.partition('?')[0]}"
    with transaction.atomic():
        newest, job = (
            model.objects.order_by("-pk").values_list("pk", flat=True).first() or 0 for model in (AuditEvent, Job)
        )
        ask = (
            getattr(client, method.lower())
            if "data" in more
            else lambda *one, **two: client.generic(method, *one, **two)
        )
        ledger.is_asking = True
        try:
            answer = ask(url, **more)
        finally:
            ledger.is_asking = False
        said = b"".join(getattr(answer, "streaming_content", [])) or answer.content
        ledger.shown |= ledger.found_in(said.decode(errors="replace"))
        ledger.note(json.dumps(list(Job.objects.filter(pk__gt=job).values()), default=str))
        ledger.note("".join(f"{letter.subject} {letter.body} {letter.recipients()}" for letter in mail.outbox))
        for event in AuditEvent.objects.filter(pk__gt=newest):
            ledger.note(json.dumps([event.subject, event.detail, event.request_id]))
        transaction.set_rollback(True)
    return answer


def is_asked_for(what, secret):
    """A page repeats its own address, for the way back from the theme's switch; a download answer is a capability."""
    return secret in unquote(QUERY) or secret in what or what.endswith("/download")


def changes_of(route):
    """The methods that it takes beside GET, and POST, which some refuse."""
    return sorted({"POST", *TABLES.get(route.name, {})} - {"GET"})


def url_of(scene, route, row="private"):
    if route.is_admin:
        values = dict.fromkeys(route.arguments, "1") | {"app_label": "jobs"}
        return reverse(route.name, kwargs={argument: values[argument] for argument in route.arguments})
    return scene.url(route, "any" if not route.arguments else row)


def in_room(room):
    """The routes of a room; sign-in and health pages belong to no room and are tried together."""
    rooms = {route.name: route.name.partition(":")[0] for route in ROUTES if route.name and ":" in route.name}
    return [route for route in ROUTES if rooms.get(route.name or "", "account") == room]


@pytest.mark.parametrize("room", ROOMS)
def test_no_route_writes_a_secret_down(scene, person, ledger, room):
    client, token, csrf = person
    headers = headers_with(token, scene)
    for route in in_room(room):
        url = f"{url_of(scene, route)}?{QUERY}"
        for method in ("GET", "POST"):
            send(client, ledger, method, url, headers=headers, **body_with(route, method))
        # The same past the CSRF check, and without the session where a token would count.
        origin = {"Referer": "https://127.0.0.1:8443/x", "Origin": "https://127.0.0.1:8443"}
        for method in changes_of(route):
            proven = headers | {"X-CSRFToken": csrf, **origin}
            send(client, ledger, method, url, headers=proven, **body_with(route, method))

    assert ledger.leaks == set()
    assert {found for found in ledger.shown if not is_asked_for(*found)} == set()
    assert any('"event": "request"' in line for line in ledger.lines), "nothing was captured"


@pytest.mark.parametrize("room", ROOMS)
def test_no_route_writes_down_a_secret_in_its_path_or_its_host(scene, ledger, room):
    visitor = Client(raise_request_exception=False)
    for number, route in enumerate(in_room(room)):
        values = dict.fromkeys(route.arguments, canaries.TOKEN)
        try:
            url = reverse(route.name, kwargs=values)
        except NoReverseMatch:
            url = f"{url_of(scene, route, 'missing')}/{canaries.TOKEN}"  # 404, as a slip of the hand would be
        send(visitor, ledger, "GET", f"{url}?{QUERY}")
        if number < 3:  # the name of a host is refused before any address is looked at
            send(visitor, ledger, "GET", f"{url}?{QUERY}", headers={"Host": f"{canaries.TOKEN}.example"})

    assert ledger.leaks == set()


@pytest.mark.parametrize("room", ROOMS)
def test_no_defect_writes_a_secret_down(scene, person, ledger, room):
    """Every query fails with a text full of secrets, as drivers' errors quote what they were given."""
    client, token, csrf = person
    headers = headers_with(token, scene) | {"X-CSRFToken": csrf}
    said = "\n".join(text for text, _ in canaries.SHOWN.values())

    def broken(execute, sql, params, many, context):
        if not ledger.is_asking or "audit_auditevent" in sql or "SAVEPOINT" in sql:
            return execute(sql, params, many, context)
        raise LookupError(said)

    for route in in_room(room):
        for method in ("GET",) if route.is_admin else ("GET", "POST"):
            with connection.execute_wrapper(broken):
                send(client, ledger, method, url_of(scene, route), headers=headers)

    defects = [line for line in ledger.lines if '"event": "internal_error"' in line]
    assert ledger.leaks == set()
    assert defects
    assert all("LookupError: Bearer [redacted]" in line and "Traceback" in line for line in defects)


def test_what_is_hidden_leaves_the_rest_of_a_line_readable(scene, person, ledger):
    client, _, _ = person
    place = scene.place("private")
    answer = client.post(f"/invitations/{place['secret']}?{QUERY}", {"password": canaries.PASSWORD})

    told = [json.loads(line) for line in ledger.lines if line.startswith("{")]
    forbidden, request = (
        line for line in told if line["level"] != "debug" and line.get("request_id") == answer.headers["X-Request-Id"]
    )
    assert answer.status_code == 403
    assert forbidden["event"].endswith(": /invitations/[redacted]")
    assert forbidden["request"] == (
        "<WSGIRequest: POST '/invitations/[redacted]?token=[redacted]&code=[redacted]&password=[redacted]"
        "&next=%2Finvitations%2F[redacted]'>"
    )
    assert (request["path"], request["status"], request["method"]) == ("/invitations/[redacted]", 403, "POST")
    assert ledger.leaks == set()


def test_a_publish_leaves_its_secrets_in_the_archive_alone(scene, person, ledger, monkeypatch):
    """The name of a file and what is in it are in no log, audit row, job or message to a worker."""
    _, token, _ = person
    messages = []
    monkeypatch.setattr(Channel, "_put", lambda _, queue, message, **__: messages.append((queue, message)))
    ledger.secrets -= set(canaries.SHOWN["armour-cut-off"])
    held = {**MODULE, f"{canaries.PASSWORD}.tf": f"# {canaries.TOKEN}\n# {canaries.ARMOUR.replace(chr(10), ' ')}\n"}
    for version, archive in (("4.0.0", module_zip(held)), ("4.1.0", canaries.TOKEN.encode() * 20)):
        url = f"/api/v1/modules/acme/vpc/aws/{version}"
        sent = {"Authorization": f"Bearer {token}", "X-File-Name": f"{canaries.PASSWORD}.zip"}
        answer = Client().put(url, archive, content_type="application/zip", headers=sent)
        assert answer.status_code in (202, 422), answer.content
        for job in Job.objects.filter(state="queued"):
            assert queue.ring(job)
        run_jobs()
    for model in (AuditEvent, Job):
        ledger.note(json.dumps(list(model.objects.values()), default=str))
    for _, message in messages:
        ledger.note(json.dumps(message) + base64.b64decode(message["body"]).decode())

    assert ledger.leaks == set()
    assert messages

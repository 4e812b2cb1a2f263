"""No request waits for another host, a child process or a sleep without a bound and a limit: outside.toml."""

import importlib
import socket
import subprocess
import sys
import time
from functools import cache
from typing import Any

import pytest
from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver

from apps.accounts.access import slots
from apps.blobs import backends
from apps.lib.process import outside
from apps.room import Room, rooms
from tests.house import sources
from tests.house.outside import watch
from tests.house.outside.calls import Calls
from tests.house.outside.watch import DOORS
from tests.rows import for_each_row

pytestmark = pytest.mark.slow

ROOMS = (
    "apps.portal",
    "apps.api",
    "apps.protocol",
    "apps.oci",
    "apps.http",
    "registry_site.front",
)
MADE_UP = "apps.portal.made_up"
# What goes out, starts a child or sleeps, by the beginning of its name.
OUTSIDE = (
    *("subprocess.", "multiprocessing.Process", "multiprocessing.Pool", "pty.", "concurrent.futures.ProcessPool"),
    *("os.exec", "os.fork", "os.popen", "os.posix_spawn", "os.spawn", "os.system", "os.wait"),
    *("asyncio.create_subprocess", "asyncio.open_connection", "time.sleep"),
    *("socket.create_connection", "socket.socket", "socket.getaddrinfo", "socket.gethostby", "socket.getfqdn"),
    *("http.client.HTTPConnection", "http.client.HTTPSConnection", "urllib.request.", "ftplib.", "imaplib.", "poplib."),
    *("smtplib.", "telnetlib.", "xmlrpc.client.", "django.core.mail."),
    *("requests.Session", "requests.get", "requests.post", "requests.request", "requests.sessions."),
    *("jwt.PyJWKClient", "onelogin.saml2.idp_metadata_parser.OneLogin_Saml2_IdPMetadataParser.parse_remote"),
    *("gnupg.", "boto3.", "botocore.", "google.", "azure."),
)
# Neither a way out: it only says how, or what went wrong.
NAMES_ONLY = ("subprocess.DEVNULL", "subprocess.PIPE", "subprocess.TimeoutExpired", "botocore.exceptions.")
# Libraries that stay inside, or call what operators chose: the cache and the broker (2 s, see jobs/queue.py).
INSIDE = {
    *(
        "allauth",
        "asgiref",
        "brotli",
        "celery",
        "certifi",
        "cryptography",
        "dj_database_url",
        "django",
        "fido2",
        "idna",
        "jwt",
    ),
    *("kombu", "markdown_it", "mcp", "mcp_types", "mdit_py_plugins", "multipart", "nh3", "onelogin"),
    *("prometheus_client", "pygments", "qrcode", "redis", "requests", "rest_framework", "semver", "structlog"),
    *("tree_sitter", "tree_sitter_hcl"),  # which children call; methods of their names make it look as if requests did
    *sys.stdlib_module_names,
}
EXAMPLES = """
import os, time, subprocess
from threading import Thread
import acme_client
from apps.signing import gnupg_home
from apps.lib.net.fetching import exchange
from apps.signing.armor import parse

def by_a_module(request, home):
    return gnupg_home.kill_agent(home)

def own_child(request):
    subprocess.run(["true"])

def own_sleep(request):
    def inner():
        time.sleep(1)
    return [inner() for _ in range(3)]

class Held:
    client = property(lambda self: exchange("GET", None))

def by_a_property(request, held: Held):
    return held.client

class Page:
    def get(self, request):
        return self.keys_of(request)
    def keys_of(self, request):
        return map(parse, request)

def by_a_table(request):
    return ACTS[request]()

ACTS = {"a": lambda: os.popen("id")}

def new_library(request):
    return acme_client.ask()

def in_a_thread(request):
    Thread(target=own_sleep).start()
"""


@cache
def calls() -> Calls:
    return Calls({MADE_UP: EXAMPLES})


@cache
def roots() -> frozenset[str]:
    """What a request begins with: the edges, the admin, all views, and what settings, wiring.py and doors name."""
    lists = {name for one in rooms() for name in (*one.root_urls, *one.api_urls, *one.portal_urls)}
    found, names = set(calls().of_modules({*ROOMS, *_views(get_resolver()), *lists})), calls().names
    found |= {name for name in calls().edges if ".admin." in f"{names.module_of(name)}."}
    found |= calls().of_modules({"registry_site.wiring"}) & names.functions
    found |= {
        names.resolved(text)
        for text in _texts({name: getattr(settings, name) for name in dir(settings)}, "apps.", "registry_site.")
    }
    found |= {names.resolved(name) for name in _contributed()}
    # What another function calls begins nothing.
    called = {other for name, others in calls().edges.items() for other in others if other != name}
    return frozenset(name for name in found & calls().edges.keys() - called if not name.startswith(MADE_UP))


def _views(resolver: URLResolver) -> set[str]:
    found = set()
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            found |= _views(entry)
        elif isinstance(entry, URLPattern):
            found.add(getattr(entry.callback, "view_class", entry.callback).__module__)
    return {name for name in found if name.startswith(("apps.", "registry_site."))}


def _contributed() -> set[str]:
    """Return what the doors of the rooms name, except for what operators run by hand, what only a start calls, and the
    channels of notices: workers send by them, and requests only ask them to count rows.
    """
    doors = {name for name, value in vars(Room).items() if name[0] != "_" and isinstance(value, tuple | dict)} - {
        *("doctor_looks", "exports", "preparations", "channels")
    }
    return {f"{one.name}.{text}" for one in rooms() for name in doors for text in _texts(getattr(one, name), "")}


def _texts(value: object, *begins: str) -> set[str]:
    if isinstance(value, dict):
        return {text for one in value.values() for text in _texts(one, *begins)}
    if isinstance(value, list | tuple | set):
        return {text for one in value for text in _texts(one, *begins)}
    return {value} if isinstance(value, str) and value.startswith(begins) else set()


def is_outside(name: str) -> bool:
    if name.startswith(("apps.", "registry_site.")) or name.startswith(NAMES_ONLY):
        return False
    return name.startswith(OUTSIDE) or name.partition(".")[0] not in INSIDE


def escapes(begin: frozenset[str], doors: set[str]) -> dict[str, str]:
    """What of the outside can be reached from there past the doors, each with the way."""
    came = calls().reached(begin, doors=doors)
    found = {}
    for name in filter(is_outside, came):
        way = [name]
        while came[way[-1]]:
            way.append(came[way[-1]])
        found[name] = " < ".join(way)
    return found


def test_whatever_a_request_may_wait_for_has_a_bound_and_a_limit():
    """A new one gets a worker's job; or a bound, a slot and a row in outside.toml."""
    assert len(calls().reached(roots())) > 8000
    assert escapes(roots(), set(DOORS)) == {}


@for_each_row("door", sorted(DOORS))
def test_each_row_is_a_way_of_a_request_to_the_outside(door):
    assert door in calls().reached(roots(), doors=set(DOORS)), "no request comes here"
    assert escapes(frozenset({door}), set()) != {}, "nothing behind it goes out"


@for_each_row("door", sorted(DOORS))
def test_each_row_has_the_bound_and_takes_the_slot_that_it_names(door):
    row = DOORS[door]
    seconds = row.get("times", 1) * sum(map(number_of, row["seconds"]))
    assert 0 < seconds <= 80, f"{door} may take {seconds} s"
    takes: dict[str, list[Any]] = {"account": [slots.slot_of], "all": [outside.waiting, outside.Circuit.exchange]}
    if taken := {f"{one.__module__}.{one.__qualname__}" for one in takes.get(row["limit"], ())}:
        assert taken & calls().edges[row.get("by", door)]
    else:
        assert row["limit"] in ("one", "uploads", "storage")
    for test in filter(None, (row["slow"], row.get("limited"))):
        path, _, name = test.partition("::")
        assert f"def {name}(" in (sources.CHECKOUT / path).read_text(), test


def number_of(name: str) -> float:
    module = calls().names.module_of(name)
    value: Any = importlib.import_module(module)
    for word in name.removeprefix(f"{module}.").split("."):
        value = getattr(value, word)
    assert isinstance(value, int | float)
    return value


@for_each_row(
    ("view", "led_to"),
    [
        ("by_a_module", "subprocess.run"),
        ("own_child", "subprocess.run"),
        ("own_sleep", "time.sleep"),
        ("by_a_property", "socket.socket"),
        ("Page.get", "gnupg.GPG"),
        ("by_a_table", "os.popen"),
        ("new_library", "acme_client.ask"),
    ],
)
def test_a_new_way_out_is_found_however_it_is_written(view, led_to):
    """Each in a module that does not exist, past the doors that do."""
    assert led_to in escapes(frozenset({f"{MADE_UP}.{view}"}), set(DOORS))


def test_what_runs_in_another_thread_is_not_a_wait_of_the_request():
    assert escapes(frozenset({f"{MADE_UP}.in_a_thread"}), set(DOORS)) == {}


def test_a_wait_of_a_request_is_seen_while_it_runs_unless_a_row_has_it(monkeypatch):
    """So do the tests of the policy look at each route, for what libraries do as well."""
    monkeypatch.setattr(backends, "SHOWN_SECONDS", 0.01)
    with watch.escapes() as found:
        backends.shown(lambda: None)
    assert found == []
    with watch.escapes() as found:
        time.sleep(0)
        subprocess.run(["true"], check=True)
        with socket.socket() as closed, pytest.raises(OSError, match="refused"):
            closed.connect(("127.0.0.1", 1))
    assert [line.partition(" ")[0] for line in found] == ["sleep", "Popen", "connect"]

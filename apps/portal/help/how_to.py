"""/how-to-use, the first page of Docs: setup of clients, pipelines and people for this Larder.

With live checks: the discovery document as a client gets it, and a pasted token.
"""

import http
import json
import shlex
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from apps.accounts.access.gate import Viewer, namespaces_with_role, visible_namespaces
from apps.accounts.identity import tokens
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.identity.tokens import TokenRefused
from apps.accounts.models import ApiToken, Role
from apps.lib.addresses import ModuleAddress
from apps.lib.net import fetching
from apps.lib.net.addresses import ANYWHERE
from apps.lib.net.hostnames import as_written
from apps.lib.net.outgoing import NOT_TRUSTED, NotAnswered
from apps.lib.text.search_terms import begins_a_part
from apps.modules.models import ModuleVersion
from apps.portal.frame import menu
from apps.releases.models import Kind, SearchDoc
from apps.room import rooms
from apps.snippets import client_setup, module_snippets, oci_snippets, publish_script

NEWEST = 20  # of the catalogue: some may not be visible to clients yet
TOKENS = 10
LOOPBACK = ("127.0.0.1", "::1", "localhost")
MAX_SECONDS = 3.0
CACHE_SECONDS = 10.0  # seconds: repeated checks cost one request in this time
MAX_BYTES = 64 * 1024
NAMES = 20
# The sections of the page: the anchor of each, which is its template too, its title, and other words that find it.
SECTIONS = (
    ("first-module", "The first module", "install use source block tofu init"),
    ("token", "A token for the client", "login credentials tofurc terraformrc tf_token netrc sign in environment"),
    ("check", "Check it", "test connection discovery works"),
    ("certificates", "Certificates and proxies", "tls authority ca trust x509 https_proxy"),
    ("pipelines", "Pipelines and update bots", "ci github actions gitlab renovate dependabot"),
    ("publish", "Publishing", "publish.sh upload script release"),
    ("oci", "Over OCI", "oras docker login push mirror container"),
)
TROUBLE = ("trouble", "When it fails", "error troubleshooting 401 403 not found checksum timeout")


@dataclass(frozen=True, slots=True)
class Section:
    anchor: str
    title: str
    template: str
    words: str = ""
    snippet: Any = None  # of a room: the text to copy

    @property
    def name(self) -> str:
        return f"How to use this registry: {self.title}"

    @property
    def url(self) -> str:
        return f"{reverse('portal:how-to')}#{self.anchor}"


def sections() -> Iterator[Section]:
    for anchor, title, words in SECTIONS:
        yield Section(anchor, title, _template_of(anchor), words)
    for room in rooms():
        for anchor, (title, asked) in room.how_to.items():
            if (snippet := room.resolved(asked)()) is not None:
                yield Section(anchor, title, _template_of(anchor), snippet=snippet)
    if menu.for_readers():
        yield Section("more", "More for clients", _template_of("more"), "mirror lock file")
    anchor, title, words = TROUBLE
    yield Section(anchor, title, _template_of(anchor), words)


def find(words: list[str]) -> list[Section]:
    """Return the sections that have each word in their title or among their words."""
    found = [(section, f"{section.title} {section.words}".casefold()) for section in sections()]
    return [section for section, text in found if all(begins_a_part(word, text) for word in words)]


def _template_of(anchor: str) -> str:
    return f"portal/how_to/{anchor.replace('-', '_')}.html"


class CheckForm(forms.Form):
    """`token` never goes back into the page: password widgets do not render their value."""

    token = forms.CharField(
        max_length=200,
        required=False,
        label="API token",
        help_text="The token is not stored. Leave it empty to check only the address.",
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


@login_not_required
@sensitive_post_parameters("token")
@require_http_methods(["GET", "HEAD", "POST"])
def how_to(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    form = CheckForm(request.POST if request.method == "POST" else None)
    # The same for every reader.
    context: dict[str, Any] = {
        "form": form,
        "host": client_setup.host(),
        "serves_modules": client_setup.serves_modules(),
        "is_plain_http": client_setup.is_plain_http(),
        "login": client_setup.login(),
        "credentials": client_setup.credentials(),
        "variable": client_setup.variable(),
        "netrc": client_setup.netrc(),
        "host_block": client_setup.host_block(),
        "pipelines": [client_setup.github_actions(), client_setup.gitlab_ci(), client_setup.any_shell()],
        "renovate": client_setup.renovate(),
        "proxy": client_setup.proxy(),
        "ask_discovery": client_setup.ask_discovery(),
        "sections": list(sections()),
        "authority": client_setup.own_authority(),
        "archive_limit": settings.MODULE_ARCHIVE_MAX_BYTES,
        **_for_reader(request, viewer),
    }
    if form.is_valid():
        context |= _checked(form.cleaned_data["token"])
    response = render(request, "portal/how_to/page.html", context, status=422 if form.errors else 200)
    if request.method == "POST":
        response.headers["Cache-Control"] = "no-store"
    return response


@sensitive_variables("secret")
def _checked(secret: str) -> dict[str, Any]:
    found: dict[str, Any] = {"discovery": discovery()}
    if secret.strip():
        try:
            found["token_facts"] = token_facts(secret)
        except TokenRefused as refused:
            found["token_refused"] = refused
    return found


def _for_reader(request: HttpRequest, viewer: Viewer) -> dict[str, Any]:
    """The reader's tokens, a module that they can see, a namespace in which they publish."""
    # The newest of the catalogue, by its index: of all versions the newest one is found by reading all of them.
    docs = SearchDoc.objects.filter(namespace__in=visible_namespaces(viewer), kind=Kind.MODULE, is_listed=True)
    newest = docs.order_by("-published_at", "-pk").values("release")[:NEWEST]
    visible = ModuleVersion.objects.filter(release__in=newest).listed().for_blocks()
    rows = visible.select_related("module__namespace", "release")
    shown = rows.order_by("is_prerelease", "-release__published_at", "-pk").first()
    address = shown.module.address if shown else ModuleAddress("acme", "vpc", "aws")
    context: dict[str, Any] = {"shown": shown, "reads_at": as_written(request.get_host())}
    version = shown.release.version if shown else "1.0.0"
    unit = module_snippets.unit_to_call(shown) if shown else {}
    folder, lines = unit.get("path", ""), module_snippets.required_lines(unit)
    context["first_module"] = module_snippets.module_block(address, version, folder=folder, lines=lines)
    own = namespaces_with_role(viewer, Role.PUBLISHER).alphabetical().first() if viewer.is_identified else None
    context["may_publish"] = own is not None
    mine = ModuleAddress(own.name if own else "acme", "network", "aws")
    context["publish"] = publish_script.any_shell(str(mine), "1.0.0")
    context["script"] = publish_script.newest()
    context["oci"] = {
        "block": module_snippets.package_block(address, version, folder=folder, lines=lines),
        "logins": oci_snippets.logins(),
        "credentials": oci_snippets.credentials(),
        "push": oci_snippets.push(mine, "1.0.0"),
        "mirror": oci_snippets.mirror(),
    }
    if viewer.user is not None:
        usable = ApiToken.objects.filter(user=viewer.user).usable(timezone.now())
        context["tokens"] = list(usable.newest_first()[:TOKENS])
        # On a loopback address the reader is on this machine and may use its files.
        if settings.LISTEN_HOST in LOOPBACK:
            context["trust"] = f"export SSL_CERT_FILE={shlex.quote(str(settings.DATA_DIR / 'tls' / 'bundle.pem'))}"
    return context


@dataclass(frozen=True, slots=True)
class Outcome:
    is_good: bool
    title: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """A token's name, scope and expiry, for its owner."""

    token: ApiToken
    reads: list[str]
    publishes: list[str]
    more: int


@sensitive_variables("secret")
def token_facts(secret: str) -> TokenFacts:
    """Raises TokenRefused with the reason. Does not count as a use of the token."""
    token = tokens.identify(secret.strip())
    viewer = Viewer(user=token.user, token=token)
    names = list(visible_namespaces(viewer).alphabetical().values_list("name", flat=True)[: NAMES + 1])
    publishes = namespaces_with_role(viewer, Role.PUBLISHER).alphabetical().values_list("name", flat=True)
    return TokenFacts(token, names[:NAMES], list(publishes[:NAMES]), max(len(names) - NAMES, 0))


BEING_CHECKED = Outcome(
    is_good=False, title="The address is being checked", text="Reload this page in a few seconds to see the result."
)


class DiscoveryCheck:
    """Fetch the document from the public URL, as a client does. One request at a time, with a limited rate; the others
    do not wait for it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: tuple[float, Outcome] | None = None

    def outcome(self) -> Outcome:
        last = self._last
        if last is not None and time.monotonic() - last[0] <= CACHE_SECONDS:
            return last[1]
        if not self._lock.acquire(blocking=False):
            return last[1] if last is not None else BEING_CHECKED
        try:
            outcome = self._ask()
            self._last = time.monotonic(), outcome
            return outcome
        finally:
            self._lock.release()

    def _ask(self) -> Outcome:
        url = settings.PUBLIC_URL + reverse("protocol:discovery")
        try:
            status, kind, body = _get(url)
        except NotAnswered as error:
            is_untrusted = error.code == NOT_TRUSTED
            title = "The certificate is not trusted here" if is_untrusted else "Larder cannot reach its own address"
            more = (
                "Clients on machines that do not trust the authority fail too."
                if is_untrusted
                else "The cause may be only the server's network: run the command below on the client's machine."
            )
            text = f"Requesting {url} failed on Larder's machine: {error}. {more}"
            return Outcome(is_good=False, title=title, text=text)
        return _judged(url, status, kind, body)


def _get(url: str) -> tuple[int, str, bytes]:
    """Raises NotAnswered. Operators choose the address, so any is allowed."""
    trust = ssl.create_default_context()
    if authority := client_setup.own_authority():
        trust.load_verify_locations(cadata=authority["pem"])
    headers = {"Accept": "application/json", "User-Agent": "Larder"}
    route = fetching.Route(trust, ANYWHERE)
    answer = fetching.exchange(
        "GET", urlsplit(url), headers=headers, route=route, seconds=MAX_SECONDS, max_bytes=MAX_BYTES
    )
    return answer.status, answer.headers.get_content_type(), answer.body


def _judged(url: str, status: int, kind: str, body: bytes) -> Outcome:
    """By the rules of clients: 200, JSON by type and content, and the service for modules."""
    if status != http.HTTPStatus.OK:
        return Outcome(
            is_good=False,
            title=f"The address returns {status} instead of 200",
            text=f"A server in front of Larder answers at {url}. Clients treat 404 as a host without services, and "
            "any other status as an error.",
        )
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    is_discovery = isinstance(document, dict) and isinstance(document.get("modules.v1"), str)
    if kind != "application/json" or not is_discovery:
        return Outcome(
            is_good=False,
            title="The address returns other content",
            text=f"{url} returned {kind} without the service modules.v1: a server in front of Larder answers.",
        )
    return Outcome(is_good=True, title="The discovery document is valid", text=f"{url} names the module registry.")


_check = DiscoveryCheck()
discovery = _check.outcome


urlpatterns = [path("how-to-use", how_to, name="how-to")]

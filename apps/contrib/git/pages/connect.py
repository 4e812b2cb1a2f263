"""/namespaces/<ns>/git/connect for owners: the URL and how Larder gets in, then the deploy key and the host's keys."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.contrib.git import connecting, credentials, forges, host_scanning, places, previewing, rulebook
from apps.contrib.git.models import CredentialKind, GitRepository
from apps.contrib.git.pages import frame, planning
from apps.contrib.git.pages.frame import place_of
from apps.contrib.git.remote import remotes
from apps.lib.errors import Conflict, Invalid, Unavailable
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import PLAIN, PlainField, form_page, posted, refusals_on, sentence
from apps.portal.frame.page_urls import see_other


@dataclass(frozen=True, slots=True)
class Way:
    kind: CredentialKind
    label: str
    text: str
    needs: str = ""  # of the URL: https or ssh; empty for any
    fields: tuple[str, ...] = ()


# In the order in which they are recommended. What each needs, and what it can do if somebody steals it.
WAYS = (
    Way(CredentialKind.NONE, "No credential", "The repository is public."),
    Way(
        CredentialKind.APP,
        "GitHub App",
        "Recommended for private repositories on GitHub. Its tokens last an hour, read this one repository, and belong "
        "to no person. Needs an https URL.",
        "https",
        ("app_id", "installation_id", "password_private_key"),
    ),
    Way(
        CredentialKind.DEPLOY_KEY,
        "Deploy key",
        "Recommended without a GitHub App. Larder makes a key pair; you add its public half to the repository. It "
        "reads this repository and nothing else. Needs an ssh URL, such as git@gitlab.com:acme/vpc.git.",
        "ssh",
    ),
    Way(
        CredentialKind.TOKEN,
        "Access token",
        "If neither a GitHub App nor a deploy key, which needs an ssh URL, is possible. It expires, and often reads "
        "everything that its person reads: let it read the contents of this one repository. Needs an https URL.",
        "https",
        ("password_token", "username"),
    ),
)


class CredentialForm(forms.Form):
    """Fields with `password` in their names do not wait in the session while the person confirms who they are."""

    kind = forms.ChoiceField(
        choices=[(way.kind, way.label) for way in WAYS],
        initial=CredentialKind.NONE,
        widget=forms.RadioSelect,
        label="Credential",
    )
    app_id = PlainField(required=False, max_length=20, label="App ID", inputmode="numeric")
    installation_id = PlainField(
        required=False,
        max_length=20,
        label="Installation ID",
        inputmode="numeric",
        help_text="The number at the end of the address of the installation's settings.",
    )
    password_private_key = forms.CharField(
        required=False,
        max_length=credentials.MAX_KEY_CHARACTERS,
        label="Private key of the app",
        widget=forms.Textarea(PLAIN | {"rows": 4, "class": "mono"}),
        help_text="The PEM file that GitHub made. Larder stores it encrypted and never shows it.",
    )
    password_token = forms.CharField(
        required=False,
        max_length=credentials.MAX_TOKEN_CHARACTERS,
        label="Token",
        widget=forms.PasswordInput(PLAIN | {"autocomplete": "new-password"}),
        help_text="Larder stores it encrypted and never shows it.",
    )
    username = PlainField(
        required=False,
        max_length=credentials.MAX_USER_CHARACTERS,
        label="User name",
        help_text="Only if the server needs one; forges accept any.",
    )

    scheme = ""  # of a repository that is connected; a module of another registry has "registry"

    @property
    def ways(self) -> list[dict[str, Any]]:
        """The choices with their words and fields, for templates/portal/sources/credential_fields.html of this room.

        Before the URL is known all are shown, and static/js/connect.js hides those that do not fit what is typed.
        """
        chosen = self["kind"].value()
        return [
            {
                "kind": way.kind.value,
                "label": way.label,
                "text": way.text,
                "needs": way.needs,
                "is_chosen": way.kind == chosen,
                "fields": [self[name] for name in way.fields],
            }
            for way in WAYS
            if not self.scheme or way.needs in ("", self.scheme)
        ]

    def credential(self) -> dict[str, Any] | None:
        """Return the credential in the form that `connecting.connect` takes."""
        found = self.cleaned_data
        if found["kind"] == CredentialKind.NONE:
            return None
        names = next(way.fields for way in WAYS if way.kind == found["kind"])
        return {"kind": found["kind"]} | {name.removeprefix("password_"): found[name] for name in names if found[name]}


class ConnectForm(CredentialForm):
    url = forms.CharField(
        max_length=remotes.MAX_URL_CHARACTERS,
        label="Repository",
        widget=forms.TextInput(
            PLAIN | {"inputmode": "url", "placeholder": "https://github.com/acme/terraform-aws-vpc"}
        ),
        help_text="The URL for <code>git clone</code> (https or ssh, without credentials), or the address of a "
        "public module such as <code>registry.opentofu.org/terraform-aws-modules/vpc/aws</code>, from a registry "
        "that Larder mirrors.",
    )
    field_order = ("url", "kind")


@never_cache
@sensitive_post_parameters("password_private_key", "password_token")
@sensitive_variables("form", "connected")
@require_http_methods(["GET", "HEAD", "POST"])
def connect(request: HttpRequest, namespace: str) -> HttpResponse:
    """A draft is made, and a worker looks at the repository. Nothing is published yet."""
    place = place_of(request, namespace)
    form = ConnectForm(posted(request))
    if form.is_valid():
        reauthentication.require(request, f"Connect the repository {form.cleaned_data['url'][:120]}")
        with _refusals_on(form):
            # Its secret of webhooks is made anew when somebody sets one up: polling needs none.
            connected = connecting.connect(
                namespace=place.namespace,
                actor=place.viewer,
                url=form.cleaned_data["url"],
                credential=form.credential(),
            )
            return _next_step(place, connected.repository)
    return form_page(request, "portal/sources/connect.html", form, **place.context())


@contextmanager
def _refusals_on(form: forms.Form) -> Iterator[None]:
    """A server that does not answer now is a refusal as well: the form stays as it was typed."""
    with refusals_on(form):
        try:
            yield
        except Unavailable as failure:
            raise Conflict(str(failure), hint=failure.hint) from failure


def _next_step(place: frame.Place, repository: GitRepository) -> HttpResponse:
    """To the deploy key or the host's keys, which a person has to see, or to what a worker finds."""
    if frame.has_key_to_add(repository) or frame.is_ssh(repository):
        return see_other("git-key", place.namespace.name, repository.pk)
    previewing.ask(repository=repository, actor=place.viewer)
    return see_other("git-plan", place.namespace.name, repository.pk)


@never_cache
@require_safe
def key(request: HttpRequest, namespace: str, repository_id: int) -> HttpResponse:
    """The public half of the deploy key, and the fingerprints of the server, before the first look."""
    place = place_of(request, namespace)
    repository = place.repository(repository_id)
    where, link = forges.where_to_add_key(repository.forge, remotes.parse(repository.url))
    context = place.context(repository) | {
        "public_key": repository.credential_facts.get("public_key", ""),
        "host_keys": frame.shown_keys(repository.host_keys),
        "is_ssh": frame.is_ssh(repository),
        "scan": frame.scan_of(repository),
        "where": where,
        "link": link,
    }
    return render(request, "portal/sources/key.html", context)


@require_POST
def look(request: HttpRequest, namespace: str, repository_id: int) -> HttpResponse:
    place = place_of(request, namespace)
    repository = place.repository(repository_id)
    asked = repository.preview.get("asked") if request.POST.get("rules") == planning.ASKED else None
    try:
        previewing.ask(repository=repository, actor=place.viewer, rules=rulebook.checked(asked) if asked else None)
    except (Conflict, Invalid) as refusal:
        messages.error(request, sentence(refusal))
    return planning.to_plan(place, repository, asked=asked is not None)


@never_cache
@sensitive_post_parameters("password_private_key", "password_token")
@sensitive_variables("form")
@require_http_methods(["GET", "HEAD", "POST"])
def credential(request: HttpRequest, namespace: str, repository_id: int) -> HttpResponse:
    place = place_of(request, namespace)
    repository = place.repository(repository_id)
    facts = repository.credential_facts
    initial = {"kind": repository.credential} | {
        name: facts.get(name, "") for name in ("app_id", "installation_id", "username")
    }
    form = CredentialForm(posted(request), initial=initial)
    form.scheme = places.of(repository).transport
    if form.is_valid():
        reauthentication.require(request, f"Change the credential of {frame.short_name(repository.url)}")
        with refusals_on(form):
            connecting.change(repository=repository, actor=place.viewer, credential=form.credential())
            repository.refresh_from_db()
            messages.success(request, "Credential saved.")
            if repository.credential == CredentialKind.DEPLOY_KEY:
                return see_other("git-key", place.namespace.name, repository.pk)
            return see_other("git-change", place.namespace.name, repository.pk)
    return form_page(request, "portal/sources/credential.html", form, **place.context(repository))


@require_POST
def scan(request: HttpRequest, namespace: str, repository_id: int) -> HttpResponse:
    """Have a worker ask the server for its host keys, and go back to the page that shows them."""
    place = place_of(request, namespace)
    repository = place.repository(repository_id)
    try:
        host_scanning.ask(repository=repository, actor=place.viewer)
    except (Conflict, Invalid) as refusal:
        messages.error(request, sentence(refusal))
    page = "git-host-keys" if repository.host_keys else "git-key"
    return see_other(page, place.namespace.name, repository.pk)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def trust_host_keys(request: HttpRequest, namespace: str, repository_id: int) -> HttpResponse:
    """The keys that were confirmed, those that a worker saw, and a button that takes the new ones."""
    place = place_of(request, namespace)
    repository = place.repository(repository_id)
    refusal, status = None, HTTPStatus.OK
    if request.method == "POST":
        reauthentication.require(request, f"Trust the new host keys of {frame.short_name(repository.url)}", fresh=True)
        shown = request.POST.getlist("fingerprint")
        try:
            connecting.trust_host_keys(repository=repository, actor=place.viewer, fingerprints=shown)
        except (Conflict, Invalid, Unavailable) as problem:
            refusal, status = problem, HTTPStatus.CONFLICT
        else:
            started = " Larder lists the tags now." if repository.started_at else ""
            messages.success(request, f"Host keys saved.{started}")
            return see_other("git-repository", place.namespace.name, repository.pk)
    scan_of = frame.scan_of(repository)
    context = place.context(repository) | {
        "refusal": refusal,
        "is_ssh": frame.is_ssh(repository),
        "confirmed": frame.shown_keys(repository.host_keys),
        "scan": scan_of,
        "found": frame.shown_keys(scan_of.keys, known=repository.host_keys),
        "is_same": set(scan_of.keys) == set(repository.host_keys),
    }
    return render(request, "portal/sources/host_keys.html", context, status=status)


_ROOT = "namespaces/<str:namespace>/git"

urlpatterns = [
    path(f"{_ROOT}/connect", connect, name="git-connect"),
    path(f"{_ROOT}/<int:repository_id>/key", key, name="git-key"),
    path(f"{_ROOT}/<int:repository_id>/look", look, name="git-look"),
    path(f"{_ROOT}/<int:repository_id>/credential", credential, name="git-credential"),
    path(f"{_ROOT}/<int:repository_id>/scan", scan, name="git-scan"),
    path(f"{_ROOT}/<int:repository_id>/host-keys", trust_host_keys, name="git-host-keys"),
]

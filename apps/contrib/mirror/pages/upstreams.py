"""/mirror: how to use this Larder for everything, and for staff the registries that it mirrors."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts.access import operators
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Visibility
from apps.contrib.mirror import snippets
from apps.contrib.mirror.asking import checking, connection_values, upstream_facts, upstreams
from apps.contrib.mirror.models import Upstream
from apps.contrib.mirror.policy import consequences, held_back
from apps.contrib.mirror.records import alarms, trust
from apps.contrib.mirror.serving import catalogue
from apps.lib.net.hostnames import as_written
from apps.portal.frame import reauthentication
from apps.portal.frame.first_use import FirstUse
from apps.portal.frame.forms import PLAIN, PlainField, form_page, posted, refusals_on
from apps.portal.frame.page_urls import see_other
from apps.snippets import client_setup
from apps.snippets.client_setup import Snippet

GB = 10**9
VISIBILITIES = [
    (Visibility.PUBLIC, "Public: anyone can use what it mirrors"),
    (Visibility.INTERNAL, "Internal: everyone who is signed in"),
    (Visibility.PRIVATE, "Private: staff only"),
]


class UpstreamForm(forms.Form):
    """The fields of `upstreams.change`, which checks them."""

    host = PlainField(
        max_length=255,
        help_text="The host in provider addresses, without https:// and port, for example registry.example.com.",
    )
    enabled = forms.BooleanField(required=False, label="Mirror its providers")
    accept_terms = forms.BooleanField(required=False, label="I have read these terms, and we comply with them")
    terraform_only = forms.BooleanField(
        required=False,
        label="Serve Terraform clients only",
        help_text="Larder identifies clients by their User-Agent. OpenTofu clients get an error that explains it.",
    )
    visibility = forms.ChoiceField(choices=VISIBILITIES, widget=forms.RadioSelect)
    cooldown_days = forms.IntegerField(
        label="Cool-down in days",
        help_text="Hide versions younger than this many days. 0 shows them immediately. Rules can override this.",
    )
    sealed = forms.BooleanField(
        required=False,
        label="Offline mode: serve only synced packages",
        help_text="Larder fetches nothing on demand; a sync fetches packages in advance.",
    )
    url = PlainField(
        required=False,
        max_length=connection_values.MAX_CHARACTERS,
        label="URL",
        help_text="Only if the registry is not at https:// and its host name.",
        inputmode="url",
    )
    token = forms.CharField(
        required=False,
        max_length=connection_values.MAX_TOKEN_CHARACTERS,
        help_text="Only if the registry requires one. Stored encrypted and never shown.",
        widget=forms.PasswordInput(PLAIN | {"autocomplete": "new-password"}),
    )
    remove_token = forms.BooleanField(required=False, label="Remove the stored token")
    ca = forms.CharField(
        required=False,
        strip=False,
        max_length=connection_values.MAX_CA_CHARACTERS,
        label="Certificate authorities",
        help_text="PEM certificates of a private authority. Larder trusts them for this registry, in addition to "
        "the system's.",
        widget=forms.Textarea(PLAIN | {"rows": 4, "class": "mono"}),
    )
    proxy = PlainField(
        required=False,
        max_length=connection_values.MAX_CHARACTERS,
        label="Outgoing proxy",
        help_text="For example http://proxy.example.com:3128. Leave empty to use LARDER_OUTGOING_PROXY, if it is set.",
        inputmode="url",
    )
    list_seconds = forms.IntegerField(
        label="Cache version lists for (seconds)", help_text="After that, Larder asks the registry again."
    )
    stale_hours = forms.IntegerField(
        label="If it is down, serve cached lists for (hours)",
        help_text="Clients keep getting the last list that Larder has.",
    )
    quota_gb = forms.DecimalField(
        min_value=0, max_digits=9, decimal_places=3, label="Quota in GB", help_text="0 means no limit."
    )
    evict_days = forms.IntegerField(
        label="Delete unused packages after (days)",
        help_text="0 means never. Pinned packages are never deleted. Larder fetches a deleted package again when a "
        "client needs it.",
    )

    def __init__(self, data: QueryDict | None, *, row: Upstream | None = None, host: str = "") -> None:
        """`row`: the upstream to change; `host`: the known registry to add, whose name is not typed."""
        terms = upstreams.terms_of(row.host if row else host)
        super().__init__(data, initial=initial_of(row or Upstream(is_enabled=True, terraform_only=terms is not None)))
        for name, (least, most) in upstreams.NUMBERS.items():
            if name in self.fields:
                self.fields[name].widget.attrs |= {"min": least, "max": most, "inputmode": "numeric"}
        if row is not None or host:
            del self.fields["host"]
        if terms is None or (row is not None and row.terms_accepted_at):
            del self.fields["accept_terms"]
        if row is None or not row.sealed_token:
            del self.fields["remove_token"]
        else:
            self.fields["token"].label = "New token"

    def clean(self) -> None:
        found = self.cleaned_data
        if "accept_terms" in self.fields and found.get("enabled") and not found.get("accept_terms"):
            self.add_error("accept_terms", "Read the terms, and accept them to enable this registry.")

    def wanted(self) -> dict[str, Any]:
        """The fields as `upstreams.change` takes them. A token that is not typed stays."""
        found = {name: value for name, value in self.cleaned_data.items() if name not in ("host", "accept_terms")}
        found["quota_bytes"] = int(found.pop("quota_gb") * GB)
        if found.pop("remove_token", False):
            found["token"] = ""
        elif not found["token"]:
            del found["token"]
        return found


# Sections of the form, so that the few fields that matter come first.
GROUPS = (
    ("", ("host", "enabled", "accept_terms", "terraform_only", "visibility", "cooldown_days", "sealed")),
    ("How to reach it", ("url", "token", "remove_token", "ca", "proxy")),
    ("Lists and storage", ("list_seconds", "stale_hours", "quota_gb", "evict_days")),
)


def initial_of(row: Upstream) -> dict[str, Any]:
    same = ("terraform_only", "visibility", "url", "ca", "proxy", *upstreams.NUMBERS)
    values = {name: getattr(row, name) for name in same if name != "quota_bytes"}
    quota = f"{row.quota_bytes / GB:.3f}".rstrip("0").rstrip(".")
    return values | {"enabled": row.is_enabled, "sealed": row.is_sealed, "quota_gb": quota}


def require(viewer: Viewer, permission: str = upstreams.OPERATE) -> None:
    operators.require_everywhere(viewer, permission)


def snippets_for(hosts: list[Upstream]) -> list[Snippet]:
    """One block for each client. What is for Terraform alone is not in the one for OpenTofu."""
    by_client = {
        "tofu": [row.host for row in hosts if not row.terraform_only],
        "terraform": [row.host for row in hosts],
    }
    needs_token = any(row.visibility != Visibility.PUBLIC for row in hosts)
    if by_client["tofu"] == by_client["terraform"]:
        blocks = [snippets.everything_block(by_client["tofu"])] if hosts else []
    else:
        blocks = [snippets.everything_block(one, client=name) for name, one in by_client.items() if one]
    return [snippets.with_credentials(block) for block in blocks] if needs_token else blocks


@login_not_required
@require_safe
def mirror(request: HttpRequest) -> HttpResponse:
    """Show to everyone what is mirrored, and the configuration of clients. Staff: how it does."""
    viewer = session_viewer(request)
    rows = list(upstreams.visible_to(viewer))
    hosts = [row for row in rows if row.is_enabled]
    context: dict[str, Any] = {
        "upstreams": rows,
        "hosts": hosts,
        "snippets": snippets_for(hosts),
        "provider_count": catalogue.providers_for(viewer).count(),
        **_own(),
    }
    if upstreams.sees_operations(viewer):
        facts = upstream_facts.facts_of(rows)
        present = {row.host for row in rows}
        context |= {
            "operations": [(row, facts[row.pk]) for row in rows],
            "known": [known for host, known in upstreams.KNOWN.items() if host not in present],
            "alarms": list(alarms.alarms_of(state="open")[:5]),
            "held_back": held_back.lately(),
            "alarm_count": sum(one.open_alarms for one in facts.values()),
            "may_change": _may_change(viewer),
        }
    return render(request, "portal/upstream/mirror.html", context)


@never_cache
@require_safe
def upstream(request: HttpRequest, host: str) -> HttpResponse:
    """Staff: health, settings, keys and allowances of one registry."""
    viewer = session_viewer(request)
    require(viewer, upstreams.VIEW)
    row = upstreams.upstream_for(viewer, host)
    first = _first_request(row, request.path) if row.is_enabled else None
    if first is not None and (unchanged := first.unchanged_for(request)) is not None:
        return unchanged
    context = {
        "upstream": row,
        "facts": upstream_facts.facts_of([row])[row.pk],
        "authorities": connection_values.authorities_of(row.ca),
        "terms": upstreams.terms_of(row.host),
        "pins": trust.pins_of(row)[:200],
        "allowances": trust.allowances_of(row),
        "alarms": alarms.alarms_of(row, state="open")[:20],
        "may_change": _may_change(viewer),
        "shown_host": as_written(row.host),
        "now": timezone.now(),
        "hint": checking.hint_of(row) if row.failure else "",
        "first": first,
    }
    if first is not None and first.is_shown:
        # Of all registries: a client has one block.
        hosts = [one for one in upstreams.visible_to(viewer) if one.is_enabled]
        context |= {"snippets": snippets_for(hosts), **_own()}
    return render(request, "portal/upstream/upstream.html", context)


def _own() -> dict[str, Any]:
    return {"own_host": client_setup.host(), "is_plain_http": client_setup.is_plain_http()}


def _first_request(row: Upstream, page: str) -> FirstUse:
    """Wait for the answer of the registry, then for the first provider that a client asks for."""
    first = row.providers.order_by("created_at", "pk").first()
    if first is not None:
        link = f"{reverse('portal:mirror-providers')}?{urlencode({'host': row.host})}"
        return FirstUse(page, "", f"The first request came: {first.address}", first.created_at, link)
    if row.succeeded_at is None and row.failed_at is None:
        return FirstUse(page, f"Asking {as_written(row.host)} for its services…")
    if row.succeeded_at is None:
        return FirstUse(page, "Waiting for an answer that Larder can use")
    return FirstUse(page, "Waiting for the first request of a client")


@never_cache
@sensitive_post_parameters("token")
@sensitive_variables("form")
@require_http_methods(["GET", "HEAD", "POST"])
def upstream_add(request: HttpRequest) -> HttpResponse:
    """Add an upstream; `?host=` names a known registry, whose address need not be typed."""
    viewer = session_viewer(request)
    require(viewer)
    known = upstreams.KNOWN.get(request.GET.get("host", ""))
    form = UpstreamForm(posted(request), host=known.host if known else "")
    if form.is_valid():
        host = known.host if known else form.cleaned_data["host"]
        reauthentication.require(request, f"Mirror {host[:80]}")
        with refusals_on(form, None):
            if upstreams.of_host(host) is not None:
                messages.info(request, f"{host} is already mirrored. Change it here.")
                return see_other("mirror-change", host)
            row = upstreams.change(host, actor=viewer, **form.wanted())
            checking.request(row, actor=viewer)
            messages.success(request, f"{row.host} is added{'' if row.is_enabled else ', and off'}.")
            return see_other("mirror-upstream", row.host)
    return _form(request, form, known=known)


@never_cache
@sensitive_post_parameters("token")
@sensitive_variables("form")
@require_http_methods(["GET", "HEAD", "POST"])
def upstream_change(request: HttpRequest, host: str) -> HttpResponse:
    viewer = session_viewer(request)
    require(viewer)
    row = upstreams.upstream_for(viewer, host)
    form = UpstreamForm(posted(request), row=row)
    if form.is_valid():
        reauthentication.require(request, f"Change the mirror of {row.host}")
        with refusals_on(form, None):
            checking.request(upstreams.change(row.host, actor=viewer, **form.wanted()), actor=viewer)
            messages.success(request, f"{row.host} is saved.")
            return see_other("mirror-upstream", row.host)
    return _form(request, form, row=row)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def upstream_remove(request: HttpRequest, host: str) -> HttpResponse:
    viewer = session_viewer(request)
    require(viewer)
    row = upstreams.upstream_for(viewer, host)
    if request.method != "POST":
        context = {
            "upstream": row,
            "facts": upstream_facts.facts_of([row])[row.pk],
            "effects": consequences.of_removal(row),
        }
        return render(request, "portal/upstream/remove.html", context)
    reauthentication.require(request, f"Remove the mirror of {row.host}")
    upstreams.remove(row.host, actor=viewer)
    messages.success(request, f"{row.host} is removed, with all that was stored of it.")
    return see_other("mirror")


def _may_change(viewer: Viewer) -> bool:
    return viewer.user is not None and viewer.user.has_perm(upstreams.OPERATE)


def _form(
    request: HttpRequest, form: UpstreamForm, *, row: Upstream | None = None, known: upstreams.Known | None = None
) -> HttpResponse:
    groups = [(title, [form[name] for name in names if name in form.fields]) for title, names in GROUPS]
    terms = upstreams.terms_of(row.host if row else known.host if known else "")
    return form_page(request, "portal/upstream/form.html", form, upstream=row, known=known, terms=terms, groups=groups)


_ONE = "mirror/upstreams/<str:host>"
urlpatterns = [
    path("mirror", mirror, name="mirror"),
    path("mirror/add", upstream_add, name="mirror-add"),
    path(_ONE, upstream, name="mirror-upstream"),
    path(f"{_ONE}/change", upstream_change, name="mirror-change"),
    path(f"{_ONE}/remove", upstream_remove, name="mirror-remove"),
]

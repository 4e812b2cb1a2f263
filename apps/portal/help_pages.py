"""/how-to-use: setup of clients, pipelines and people for this Larder, with a check of a pasted token."""

import shlex
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from apps.accounts.access.gate import Viewer, namespaces_with_role
from apps.accounts.identity.authentication import session_viewer
from apps.accounts.identity.tokens import TokenRefused
from apps.accounts.models import ApiToken, Role
from apps.lib.addresses import ModuleAddress
from apps.lib.net.hostnames import as_written
from apps.modules.catalogue.reading import visible_modules
from apps.modules.models import ModuleVersion
from apps.portal import connection_check
from apps.portal.snippets import client_setup, module_snippets, oci_snippets

TOKENS = 10
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class CheckForm(forms.Form):
    """`token` never goes back into the page: password widgets do not render their value."""

    token = forms.CharField(
        max_length=200,
        required=False,
        label="API token",
        help_text="It is looked up but not stored. Leave it empty to check only the address.",
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


@login_not_required
@sensitive_post_parameters("token")
@require_http_methods(["GET", "HEAD", "POST"])
def how_to(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    form = CheckForm(request.POST if request.method == "POST" else None)
    context: dict[str, Any] = {"form": form, **_setup(), **_for_reader(request, viewer)}
    if form.is_valid():
        context |= _checked(form.cleaned_data["token"])
    response = render(request, "portal/how_to/page.html", context, status=422 if form.errors else 200)
    if request.method == "POST":
        response.headers["Cache-Control"] = "no-store"
    return response


@sensitive_variables("secret")
def _checked(secret: str) -> dict[str, Any]:
    found: dict[str, Any] = {"discovery": connection_check.discovery()}
    if secret.strip():
        try:
            found["token_facts"] = connection_check.token_facts(secret)
        except TokenRefused as refused:
            found["token_refused"] = refused
    return found


def _setup() -> dict[str, Any]:
    """The same for every reader."""
    return {
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
        "authority": connection_check.own_authority(),
        "archive_limit": settings.MODULE_ARCHIVE_MAX_BYTES,
    }


def _for_reader(request: HttpRequest, viewer: Viewer) -> dict[str, Any]:
    """The reader's tokens, a module that they can see, a namespace in which they publish."""
    shown = _newest_module(viewer)
    address = shown.module.address if shown else ModuleAddress("acme", "vpc", "aws")
    context: dict[str, Any] = {"shown": shown, "reads_at": as_written(request.get_host())}
    version = shown.release.version if shown else "1.0.0"
    folder = module_snippets.callable_folder(shown) if shown and shown.release.notes.get("no_root") else ""
    context["first_module"] = module_snippets.module_block(address, version, folder=folder)
    own = namespaces_with_role(viewer, Role.PUBLISHER).alphabetical().first() if viewer.is_identified else None
    context["may_publish"] = own is not None
    mine = ModuleAddress(own.name if own else "acme", "network", "aws")
    context["publish"] = client_setup.publish(mine, "1.0.0")
    context["oci"] = {
        "block": oci_snippets.block(address, version, label=module_snippets.label_of(address)),
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


def _newest_module(viewer: Viewer) -> ModuleVersion | None:
    visible = ModuleVersion.objects.filter(module__in=visible_modules(viewer)).listed().without_texts()
    rows = visible.select_related("module__namespace", "release")
    return rows.order_by("is_prerelease", "-release__published_at", "-pk").first()


urlpatterns = [path("how-to-use", how_to, name="how-to")]

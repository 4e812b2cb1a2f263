"""/namespaces/<ns>/keys: its signing keys, and each key's page. Adding: keys_adding.py; ending: keys_ending.py."""

import hashlib
import json
from http import HTTPStatus
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.accounts.access import gate
from apps.accounts.identity.authentication import session_viewer
from apps.accounts.models import Namespace, Role
from apps.lib.errors import CredentialsRequired
from apps.portal.frame.paging import page_of
from apps.portal.namespaces import keys_adding, keys_ending
from apps.portal.namespaces.key_expiry import expiring, expiry_of
from apps.providers.signatures.keys import key_of, keys_of, signed_by
from apps.signing.models import State

PAGE = 50


@login_not_required
@never_cache
@require_safe
def key_list(request: HttpRequest, namespace: str) -> HttpResponse:
    viewer = session_viewer(request)
    row, role = gate.namespace_and_role(viewer, namespace)
    return render(request, "portal/keys/list.html", _listed(row, role) | {"expiring": expiring(row)})


@login_not_required
@never_cache
@require_safe
def key_list_status(request: HttpRequest, namespace: str) -> HttpResponse:
    """The table, which the page polls while a worker generates a key. 204 if nothing has changed."""
    viewer = session_viewer(request)
    try:
        context = _listed(*gate.namespace_and_role(viewer, namespace))
    except CredentialsRequired:
        # The session ended while the page was open: a reload leads through sign-in back to the page.
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED, headers={"HX-Refresh": "true"})
    if request.GET.get("seen") == context["mark"]:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return render(request, "portal/keys/status.html", context)


@login_not_required
@require_safe
def key_page(request: HttpRequest, namespace: str, fingerprint: str) -> HttpResponse:
    """The key and the versions that it signed."""
    viewer = session_viewer(request)
    row, role = gate.namespace_and_role(viewer, namespace)
    key = key_of(row, fingerprint)
    context: dict[str, Any] = {"namespace": row, "key": key, "may_manage": role == Role.OWNER}
    context["page"] = page_of(signed_by(key), request, size=PAGE)
    context["sign_again"] = context["may_manage"] and (key.state in (State.RETIRED, State.REVOKED) or key.is_expired)
    context["expiry"] = expiry_of(key, timezone.now())
    return render(request, "portal/keys/page.html", context)


def _listed(namespace: Namespace, role: Role) -> dict[str, Any]:
    keys = list(keys_of(namespace))
    seen = json.dumps([[key.pk, key.state, key.reason, key.release_count] for key in keys])
    return {
        "namespace": namespace,
        "keys": keys,
        # A worker records here why it gave up.
        "is_waiting": any(key.state == State.PENDING and not key.reason for key in keys),
        "mark": hashlib.sha256(seen.encode()).hexdigest()[:16],
        "may_manage": role == Role.OWNER,
    }


_KEYS = "namespaces/<str:namespace>/keys"

urlpatterns = [
    path(_KEYS, key_list, name="keys"),
    path(f"{_KEYS}/status", key_list_status, name="keys-status"),
    *keys_adding.urlpatterns,  # before <fingerprint>
    path(f"{_KEYS}/<str:fingerprint>", key_page, name="key"),
    *keys_ending.urlpatterns,
]

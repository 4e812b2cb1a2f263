"""/namespaces/<ns>/connections for owners: what works there without a person, who answers for it, and confirm."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.access import connections
from apps.accounts.access.gate import namespace_for
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Role
from apps.portal.frame import reauthentication
from apps.portal.frame.namespace_tabs import frame_of
from apps.portal.frame.page_urls import see_other


@never_cache
@require_safe
def connection_list(request: HttpRequest, namespace: str) -> HttpResponse:
    """Show the connections: first those that wait for a confirmation, then those that were left behind and still
    work.
    """
    row = namespace_for(session_viewer(request), namespace, need=Role.OWNER)
    found = sorted(connections.of(row), key=lambda one: (not one.is_suspended, not one.is_left_behind))
    context = {
        **frame_of(row, Role.OWNER, "connections"),
        "found": found,
        "waiting": sum(one.is_suspended for one in found),
        "secrets": connections.secrets_of_others(row),
    }
    return render(request, "portal/namespaces/connections.html", context)


@require_POST
def connection_confirm(request: HttpRequest, namespace: str, connection_kind: str, connection_id: int) -> HttpResponse:
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    before = connections.one_of(row, connection_kind, connection_id)
    reauthentication.require(request, f"Confirm the {before} in {row}", fresh=True)
    connections.confirm(namespace=row, kind=connection_kind, number=connection_id, actor=viewer)
    again = "It works again. You" if before.is_suspended else "You"
    messages.success(request, f"The {before} is confirmed. {again} answer for it now.")
    return see_other("namespace-connections", row.name)


_LIST = "namespaces/<str:namespace>/connections"

urlpatterns = [
    path(_LIST, connection_list, name="namespace-connections"),
    path(
        f"{_LIST}/<str:connection_kind>/<int:connection_id>/confirm",
        connection_confirm,
        name="namespace-connection-confirm",
    ),
]

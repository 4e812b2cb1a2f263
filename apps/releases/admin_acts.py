"""Acts of the admin on releases and their versions that lead to a page of the portal, which asks for the reason."""

from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from apps.admin_base import Act, LarderAdmin
from apps.admin_base.base import ACTION_ROWS
from apps.releases.lifecycle import verbs


def first_of(admin: LarderAdmin[Any], request: HttpRequest, queryset: QuerySet[Any]) -> list[int]:
    """The keys of the rows that one request works on; says so where more are selected."""
    keys = list(queryset.order_by("pk").values_list("pk", flat=True)[: ACTION_ROWS + 1])
    if len(keys) > ACTION_ROWS:
        admin.message_user(request, f"Only the first {ACTION_ROWS} rows were processed.", messages.WARNING)
    return keys[:ACTION_ROWS]


def reasoned(verb: str, permission: str, *, rows: str = "versions") -> Act:
    """Declare a verb that depends on the state of the release. `rows`: of a list of releases, or of versions."""
    label = verb.capitalize()
    is_release = rows == "releases"

    def ask(admin: LarderAdmin[Any], request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        chosen = queryset.filter(pk__in=first_of(admin, request, queryset)).order_by("pk")
        keys = ",".join(map(str, chosen.values_list("pk" if is_release else "release", flat=True)))
        if not keys:
            admin.message_user(request, f"The selected {rows} are no longer in this list.", messages.ERROR)
            return None
        query = {"next": admin.way_back(request)}
        return HttpResponseRedirect(reverse("portal:lifecycle-several", args=[verb, keys], query=query))

    def is_offered(row: Any) -> bool:
        return verbs.obstacle_to(verb, row if is_release else row.release) is None

    return Act(f"{label} selected {rows}…", permission, ask, button=f"{label}…", offered=is_offered)

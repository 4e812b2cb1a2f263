"""Routes of Larder's own API. Nothing below its prefix is ever answered with a page."""

from django.http import HttpResponse
from django.urls import path, re_path
from rest_framework.request import Request

from apps import room
from apps.api import audit, jobs, keys, namespaces
from apps.api.catalogue import dependents, descriptions, details, downloads, lists, search
from apps.api.frame.base import ApiView, Unknown, operation
from apps.api.people import connections, grants, invitations, leaks, service_accounts, teams, tokens, users
from apps.api.versions import (
    approvals,
    attestations,
    lifecycle,
    modules,
    origins,
    providers,
    releases,
    statements,
    uploads,
)
from apps.http import api_document


class Schema(ApiView):
    """The OpenAPI document of this API. It changes only with Larder, and with the rooms that are left out."""

    authentication_classes = []

    @operation("This document", answers={200: None}, scope=None, public=True)
    def get(self, request: Request) -> HttpResponse:  # noqa: ARG002
        return HttpResponse(api_document.text(), content_type="application/json")


app_name = "api"
urlpatterns = [
    *room.urls("api_urls"),  # some have a word where others have <version>
    *lists.urlpatterns,
    *dependents.urlpatterns,
    *downloads.urlpatterns,
    *search.urlpatterns,
    *namespaces.urlpatterns,
    *grants.urlpatterns,
    *connections.urlpatterns,
    *keys.urlpatterns,
    *leaks.urlpatterns,
    *teams.urlpatterns,
    *service_accounts.urlpatterns,
    *tokens.urlpatterns,
    *users.urlpatterns,
    *invitations.urlpatterns,
    *details.urlpatterns,  # with /modules/<…>/health before /modules/<…>/<version>
    *modules.urlpatterns,
    *descriptions.urlpatterns,
    *providers.urlpatterns,
    *lifecycle.urlpatterns,
    *origins.urlpatterns,
    *attestations.urlpatterns,
    *releases.urlpatterns,
    *approvals.urlpatterns,
    *statements.urlpatterns,
    *jobs.urlpatterns,
    *uploads.urlpatterns,
    *audit.urlpatterns,
    path("schema", Schema.as_view(), name="schema"),
    re_path(r"", Unknown.as_view()),
]

"""Routes of Larder's own API. Nothing below its prefix is ever answered with a page."""

from django.urls import re_path

from apps.api import (
    audit,
    cleanup,
    compare,
    dependents,
    descriptions,
    details,
    downloads,
    health,
    jobs,
    keys,
    lifecycle,
    lists,
    modules,
    namespaces,
    providers,
    providers_docs,
    releases,
    schema,
    search,
    uploads,
)
from apps.api.frame.base import Unknown
from apps.api.notify import webhooks
from apps.api.people import grants, invitations, leaks, service_accounts, teams, tokens, users

app_name = "api"
urlpatterns = [
    *lists.urlpatterns,
    *dependents.urlpatterns,
    *downloads.urlpatterns,
    *search.urlpatterns,
    *namespaces.urlpatterns,
    *cleanup.urlpatterns,
    *grants.urlpatterns,
    *keys.urlpatterns,
    *webhooks.urlpatterns,
    *leaks.urlpatterns,
    *teams.urlpatterns,
    *service_accounts.urlpatterns,
    *tokens.urlpatterns,
    *users.urlpatterns,
    *invitations.urlpatterns,
    *health.urlpatterns,  # before /modules/<…>/<version>
    *modules.urlpatterns,
    *descriptions.urlpatterns,
    *details.urlpatterns,
    *compare.urlpatterns,
    *providers.urlpatterns,
    *providers_docs.urlpatterns,
    *lifecycle.urlpatterns,
    *releases.urlpatterns,
    *jobs.urlpatterns,
    *uploads.urlpatterns,
    *audit.urlpatterns,
    *schema.urlpatterns,
    re_path(r"", Unknown.as_view()),
]

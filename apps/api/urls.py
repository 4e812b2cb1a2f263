"""Routes of Larder's own API. Nothing below its prefix is ever answered with a page."""

from django.urls import re_path

from apps.api import (
    audit,
    descriptions,
    grants,
    keys,
    leaks,
    lifecycle,
    lists,
    modules,
    namespaces,
    providers,
    providers_docs,
    releases,
    schema,
    teams,
)
from apps.api.frame.base import Unknown

app_name = "api"
urlpatterns = [
    *lists.urlpatterns,
    *namespaces.urlpatterns,
    *grants.urlpatterns,
    *keys.urlpatterns,
    *leaks.urlpatterns,
    *teams.urlpatterns,
    *modules.urlpatterns,
    *descriptions.urlpatterns,
    *providers.urlpatterns,
    *providers_docs.urlpatterns,
    *lifecycle.urlpatterns,
    *releases.urlpatterns,
    *audit.urlpatterns,
    *schema.urlpatterns,
    re_path(r"", Unknown.as_view()),
]

"""Larder's own API. Below its prefix nothing ever answers with a page."""

from django.urls import re_path

from apps.api import (
    grants,
    keys,
    modules,
    modules_describing,
    modules_lifecycle,
    namespaces,
    providers,
    providers_docs,
    providers_lifecycle,
    releases,
    teams,
)
from apps.api.base import Unknown

app_name = "api"
urlpatterns = [
    *namespaces.urlpatterns,
    *grants.urlpatterns,
    *keys.urlpatterns,
    *teams.urlpatterns,
    *modules.urlpatterns,
    *modules_describing.urlpatterns,
    *modules_lifecycle.urlpatterns,
    *providers.urlpatterns,
    *providers_docs.urlpatterns,
    *providers_lifecycle.urlpatterns,
    *releases.urlpatterns,
    re_path(r"", Unknown.as_view()),
]

"""Routes of Larder's own API. Nothing below its prefix is ever answered with a page."""

from django.urls import re_path

from apps.api import (
    grants,
    keys,
    lifecycle,
    modules,
    modules_describing,
    namespaces,
    providers,
    providers_describing,
    providers_docs,
    providers_signing,
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
    *providers.urlpatterns,
    *providers_describing.urlpatterns,
    *providers_docs.urlpatterns,
    *providers_signing.urlpatterns,
    *lifecycle.urlpatterns,
    *releases.urlpatterns,
    re_path(r"", Unknown.as_view()),
]

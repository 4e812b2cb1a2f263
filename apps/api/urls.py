"""Larder's own API. Below its prefix nothing ever answers with a page."""

from django.urls import re_path

from apps.api import modules, namespaces, releases
from apps.api.base import Unknown

app_name = "api"
urlpatterns = [
    *namespaces.urlpatterns,
    *modules.urlpatterns,
    *releases.urlpatterns,
    re_path(r"", Unknown.as_view()),
]

"""Routes of the registry protocols. Nothing below these prefixes is ever answered with a page."""

from django.urls import re_path

from apps.protocol import archives, discovery, mirror_v1, modules_v1, providers_v1
from apps.protocol.base import Unknown

app_name = "protocol"
urlpatterns = [
    *discovery.urlpatterns,
    *modules_v1.urlpatterns,
    *providers_v1.urlpatterns,
    *mirror_v1.urlpatterns,
    *archives.urlpatterns,
    re_path(r"^(?:v1|archives)/", Unknown.as_view()),
]
